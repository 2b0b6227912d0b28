"""Parameters as values, and prompts as what the core reads. Pure; what is wrong is named by its path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar, assert_never
from urllib.parse import unquote, urlsplit

import msgspec
from hermes_core.content import ImagePart, Part, TextPart
from hermes_core.jsonrpc import Response

from hermes_acp.errors import InvalidParams
from hermes_acp.wire.content import AudioBlock, Block, EmbeddedText, ImageBlock, LinkBlock, ResourceBlock, TextBlock
from hermes_acp.wire.params import McpServer, PermissionResult

Params = TypeVar("Params", bound=msgspec.Struct)

_MESSAGE = re.compile(r"(?P<problem>.*?)(?: - at `(?P<path>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<field>.*)`")
_COMMAND = re.compile(r"/(?P<name>[a-z][a-z0-9_-]*)(?:\s+(?P<argument>.*))?", re.DOTALL)


class SlashCommand(msgspec.Struct, frozen=True):
    """A prompt of one line of text that begins with a slash and a word."""

    name: str
    argument: str


def decode(params: msgspec.Raw, shape: type[Params], *, strict: bool = True) -> Params:
    """Return `params` as `shape`. Raises InvalidParams; parameters that are left out count as an empty object.

    Not `strict`, a number may come as text.
    """
    text = bytes(params)
    try:
        return msgspec.json.decode(text if text and text != b"null" else b"{}", type=shape, strict=strict)
    except msgspec.ValidationError as error:
        raise _invalid(str(error)) from None
    except (msgspec.DecodeError, RecursionError):
        raise InvalidParams("", "the parameters are not valid JSON") from None


def _invalid(message: str) -> InvalidParams:
    found = _MESSAGE.fullmatch(message)
    assert found is not None
    path = (found["path"] or "").removeprefix("$").removeprefix(".")
    missing = _MISSING.fullmatch(found["problem"])
    if missing is None:
        return InvalidParams(path or "params", found["problem"][:1].lower() + found["problem"][1:])
    return InvalidParams(f"{path}.{missing['field']}" if path else missing["field"], "is required")


def check_servers(servers: Sequence[McpServer] | None) -> None:
    """Raise InvalidParams for a server that can never be started, naming the field."""
    for index, server in enumerate(servers or ()):
        if server.type in (None, "stdio"):
            if not server.command:
                raise InvalidParams(f"mcpServers[{index}].command", "is required")
        elif server.type not in ("http", "sse"):
            raise InvalidParams(f"mcpServers[{index}].type", f"there is no kind of server {server.type[:100]!r}")
        elif not server.url:
            raise InvalidParams(f"mcpServers[{index}].url", "is required")


def absolute(path: str, field: str) -> str:
    """Return `path`. Raises InvalidParams unless it is absolute."""
    if not path.startswith("/") and not re.match(r"[A-Za-z]:[\\/]|\\\\", path):
        raise InvalidParams(field, f"must be an absolute path, not {path[:200]!r}")
    return path


def prompt_parts(blocks: Sequence[Block]) -> tuple[Part, ...]:
    """Return what a prompt says. Raises InvalidParams for audio and for images that are none."""
    return tuple(part for index, block in enumerate(blocks) for part in _parts(block, f"prompt[{index}]"))


def _parts(block: Block, path: str) -> Iterator[Part]:
    match block:
        case TextBlock():
            if block.text:
                yield TextPart(block.text)
        case ImageBlock():
            yield _image(block.data, block.mime_type, path)
        case AudioBlock():
            raise InvalidParams(path, "audio is not supported by this agent")
        case LinkBlock():
            yield TextPart(f"[{block.name or 'file'}]({_place(block.uri)})")
        case ResourceBlock():
            yield _embedded(block.resource, path)
        case _:
            assert_never(block)


def _image(data: str, mime_type: str, path: str) -> ImagePart:
    if not re.fullmatch(r"image/[\w.+-]+", mime_type):
        raise InvalidParams(f"{path}.mimeType", f"{mime_type[:100]!r} is not a kind of image")
    data = "".join(data.split())
    if not re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", data):
        raise InvalidParams(f"{path}.data", "must be base64")
    return ImagePart(url=f"data:{mime_type};base64,{data}")


def _embedded(resource: EmbeddedText, path: str) -> Part:
    place = _place(resource.uri)
    if resource.text is not None:
        return TextPart(f'<file path="{place}">\n{resource.text}\n</file>')
    if resource.blob is None:
        raise InvalidParams(f"{path}.resource", "needs text or blob")
    if (resource.mime_type or "").startswith("image/"):
        return _image(resource.blob, resource.mime_type or "", f"{path}.resource")
    return TextPart(f"[{place}: a file of {len(resource.blob) * 3 // 4:,} bytes that is not text]")


def _place(uri: str) -> str:
    """Return the path of a file URI, which tools can read; other URIs as they are."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else uri


def slash_command(parts: Sequence[Part]) -> SlashCommand | None:
    """Return the command that a prompt is, None for a message: one with an image, or one that begins with a path."""
    if len(parts) != 1 or not isinstance(parts[0], TextPart):
        return None
    found = _COMMAND.fullmatch(parts[0].text.strip())
    return SlashCommand(found["name"], (found["argument"] or "").strip()) if found else None


def selected_option(answer: Response) -> str | None:
    """Return the option that the client chose; None for an error, a refusal to choose, and what cannot be read."""
    if answer.error is not None:
        return None
    try:
        outcome = msgspec.json.decode(answer.result, type=PermissionResult).outcome
    except msgspec.DecodeError:
        return None
    return outcome.option_id if outcome.outcome == "selected" else None
