"""Content parts: what a message to the model is made of."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class TextPart(msgspec.Struct, tag="text", frozen=True):
    """Plain text."""

    text: str


class ImagePart(msgspec.Struct, tag="image", frozen=True, omit_defaults=True):
    """An image: `url` is a `data:image/...;base64,` URL, or an http(s) URL that the provider fetches."""

    url: str
    detail: str = ""


Part = TextPart | ImagePart


def text_of(parts: Iterable[Part]) -> str:
    """Return the text of `parts`, joined by newlines; images are left out."""
    return "\n".join(part.text for part in parts if isinstance(part, TextPart))


def bounded(text: str, limit: int, *, where: str = "") -> str:
    """Return `text`, or its head and tail with a note in between that says how much was left out.

    `limit` counts characters and bounds the result, note included. `where` tells the reader where the whole
    text can be found. Two thirds of the room go to the head.
    """
    if len(text) <= limit:
        return text
    hint = f"; {where}" if where else ""
    note = f"\n[... {len(text):,} characters in all, the middle is left out{hint} ...]\n"
    room = max(0, limit - len(note))
    head = room * 2 // 3
    tail = room - head
    return text[:head] + note + (text[-tail:] if tail else "")


def clean(text: str) -> str:
    """Return `text` with lone surrogates replaced, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
