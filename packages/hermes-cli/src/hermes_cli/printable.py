"""Text that is safe to show: what models, tools and files say must not steer the terminal."""

from __future__ import annotations

import re

# C0 but for tab and newline, DEL, C1, and the marks that turn the direction of text around.
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# Escape sequences whole, so that no `[31m` stays behind: CSI, OSC, and the two-character ones.
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def printable(text: str) -> str:
    """Return `text` without escape sequences and control characters; newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return _STEERING.sub("", _SEQUENCES.sub("", text.replace("\r\n", "\n")))


def one_line(text: str, limit: int) -> str:
    """Return `text` printable, on one line, at most `limit` characters long."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: max(0, limit - 1)] + "…"


def last_lines(text: str, count: int) -> list[str]:
    """Return the last `count` lines of `text` that are not blank, printable."""
    lines = [line.rstrip() for line in printable(text[-8192:]).expandtabs(4).split("\n")]
    return [line for line in lines if line][-count:]


def duration(seconds: float) -> str:
    """Return a span for people: `0.4s`, `12s`, `3m 05s`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    return f"{int(seconds) // 60}m {int(seconds) % 60:02d}s"
