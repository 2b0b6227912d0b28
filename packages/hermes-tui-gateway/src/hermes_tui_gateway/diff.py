"""A tool's edits as one coloured diff for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hermes_core.content import bounded
from hermes_core.questions import FileChange

MAX_SOURCE = 400_000
"""Characters of the two texts beyond which no diff is made: comparing them would hold up everybody."""
MAX_DIFF = 24_000
"""Characters of the diff."""

_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_PLAIN = "\x1b[0m"


def inline_diff(changes: Iterable[FileChange]) -> str:
    """Return the edits as unified diffs with ANSI colours, bounded; empty where there is nothing to show."""
    return bounded("\n".join(line for change in changes for line in _lines(change)), MAX_DIFF)


def _lines(change: FileChange) -> Iterator[str]:
    import difflib

    old, new = change.old or "", change.new or ""
    if len(old) + len(new) > MAX_SOURCE:
        yield f"{change.path}: {len(old):,} -> {len(new):,} characters"
        return
    before = "/dev/null" if change.old is None else change.path
    after = "/dev/null" if change.new is None else change.path
    for line in difflib.unified_diff(old.splitlines(), new.splitlines(), before, after, lineterm=""):
        colour = _COLOURS.get(line[:1])
        yield f"{colour}{line}{_PLAIN}" if colour else line
