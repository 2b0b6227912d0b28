"""One turn as an HTTP request or a run sees it: begun, listened to, and interrupted when it is left early."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import assert_never

import anyio
from hermes_core.commands import AnswerQuestion, Interrupt, Submit
from hermes_core.errors import QuestionNotOpen, SessionClosed
from hermes_core.events import (
    ApprovalRequest,
    ClarifyRequest,
    Event,
    MessageComplete,
    QueueChanged,
    SecretRequest,
    SessionClosedEvent,
    SudoRequest,
)
from hermes_core.questions import (
    Answer,
    Approval,
    ApprovalAnswer,
    Clarify,
    ClarifyAnswer,
    Question,
    Secret,
    SecretAnswer,
    Sudo,
    SudoAnswer,
)
from hermes_core.session.session import Session
from hermes_core.session.subscription import SlowReader

INTERRUPT_SECONDS = 10.0


class Turn:
    """The events of one turn, until `end`."""

    def __init__(self, session: Session, turn_id: str) -> None:
        self.id = turn_id
        self.session = session
        self.end: MessageComplete | None = None
        self._subscription = session.subscribe()

    async def batch(self) -> list[Event]:
        """Return the events that wait, at least one or the `end`. Call it again until `end` is set.

        Raises SlowReader when the reader fell so far behind that events are lost.
        """
        while self.end is None:
            try:
                events = await self._subscription.batch()
            except SlowReader as error:
                self._subscription = self.session.subscribe(error.cursor)
                if self._subscription.snapshot is not None:
                    raise
                continue
            if mine := self._mine(events):
                return mine
        return []

    def close(self) -> None:
        """Stop listening."""
        self._subscription.close()

    def _mine(self, events: list[Event]) -> list[Event]:
        mine: list[Event] = []
        for event in events:
            if event.turn_id == self.id:
                mine.append(event)
                if isinstance(event, MessageComplete) and event.agent_id == "main":
                    self.end = event
                    return mine
            elif isinstance(event, QueueChanged) and self.id in event.dropped:
                self.end = _gone("It was taken out of the session's queue.", "interrupted")
                return mine
            elif isinstance(event, SessionClosedEvent):
                break
        else:
            if events:
                return mine
        self.end = _gone("The session was closed.", "session_closed")
        return mine


def _gone(message: str, code: str) -> MessageComplete:
    return MessageComplete(status="interrupted", error=message, code=code, finish="interrupted")


class Turns:
    """Every turn that HTTP requests and runs have begun and that is not over."""

    def __init__(self) -> None:
        self._live: set[Turn] = set()

    @contextlib.asynccontextmanager
    async def begun(self, session: Session, submit: Submit) -> AsyncGenerator[Turn]:
        """Submit a turn and listen to it. When the block is left before the turn's end, the turn is interrupted and
        written down before this returns."""
        turn = Turn(session, submit.turn_id)
        self._live.add(turn)
        try:
            await session.dispatch(submit)
            yield turn
        finally:
            turn.close()
            self._live.discard(turn)
            if turn.end is None:
                with anyio.move_on_after(INTERRUPT_SECONDS, shield=True):
                    await interrupt(turn)

    async def interrupt_all(self) -> None:
        """Interrupt every turn, side by side; each tells its own end."""
        async with anyio.create_task_group() as tasks:
            for turn in list(self._live):
                tasks.start_soon(interrupt, turn)


async def interrupt(turn: Turn) -> None:
    """Stop a turn, or take it out of the queue; returns when it is over."""
    with contextlib.suppress(SessionClosed):
        await turn.session.dispatch(Interrupt(turn_id=turn.id))


async def decline(session: Session, event: Event, *, approvals: bool) -> None:
    """Answer a question that nobody can answer over HTTP at once; approvals only where `approvals` says so."""
    if not isinstance(event, ApprovalRequest | ClarifyRequest | SudoRequest | SecretRequest):
        return
    if isinstance(event, ApprovalRequest) and not approvals:
        return
    with contextlib.suppress(QuestionNotOpen):
        await session.dispatch(AnswerQuestion(event.question.id, _no(event.question)))


def _no(question: Question) -> Answer:
    match question:
        case Approval():
            return ApprovalAnswer("deny", reason="Nobody can be asked in this conversation over HTTP.")
        case Clarify():
            return ClarifyAnswer({})
        case Sudo():
            return SudoAnswer("")
        case Secret():
            return SecretAnswer("")
        case _:
            assert_never(question)
