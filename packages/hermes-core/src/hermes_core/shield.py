"""Finish a piece of work although its task is being cancelled: for what must be written down."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio

T = TypeVar("T")


async def shielded(work: Awaitable[T]) -> T:
    """Await `work` out of reach of cancellation and return its result; a cancellation arrives afterwards."""
    results: list[T] = []
    with anyio.CancelScope(shield=True):
        results.append(await work)
    return results[0]
