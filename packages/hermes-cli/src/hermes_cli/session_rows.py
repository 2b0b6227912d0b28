"""Stored sessions as lines for people."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hermes_core.store.protocol import SessionQuery, SessionSummary, Store

from hermes_cli.ink import Ink
from hermes_cli.printable import one_line


async def newest(store: Store, limit: int) -> list[SessionSummary]:
    """Return the sessions with the newest activity."""
    return await store.list_sessions(SessionQuery(limit=limit))


def listing(page: Sequence[SessionSummary], width: int, ink: Ink) -> list[str]:
    """Return a line for each: its id, its age, and its title or first words."""
    lines: list[str] = []
    for summary in page:
        about = summary.record.title or summary.preview or "(no text)"
        aside = f"{summary.record.id}  {age(summary.updated_at):>8}"
        lines.append(f"{ink.dim(aside)}  {one_line(about, max(12, width - len(aside) - 2))}")
    return lines


def age(then: float, now: float | None = None) -> str:
    """Return how long ago `then` (UNIX seconds) was, in one unit."""
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "now"
