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


class HeadTail:
    """Keeps the first and the last characters of a long text, in bounded memory, and counts all of them."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit * 2 // 3
        self._tail_room = limit - self._head_room
        self._head: list[str] = []
        self._in_head = 0
        self._tail = ""
        self.total = 0

    def add(self, text: str) -> None:
        """Append `text`."""
        self.total += len(text)
        room = self._head_room - self._in_head
        if room > 0:
            self._head.append(text[:room])
            self._in_head += len(text[:room])
            text = text[room:]
        if text:
            self._tail = (self._tail + text)[-self._tail_room :]

    @property
    def left_out(self) -> int:
        """How many characters are in neither part."""
        return self.total - self._in_head - len(self._tail)

    def text(self, where: str = "") -> str:
        """Return the text; a note in the middle says how much is left out and `where` it can be found."""
        head = "".join(self._head)
        if not self.left_out:
            return head + self._tail
        hint = f"; {where}" if where else ""
        return f"{head}\n[... {self.left_out:,} of {self.total:,} characters left out{hint} ...]\n{self._tail}"
