"""File changes as the protocol's diffs: whole texts while they are short, the changed lines where they are long."""

from __future__ import annotations

from collections.abc import Iterable

from hermes_core.content import bounded
from hermes_core.questions import FileChange

from hermes_acp.limits import DIFF_BYTES, size_of
from hermes_acp.wire.content import TextContent
from hermes_acp.wire.updates import ToolContent, ToolDiff, ToolText

CONTEXT_LINES = 3
PATH_TEXT = 500


def diffs(changes: Iterable[FileChange]) -> tuple[ToolContent, ...]:
    """Return one item for each change; what does not fit a frame is named in a line of text instead."""
    items: list[ToolContent] = []
    room = DIFF_BYTES
    for change in changes:
        item = _fitting(change, room)
        room -= size_of(item)
        items.append(item)
        if room < 512:
            break
    return tuple(items)


def _fitting(change: FileChange, room: int) -> ToolContent:
    for diff in (_whole(change), _changed_lines(change)):
        if size_of(diff) <= room:
            return diff
    what = "deleted" if change.new is None else "created" if change.old is None else "changed"
    path = bounded(change.path, PATH_TEXT)
    return ToolText(content=TextContent(text=f"{path} is {what}; the change is too long to be shown here."))


def _whole(change: FileChange) -> ToolDiff:
    return ToolDiff(path=change.path, old_text=change.old, new_text=change.new or "")


def _changed_lines(change: FileChange) -> ToolDiff:
    """Return the part from the first line that differs to the last, with a few equal lines around it."""
    old, new = (change.old or "").splitlines(keepends=True), (change.new or "").splitlines(keepends=True)
    shorter = min(len(old), len(new))
    head = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    tail = next((at for at in range(shorter - head) if old[-1 - at] != new[-1 - at]), shorter - head)
    head, tail = max(0, head - CONTEXT_LINES), max(0, tail - CONTEXT_LINES)
    return ToolDiff(
        path=change.path,
        old_text="".join(old[head : len(old) - tail]) if change.old is not None else None,
        new_text="".join(new[head : len(new) - tail]),
    )
