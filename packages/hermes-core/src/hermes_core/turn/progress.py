"""The output of a running tool on its way to those who watch: coalesced in time, bounded in sum."""

from __future__ import annotations

import anyio

from hermes_core.content import clean
from hermes_core.events import ToolProgress
from hermes_core.turn.call import Call
from hermes_core.turn.workbench import Workbench

INTERVAL = 0.05
"""Seconds between two events of one call."""
PER_CALL = 64 * 1024
"""Characters shown of one call; the result tells the rest."""


class ProgressFeed:
    """Collects text with `add` and publishes it from `run`, until the scope around `run` is cancelled."""

    def __init__(self, bench: Workbench, turn_id: str, call: Call) -> None:
        self._bench = bench
        self._turn_id = turn_id
        self._call = call
        self._waiting: list[str] = []
        self._room = PER_CALL
        self._wake = anyio.Event()

    def add(self, text: str) -> None:
        """Show `text` soon. What goes beyond the bound is not shown, and the watcher is told once."""
        if self._room <= 0 or not text:
            return
        shown = text[: self._room]
        self._room -= len(shown)
        self._waiting.append(shown if self._room else shown + "\n[more output is not shown]\n")
        self._wake.set()

    async def run(self) -> None:
        """Publish what was added, at most every INTERVAL seconds."""
        while True:
            await self._wake.wait()
            self._wake = anyio.Event()
            self._show(last=False)
            await anyio.sleep(INTERVAL)

    def flush(self) -> None:
        """Publish all that waits; nothing is to follow."""
        self._show(last=True)

    def _show(self, *, last: bool) -> None:
        text = self._bench.mask(clean("".join(self._waiting)))
        self._waiting.clear()
        # What may be the beginning of a secret waits for the rest: no part of it is told apart from the other.
        held = 0 if last else self._bench.secret_begun(text)
        if held:
            self._waiting.append(text[-held:])
            text = text[:-held]
        if text:
            self._bench.publish(
                ToolProgress(tool_call_id=self._call.id, name=self._call.name, text=text, turn_id=self._turn_id)
            )
