"""How rows become bytes: JSON of the vocabulary's own structs, always valid UTF-8."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from hermes_core.content import clean
from hermes_core.errors import StoreError
from hermes_core.messages import Message

S = TypeVar("S", bound=msgspec.Struct)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


def encoded(value: S) -> tuple[S, bytes]:
    """Return `value` as it is stored, and its JSON.

    A lone surrogate cannot be written as UTF-8 and would make every later read, search and request fail, so each
    one is replaced, wherever in the struct it stands. Values without any come back as they are.
    """
    try:
        return value, _encoder.encode(value)
    except UnicodeEncodeError:
        value = msgspec.convert(_cleaned(msgspec.to_builtins(value)), type(value))
        return value, _encoder.encode(value)


def sanitised(value: S) -> S:
    """Return `value` with lone surrogates replaced in all of its texts."""
    return encoded(value)[0]


def decoded(body: bytes) -> Message:
    """Return the message that `encoded` wrote. Raises StoreError for anything else."""
    try:
        return _decoder.decode(body)
    except msgspec.DecodeError as error:
        raise StoreError(f"A stored message cannot be read: {error}.") from error


def role_of(message: Message) -> str:
    """Return the role of a message: `user`, `assistant`, `tool` or `note`."""
    return str(message.__struct_config__.tag)


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(key): _cleaned(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list() | tuple():
            return [_cleaned(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value
