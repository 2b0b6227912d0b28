"""A clock that stands still until a test turns it."""

from __future__ import annotations

import heapq
from itertools import count

import anyio


class FakeClock:
    """A `hermes_core.clock.Clock` for tests.

        clock = FakeClock()
        ...start a task that calls clock.sleep(30)...
        await clock.wait_for_sleepers(1)
        await clock.advance(30)      # the task goes on

    Both clocks move together; `start` is the first UNIX time.
    """

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._start = start
        self._now = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._arrival = anyio.Event()

    def monotonic(self) -> float:
        return self._now

    def time(self) -> float:
        return self._start + self._now

    @property
    def sleepers(self) -> int:
        """How many tasks wait for this clock."""
        return len(self._sleepers)

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        entry = (self._now + seconds, next(self._order), anyio.Event())
        heapq.heappush(self._sleepers, entry)
        self._arrival.set()
        try:
            await entry[2].wait()
        finally:
            if entry in self._sleepers:
                self._sleepers.remove(entry)
                heapq.heapify(self._sleepers)

    async def wait_for_sleepers(self, number: int) -> None:
        """Wait until at least `number` tasks sleep."""
        while len(self._sleepers) < number:
            self._arrival = anyio.Event()
            await self._arrival.wait()

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass: sleepers wake in the order of their deadlines, each at its own time."""
        target = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= target:
            self._now, _, due = heapq.heappop(self._sleepers)
            due.set()
            await anyio.wait_all_tasks_blocked()
        self._now = target
        await anyio.wait_all_tasks_blocked()
