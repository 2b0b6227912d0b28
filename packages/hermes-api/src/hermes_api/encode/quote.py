"""JSON as bytes, for frames that are put together from prepared pieces."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from hermes_core.content import clean


def quoted(value: object) -> bytes:
    """Return `value` as JSON. Lone surrogates, which a tool's output may hold and UTF-8 cannot, are replaced."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_cleaned(value))


def _cleaned(value: object) -> object:
    match value:
        case str():
            return clean(value)
        case list() | tuple():
            return [_cleaned(item) for item in cast("list[Any]", value)]
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in cast("dict[Any, Any]", value).items()}
        case _:
            return value
