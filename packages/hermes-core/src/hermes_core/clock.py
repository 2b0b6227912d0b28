"""The clock that time-outs go by, so that tests can turn it by hand (`hermes_core.testing.FakeClock`)."""

from __future__ import annotations

import time
from typing import Protocol

import anyio


class Clock(Protocol):
    """What code that waits takes as an argument, with SYSTEM_CLOCK as its default."""

    def monotonic(self) -> float:
        """Return seconds that never go backwards, from an arbitrary zero."""
        ...

    def time(self) -> float:
        """Return UNIX seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait. Zero or less only lets other tasks run."""
        ...


class SystemClock:
    """The machine's own clock."""

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds))


SYSTEM_CLOCK: Clock = SystemClock()
