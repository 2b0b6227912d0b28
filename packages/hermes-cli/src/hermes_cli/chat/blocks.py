"""Markdown that arrives in fragments, cut into blocks that will not change any more.

A block that is whole can be printed for good; what is left is shown as it grows. Blocks end at blank lines, but
not inside a fence or a list; a heading is a block by itself.
"""

from __future__ import annotations

import re

BIGGEST = 64 * 1024
"""Characters at which a block is cut at the next line end, and a line in its middle, whatever it is."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INNER_FENCE = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])?\s*(`{3,}|~{3,})")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")


class Blocks:
    """Collects text; `feed` returns the blocks that became whole, `rest` is the one that still grows."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._tail = ""
        self._fence = ""
        self._list = False
        self._blank = False

    @property
    def rest(self) -> str:
        """The text that belongs to no whole block yet."""
        return "".join(self._lines) + self._tail

    def feed(self, text: str) -> list[str]:
        """Add a fragment; return the blocks that are whole now, each with the newlines it came with."""
        *lines, tail = (self._tail + text).split("\n")
        done: list[str] = []
        for line in lines:
            self._add(self._shortened(line, done) + "\n", done)
        self._tail = self._shortened(tail, done)
        return done

    def end(self) -> list[str]:
        """Return what is left; the next text begins a new block."""
        done: list[str] = []
        if self._tail:
            tail, self._tail = self._tail, ""
            self._add(tail, done)
        self._cut(done)
        return done

    def _shortened(self, line: str, done: list[str]) -> str:
        """Hand over all but the end of a line without end; return that."""
        while len(line) > BIGGEST:
            self._keep(line[:BIGGEST])
            self._cut(done)
            line = line[BIGGEST:]
        return line

    def _add(self, line: str, done: list[str]) -> None:
        if self._fence:
            self._keep(line)
            if _closes(line, self._fence):
                self._fence = ""
                if not self._list:
                    self._cut(done)
        elif not line.strip():
            self._keep(line)
            self._blank = True
            if not self._list:
                self._cut(done)
        else:
            self._add_text(line, done)
        if self._size > BIGGEST:
            self._cut(done)

    def _add_text(self, line: str, done: list[str]) -> None:
        indented = line.startswith(("  ", "\t"))
        goes_on = self._list and (indented or _ITEM.match(line) is not None or not self._blank)
        opens = _FENCE.match(line)
        if not goes_on and (self._list or opens is not None or _HEADING.match(line)):
            self._cut(done)
        if not self._has_text():
            self._list = _ITEM.match(line) is not None
        self._blank = False
        self._keep(line)
        opens = opens or (_INNER_FENCE.match(line) if self._list else None)
        if opens is not None:
            self._fence = opens[1]
        elif not self._list and _HEADING.match(line):
            self._cut(done)

    def _has_text(self) -> bool:
        return any(line.strip() for line in self._lines)

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line)

    def _cut(self, done: list[str]) -> None:
        block = "".join(self._lines)
        if block:
            done.append(block)
        self._lines.clear()
        self._size = 0
        self._list = self._blank = False
        self._fence = ""


def _closes(line: str, fence: str) -> bool:
    text = line.strip()
    return len(text) >= len(fence) and set(text) == {fence[0]}
