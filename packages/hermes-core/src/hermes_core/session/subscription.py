"""A subscription: one reader's bounded view of a session's events.

A reader that is behind gets adjacent deltas folded into one. One that falls behind further than the bounds
is dropped: its next read raises SlowReader with the cursor from which it can go on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio

from hermes_core.errors import SessionError
from hermes_core.events import Event, MessageDelta, ReasoningDelta, ToolProgress

if TYPE_CHECKING:
    from hermes_core.session.snapshot import Snapshot

MAX_EVENTS = 2048
MAX_BYTES = 8 * 1024 * 1024
MERGED_TEXT = 16 * 1024
"""Characters up to which waiting deltas are folded into one."""


class SlowReader(SessionError):
    """The reader fell behind and was dropped; `cursor` is where it can subscribe again."""

    code = "slow_reader"

    def __init__(self, cursor: str) -> None:
        super().__init__("The reader was too slow and was dropped.")
        self.cursor = cursor


class Subscription:
    """The events of a session from one position on. Use it as a context manager, read it from one task.

    `snapshot` is the session at that position; None when the position was a cursor that could be continued.
    """

    def __init__(self, snapshot: Snapshot | None, epoch: str, position: int, leave: Callable[[Subscription], None]):
        self.snapshot = snapshot
        self._epoch = epoch
        self._position = position
        self._leave = leave
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._largest = 0
        self._replayed = 0
        self._ended = False
        self._dropped = False
        self._wake = anyio.Event()

    def push(self, event: Event, weight: int) -> None:
        """Queue an event (called by the log). One of a replay has no `weight`: what is kept may be read again."""
        if self._dropped:
            return
        waiting = self._waiting
        folded = _folded(waiting[-1], event) if waiting else None
        if folded is not None:
            waiting[-1] = folded
        else:
            waiting.append(event)
            self._replayed += not weight
        self._bytes += weight
        self._largest = max(self._largest, weight)
        # One event, however large, is nobody's fault.
        if weight and (len(waiting) - self._replayed > MAX_EVENTS or self._bytes - self._largest > MAX_BYTES):
            self._dropped = True
            waiting.clear()
            self._leave(self)
        self._wake.set()

    def end(self) -> None:
        """Let the reader finish what waits, and then stop (called by the log)."""
        self._ended = True
        self._wake.set()

    async def batch(self) -> list[Event]:
        """Return every event that waits, at least one; wait for it. Empty when the session is closed.

        Raises SlowReader when the reader was dropped.
        """
        while not self._waiting:
            if self._dropped:
                raise SlowReader(self.cursor)
            if self._ended:
                return []
            self._wake = anyio.Event()
            await self._wake.wait()
        return self.take()

    def take(self) -> list[Event]:
        """Return every event that waits, without waiting for one: none is between this and a snapshot taken now."""
        events = list(self._waiting)
        self._waiting.clear()
        self._bytes = self._largest = self._replayed = 0
        if events:
            self._position = events[-1].seq
        return events

    @property
    def cursor(self) -> str:
        """The position after the last event that was read."""
        return f"{self._epoch}:{self._position}"

    async def __aiter__(self) -> AsyncIterator[Event]:
        while events := await self.batch():
            for event in events:
                yield event

    def close(self) -> None:
        """Stop listening. Calling it twice is harmless."""
        self._leave(self)
        self.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _folded(last: Event, event: Event) -> Event | None:
    """Return both as one event, or None where they must stay apart. Events are shared: neither is changed."""
    if isinstance(event, MessageDelta) and isinstance(last, MessageDelta):
        folded: MessageDelta | ReasoningDelta | ToolProgress = MessageDelta(text=last.text + event.text)
    elif isinstance(event, ReasoningDelta) and isinstance(last, ReasoningDelta):
        folded = ReasoningDelta(text=last.text + event.text)
    elif isinstance(event, ToolProgress) and isinstance(last, ToolProgress) and last.tool_call_id == event.tool_call_id:
        folded = ToolProgress(tool_call_id=event.tool_call_id, name=event.name, text=last.text + event.text)
    else:
        return None
    if len(folded.text) > MERGED_TEXT or last.turn_id != event.turn_id or last.agent_id != event.agent_id:
        return None
    folded.session_id = event.session_id
    folded.seq = event.seq
    folded.merged = last.merged + 1
    folded.turn_id = event.turn_id
    folded.agent_id = event.agent_id
    folded.time = last.time
    return folded
