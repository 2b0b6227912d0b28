"""Snapshot: what a client that attaches must know before the first live event."""

from __future__ import annotations

import msgspec

from hermes_core.content import Part
from hermes_core.events import SessionState
from hermes_core.messages import StoredMessage
from hermes_core.questions import Question
from hermes_core.store.protocol import SessionRecord
from hermes_core.usage import Usage


class Inflight(msgspec.Struct, frozen=True):
    """The running turn: what was asked, and the text of the current step so far."""

    turn_id: str
    user: tuple[Part, ...]
    text: str
    reasoning: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A live session at one `cursor`; the events after it are the ones a subscription goes on with.

    `messages` holds every stored row, including the running turn's user row.
    """

    session_id: str
    record: SessionRecord
    state: SessionState
    cursor: str
    started_at: float
    messages: tuple[StoredMessage, ...]
    inflight: Inflight | None
    questions: tuple[Question, ...]
    queue: tuple[str, ...]
    usage: Usage
    context_used: int
    context_max: int
