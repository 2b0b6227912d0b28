"""Message content as clients write it (a text, or a list of parts) to the core's parts."""

from __future__ import annotations

from typing import Any, cast

from hermes_core.content import ImagePart, Part, TextPart, clean

from hermes_api.errors import ApiError

_TEXT = frozenset({"text", "input_text", "output_text"})
_IMAGE = frozenset({"image_url", "input_image"})


def parts_of(content: object, where: str) -> tuple[Part, ...]:
    """Return the parts of a message's content; adjacent texts are one part, null is none. `where` names the field.

    Raises ApiError 400: `unsupported_content_type`, `invalid_image_url`, `invalid_content_part`, `invalid_type`.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return (TextPart(clean(content)),) if content else ()
    if not isinstance(content, list):
        raise ApiError(400, f"'{where}' must be a text or a list of parts.", "invalid_type", param=where)
    parts: list[Part] = []
    texts: list[str] = []
    for item in cast("list[object]", content):
        part = _part(item, where)
        if isinstance(part, TextPart):
            texts.append(part.text)
            continue
        if texts:
            parts.append(TextPart("\n".join(texts)))
            texts = []
        parts.append(part)
    if texts:
        parts.append(TextPart("\n".join(texts)))
    return tuple(part for part in parts if not isinstance(part, TextPart) or part.text)


def texts_of(content: object, where: str) -> str:
    """Return only the text of a message's content; images are left out."""
    return "\n".join(part.text for part in parts_of(content, where) if isinstance(part, TextPart))


def _part(item: object, where: str) -> Part:
    if isinstance(item, str):
        return TextPart(clean(item))
    if not isinstance(item, dict):
        raise ApiError(400, f"'{where}' holds a part that is no object.", "invalid_content_part", param=where)
    part = cast("dict[str, Any]", item)
    kind = str(part.get("type", "")).lower()
    if kind in _TEXT:
        text = part.get("text")
        if not isinstance(text, str):
            raise ApiError(400, f"'{where}' holds a text part without text.", "invalid_content_part", param=where)
        return TextPart(clean(text))
    if kind in _IMAGE:
        return _image(part, where)
    message = f"'{where}' holds a part of type {kind[:40]!r}; texts and images are what this server reads."
    raise ApiError(400, message, "unsupported_content_type", param=where)


def _image(part: dict[str, Any], where: str) -> ImagePart:
    value = part.get("image_url")
    detail = part.get("detail")
    if isinstance(value, dict):
        image = cast("dict[str, Any]", value)
        value, detail = image.get("url"), image.get("detail", detail)
    if detail is not None and not (isinstance(detail, str) and detail):
        raise ApiError(400, f"'{where}' holds an image with a wrong 'detail'.", "invalid_content_part", param=where)
    return ImagePart(url=_checked_url(value, where), detail=detail or "")


def _checked_url(url: object, where: str) -> str:
    """Return an image URL that carries its own data; whoever would fetch another one could be led anywhere."""
    if not isinstance(url, str) or not url.strip():
        raise ApiError(400, f"'{where}' holds an image without a URL.", "invalid_image_url", param=where)
    url = url.strip()
    scheme, _, rest = url.partition(":")
    if scheme.lower() == "data":
        head, comma, data = rest.partition(",")
        if not head.lower().startswith("image/"):
            message = f"'{where}' holds a data URL that is no image."
            raise ApiError(400, message, "unsupported_content_type", param=where)
        if not comma or not data or not head.lower().endswith(";base64"):
            message = f"'{where}' holds an image that is not `data:image/...;base64,...`."
            raise ApiError(400, message, "invalid_image_url", param=where)
        return url
    if scheme.lower() in ("http", "https"):
        message = (
            f"'{where}' links to an image. This server fetches nothing: send it as a `data:image/...;base64,` URL."
        )
        raise ApiError(400, message, "invalid_image_url", param=where)
    message = f"'{where}' holds an image URL of a kind that is not read; send a `data:image/...;base64,` URL."
    raise ApiError(400, message, "invalid_image_url", param=where)
