"""The event log of one live session: gives each event its place and hands it to every subscription.

`seq` is dense from 1 within an *epoch*; a cursor is `epoch:seq`. The log keeps the newest events, bounded by
number and by size, for readers that come back with a cursor.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any, cast

from hermes_core import ids
from hermes_core.content import TextPart
from hermes_core.events import (
    ApprovalRequest,
    Event,
    MessageComplete,
    MessageDelta,
    MessageInterim,
    QueueChanged,
    ReasoningDelta,
    SteerDelivered,
    SteerQueued,
    StepDone,
    ToolComplete,
    ToolProgress,
    ToolStart,
    UserMessageAdded,
)
from hermes_core.questions import FileChange
from hermes_core.session.subscription import Subscription

KEPT_EVENTS = 4096
KEPT_BYTES = 4 * 1024 * 1024
MAX_DIGITS = 18
"""Digits of a position in a cursor; Python refuses to read very long numbers."""


class EventLog:
    """Stamps events and fans them out. Nothing here waits: publishing never depends on a reader."""

    def __init__(self, session_id: str) -> None:
        self.epoch = ids.epoch()
        self.seq = 0
        self._session_id = session_id
        self._kept: deque[tuple[Event, int]] = deque()
        self._bytes = 0
        self._subscriptions: list[Subscription] = []
        self._closed = False

    @property
    def cursor(self) -> str:
        """The position after the newest event."""
        return f"{self.epoch}:{self.seq}"

    def publish(self, event: Event) -> None:
        """Stamp `event` (which is the log's from now on) and give it to every subscription.

        After `close` nothing is published: `session.closed` is the last there is.
        """
        if self._closed:
            return
        self.seq += 1
        event.session_id = self._session_id
        event.seq = self.seq
        event.time = time.time()
        weight = weight_of(event)
        self._kept.append((event, weight))
        self._bytes += weight
        while len(self._kept) > KEPT_EVENTS or self._bytes > KEPT_BYTES:
            _, dropped = self._kept.popleft()
            self._bytes -= dropped
        for subscription in self._subscriptions:
            subscription.push(event, weight)

    def since(self, cursor: str) -> list[Event] | None:
        """Return the events after `cursor`, or None when they are no longer all here."""
        epoch, _, position = cursor.partition(":")
        if epoch != self.epoch or not position.isascii() or not position.isdigit() or len(position) > MAX_DIGITS:
            return None
        seq = int(position)
        if seq > self.seq or seq < self.seq - len(self._kept):
            return None
        return [event for event, _ in self._kept if event.seq > seq]

    def add(self, subscription: Subscription) -> None:
        """Let `subscription` see every event from now on."""
        self._subscriptions.append(subscription)
        if self._closed:
            subscription.end()

    def remove(self, subscription: Subscription) -> None:
        """Let `subscription` see nothing more. Harmless when it is gone already."""
        # A new list, never a changed one: a reader may be dropped while an event is being handed round.
        self._subscriptions = [other for other in self._subscriptions if other is not subscription]

    @property
    def readers(self) -> int:
        """How many subscriptions there are."""
        return len(self._subscriptions)

    def close(self) -> None:
        """End every subscription after the events it still has to read."""
        self._closed = True
        for subscription in self._subscriptions:
            subscription.end()


def weight_of(event: Event) -> int:
    """Return about how many bytes `event` holds, for the bounds of rings and queues."""
    match event:
        case MessageDelta() | ReasoningDelta() | ToolProgress():
            return 200 + len(event.text)
        case MessageComplete():
            return 400 + len(event.text) + len(event.reasoning) + len(event.pending_steer)
        case MessageInterim() | SteerQueued() | SteerDelivered():
            return 400 + len(event.text)
        case StepDone():
            return 400 + len(event.reasoning)
        case UserMessageAdded():
            return 400 + sum(len(part.text if isinstance(part, TextPart) else part.url) for part in event.parts)
        case ToolStart():
            return 400 + _size_of(event.args)
        case ToolComplete():
            return 400 + len(event.result) + _size_of(event.args) + _changed(event.changes)
        case ApprovalRequest():
            return 400 + len(event.question.command) + _changed(event.question.changes)
        case QueueChanged():
            return 400 + sum(map(len, event.texts))
        case _:
            return 400


def _changed(changes: tuple[FileChange, ...]) -> int:
    return sum(len(change.old or "") + len(change.new or "") for change in changes)


def _size_of(value: Any) -> int:
    """Return about how many bytes plain data holds."""
    waiting: list[Any] = [value]
    size = 0
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            size += len(found)
        elif isinstance(found, dict):
            waiting += cast("dict[str, Any]", found).values()
        elif isinstance(found, list):
            waiting += cast("list[Any]", found)
        size += 40
    return size
