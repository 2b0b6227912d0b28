"""Output of child processes as text: decoded piece by piece, control sequences taken out, head and tail kept.

Colours and cursor movements mean nothing to a model and cost it tokens, so ANSI sequences and control characters
(but tab, line feed and carriage return) are removed; bytes that are not UTF-8 become U+FFFD.
"""

from __future__ import annotations

import codecs
import re

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC and other strings: titles, links
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?$")
_LONGEST_SEQUENCE = 4096


class OutputDecoder:
    """Turns pieces of bytes, cut anywhere, into clean text."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._kept = ""

    def decode(self, data: bytes, *, final: bool = False) -> str:
        """Return the text of the next piece; what may go on in the piece after it is held back."""
        text = self._kept + self._decoder.decode(data, final)
        self._kept = ""
        if not final:
            unfinished = _UNFINISHED.search(text, max(0, len(text) - _LONGEST_SEQUENCE))
            if unfinished is not None:
                self._kept = text[unfinished.start() :]
                text = text[: unfinished.start()]
        return _CONTROL.sub("", text)


class BoundedOutput:
    """Keeps the first and the last characters of a long output in bounded memory.

    `limit` is in characters. What falls between the two parts is only counted, never decoded: output may come
    faster than it could be cleaned.
    """

    def __init__(self, limit: int) -> None:
        self._head_room = limit * 2 // 3
        self._tail_room = limit - self._head_room
        self._decoder = OutputDecoder()
        self._head = ""
        self._tail = bytearray()
        self._dropped = 0
        self._total = 0

    def add(self, data: bytes) -> None:
        """Append `data`."""
        self._total += len(data)
        if len(self._head) < self._head_room:
            self._head += self._decoder.decode(data)
            return
        self._tail += data
        kept = self._tail_room * 4  # bytes, of which a character has four at most
        if len(self._tail) > 2 * kept:
            self._dropped += len(self._tail) - kept
            del self._tail[:-kept]

    def text(self, where: str = "") -> str:
        """Return the text; a note in the middle says how much is left out, and `where` it can be found."""
        text = self._head + self._decoder.decode(b"", final=True)
        text += OutputDecoder().decode(bytes(self._tail), final=True)
        if not self._dropped and len(text) <= self._head_room + self._tail_room:
            return text
        head, tail = text[: self._head_room], text[-self._tail_room :]
        left_out = self._total - len(head.encode()) - len(tail.encode())
        hint = f"; {where}" if where else ""
        return f"{head}\n[... about {left_out:,} of {self._total:,} bytes are left out here{hint} ...]\n{tail}"
