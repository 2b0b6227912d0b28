"""How much of a thing one frame shows, so that every frame stays below 60 KiB: some clients read no longer line.

Characters are counted where that is enough: one character is at most six bytes of JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec
from hermes_core.content import bounded

TEXT_PIECE = 8_000
"""Characters of one chunk of text."""
RESULT_TEXT = 4_000
"""Characters that are shown of a tool's output."""
TITLE_TEXT = 200
ERROR_TEXT = 2_000
LOCATION_BYTES = 8 * 1024
"""Bytes of JSON that the paths of a card may have together."""
ARGUMENT_BYTES = 6 * 1024
DIFF_BYTES = 24 * 1024
"""Bytes of JSON that the diffs of one frame may have together."""
PLAN_ENTRIES = 50
PLAN_TEXT = 180
IMAGE_BYTES = 48 * 1024
LIST_BYTES = 48 * 1024


def pieces(text: str) -> Iterator[str]:
    """Yield `text` in pieces that fit a frame each; an empty text has none."""
    for start in range(0, len(text), TEXT_PIECE):
        yield text[start : start + TEXT_PIECE]


def size_of(value: Any) -> int:
    """Return the bytes that `value` takes on the wire. Text that is no valid Unicode counts as much as it may take."""
    try:
        return len(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return len(repr(value)) * 2


def arguments(given: dict[str, Any]) -> dict[str, Any] | None:
    """Return a tool's arguments, long texts shortened; None where they are too many all the same."""
    if size_of(given) <= ARGUMENT_BYTES:
        return given
    shorter = cast("dict[str, Any]", _shortened(given))
    return shorter if size_of(shorter) <= ARGUMENT_BYTES else None


def _shortened(value: Any) -> Any:
    match value:
        case str():
            return bounded(value, 300)
        case list():
            return [_shortened(item) for item in cast("list[Any]", value)[:20]]
        case dict():
            return {key: _shortened(item) for key, item in cast("dict[str, Any]", value).items()}
        case _:
            return value


def fenced(text: str) -> str:
    """Return `text` as a block of Markdown code that nothing in it can end, at most RESULT_TEXT characters of it."""
    text = bounded(text.rstrip("\n"), RESULT_TEXT)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
