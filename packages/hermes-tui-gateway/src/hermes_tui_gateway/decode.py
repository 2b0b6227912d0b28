"""From lines to requests, and from a request's params to what the core takes. Pure."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, TypeVar, assert_never

import msgspec
from hermes_core.content import ImagePart, Part, TextPart, clean
from hermes_core.jsonrpc import INVALID_PARAMS

from hermes_tui_gateway.codes import BAD_IMAGE, WireError
from hermes_tui_gateway.wire.turns import ImageInput, PromptText, TextInput

MAX_DEPTH = 100
"""How deep values of a request that has to be read the slow way may be nested."""

_IMAGE = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/]")

P = TypeVar("P", bound=msgspec.Struct)


class Request(msgspec.Struct, frozen=True):
    """A call: `id` and `params` are JSON texts. One without an id is answered all the same, with null."""

    method: str
    id: msgspec.Raw = msgspec.Raw(b"null")
    params: msgspec.Raw = msgspec.Raw(b"{}")


_requests = msgspec.json.Decoder(Request)


def regular(line: bytes) -> Request | None:
    """Return the request that `line` is; None where it has to be read the slow way, or is none at all."""
    try:
        if not line.isascii():
            line.decode()  # what is skipped unread is not checked by the decoder
        request = _requests.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return request if request.method else None


def params_from_json(kind: type[P], decoder: msgspec.json.Decoder[P], params: msgspec.Raw) -> P:
    """Decode the params of a method. Raises WireError -32602, which names the field."""
    text = bytes(params)
    if not text.startswith(b"{") and text != b"null":
        _not_an_object()
    try:
        return decoder.decode(b"{}" if text == b"null" else text)
    except msgspec.MsgspecError as error:
        _wrong(error)


def params_from_value(kind: type[P], params: Any) -> P:
    """Convert params that were decoded already. Raises WireError -32602, which names the field."""
    if params is not None and not isinstance(params, dict):
        _not_an_object()
    try:
        return msgspec.convert(params or {}, kind)
    except msgspec.MsgspecError as error:
        _wrong(error)


def _not_an_object() -> NoReturn:
    raise WireError(INVALID_PARAMS, "Invalid params: they must be an object.")


def _wrong(error: msgspec.MsgspecError) -> NoReturn:
    what, _, where = str(error).partition(" - at `$")
    field = where.rstrip("`").lstrip(".")
    message = f"Invalid params: {field}: {what}" if field else f"Invalid params: {what}"
    raise WireError(INVALID_PARAMS, message, {"field": field} if field else None) from error


def any_json(line: bytes) -> Any:
    """Return the value of any JSON text, half surrogate pairs replaced. Raises ValueError with a reason."""
    try:
        return _cleaned(json.loads(line.decode(), parse_constant=_refuse), MAX_DEPTH)
    except UnicodeDecodeError:
        raise ValueError("The line is not valid UTF-8.") from None
    except (json.JSONDecodeError, RecursionError):
        raise ValueError("The line is not valid JSON.") from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value.")


def _cleaned(value: Any, depth: int) -> Any:
    if not depth:
        raise ValueError("The value is nested too deeply.")
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item, depth - 1) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case dict():
            return {clean(key): _cleaned(item, depth - 1) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return value


def parts_of(text: PromptText) -> tuple[Part, ...]:
    """Return the parts of a prompt: a string, or text and image parts. A blank string has none.

    Raises WireError 4015 for an image that is a link.
    """
    if isinstance(text, str):
        return (TextPart(clean(text)),) if text.strip() else ()
    return tuple(_part(part) for part in text)


def _part(part: TextInput | ImageInput) -> Part:
    match part:
        case TextInput():
            return TextPart(clean(part.text))
        case ImageInput():
            if not _IMAGE.match(part.image_url.url):
                raise WireError(BAD_IMAGE, "An image is sent as a `data:image/...;base64,` URL; no link is fetched.")
            return ImagePart(part.image_url.url, part.image_url.detail)
        case _:
            assert_never(part)
