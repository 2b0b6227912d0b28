"""An edit as lines for the terminal: numbered, with a little context, bounded."""

from __future__ import annotations

from hermes_core.questions import FileChange

from hermes_cli.ink import Ink
from hermes_cli.printable import printable

CONTEXT = 2
BIGGEST = 400_000
"""Characters of both sides together above which lines are only counted: a diff of more would hold up the screen."""


def diff_lines(change: FileChange, ink: Ink, width: int, limit: int) -> list[str]:
    """Return the change, at most `limit` lines and one that counts the rest."""
    if len(change.old or "") + len(change.new or "") > BIGGEST:
        return [ink.dim(f"  {_lines(change.old)} lines before, {_lines(change.new)} lines after")]
    shown = [line for line in _unified(change, ink, width)]
    if not shown:
        return [ink.dim("  no change")]
    if len(shown) <= limit:
        return shown
    return [*shown[:limit], ink.dim(f"  … {len(shown) - limit} more lines")]


def _unified(change: FileChange, ink: Ink, width: int) -> list[str]:
    from difflib import SequenceMatcher

    old, new = (change.old or "").splitlines(), (change.new or "").splitlines()
    digits = len(str(max(len(old), len(new), 1)))
    lines: list[str] = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(CONTEXT):
        if lines:
            lines.append(ink.dim(f"  {'⋯':>{digits}}"))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [ink.dim(_row(j1 + n, " ", text, digits, width)) for n, text in enumerate(new[j1:j2], 1)]
                continue
            lines += [ink.red(_row(i1 + n, "-", text, digits, width)) for n, text in enumerate(old[i1:i2], 1)]
            lines += [ink.green(_row(j1 + n, "+", text, digits, width)) for n, text in enumerate(new[j1:j2], 1)]
    return lines


def _row(number: int, sign: str, text: str, digits: int, width: int) -> str:
    room = max(8, width - digits - 6)
    shown = printable(text).expandtabs(4)
    if len(shown) > room:
        shown = shown[: room - 1] + "…"
    return f"  {number:>{digits}} {sign} {shown}".rstrip()


def _lines(text: str | None) -> int:
    return len(text.splitlines()) if text else 0
