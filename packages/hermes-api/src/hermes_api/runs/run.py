"""One live run: its turn, its status, and its journal."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable

import anyio
from hermes_core.commands import AnswerQuestion, Steer, Submit
from hermes_core.errors import HermesError, QuestionNotOpen, SessionClosed, StoreError
from hermes_core.events import ApprovalRequest, Event, MessageComplete, MessageStart, QuestionClosed, SteerQueued
from hermes_core.questions import ApprovalAnswer, Choice
from hermes_core.session.session import Session

from hermes_api.encode.runs import RunEvent, RunEvents, payload
from hermes_api.errors import Refusals
from hermes_api.runs import state
from hermes_api.runs.archive import Archive
from hermes_api.runs.journal import Journal
from hermes_api.sessions import Asked, Sessions
from hermes_api.turns import Turn, Turns, decline, interrupt
from hermes_api.wire.runs import RunStatus

SAVE_SECONDS = 0.5
SAVE_FRAMES = 128
TOLD_SECONDS = 1.0
log = logging.getLogger(__name__)


class Run:
    """Does one turn in a session. `work` is its one task; everything else may be called while that runs."""

    def __init__(
        self, status: RunStatus, asked: Asked, submit: Submit, archive: Archive, refusals: Refusals, *, reasoning: bool
    ) -> None:
        self.status = status
        self.owner = asked.owner
        self.journal = Journal(status.run_id)
        self._asked = asked
        self._submit = submit
        self._archive = archive
        self._refusals = refusals
        self._events = RunEvents(reasoning=reasoning)
        self._turn: Turn | None = None
        self._approvals: dict[str, bytes] = {}
        self._scope = anyio.CancelScope()
        self._stopped = ""
        self._steered = 0

    # -- what clients do to it

    @property
    def approvals(self) -> list[str]:
        """The ids of the approvals that wait, oldest first."""
        return list(self._approvals)

    async def answer(self, request_id: str, choice: Choice) -> bool:
        """Answer one approval; False when it is not open. Raises AnswerNotOffered."""
        if self._turn is None or request_id not in self._approvals:
            return False
        try:
            await self._turn.session.dispatch(AnswerQuestion(request_id, ApprovalAnswer(choice)))
        except (QuestionNotOpen, SessionClosed):
            return False
        await self._until(lambda: request_id not in self._approvals)
        return True

    async def steer(self, text: str) -> bool:
        """Give the turn a text; False when it takes none."""
        turn = self._turn
        if turn is None or turn.session.turn_id != turn.id:
            return False
        expected = self._steered + 1
        with contextlib.suppress(SessionClosed):
            if (await turn.session.dispatch(Steer(text))).status == "queued":
                await self._until(lambda: self._steered >= expected)
                return True
        return False

    async def stop(self, reason: str = "interrupted_by_user") -> None:
        """Begin to stop; `work` ends the run when its turn has really ended."""
        if self.status.over or self.status.status == "stopping":
            return
        self._stopped = reason
        self.status = state.moved(self.status, "stopping")
        await self._archive.save(self.owner, self.status)

    async def interrupt(self) -> None:
        """Interrupt the turn, or keep it from beginning; returns when it is over."""
        if self._turn is None:
            self._scope.cancel()
        else:
            await interrupt(self._turn)

    async def _until(self, told: Callable[[], bool]) -> None:
        """Wait until `work` has taken an event, so that the status a client asks for next shows what it did."""
        with anyio.move_on_after(TOLD_SECONDS):
            while not told() and not self.journal.closed:
                await self.journal.changed()

    # -- its task

    async def work(self, sessions: Sessions, turns: Turns) -> None:
        """Do the turn, and tell its end in status and journal, whatever happens."""
        end = MessageComplete(status="interrupted", code="interrupted")
        try:
            with self._scope:
                async with sessions.opened(self._asked) as session, turns.begun(session, self._submit) as turn:
                    self._turn = turn
                    await self._follow(turn)
        except HermesError as error:
            end = MessageComplete(status="error", error=error.message, code=error.code)
        except Exception:
            log.exception("run %s failed", self.status.run_id)
            end = MessageComplete(status="error", code="internal")
        finally:
            self._turn = None
            if not self.status.over:
                await self._finish(end)

    async def _follow(self, turn: Turn) -> None:
        while turn.end is None:
            events: list[Event] = []
            if self.journal.unsaved:
                with anyio.move_on_after(SAVE_SECONDS):
                    events = await turn.batch()
            else:
                events = await turn.batch()
            for event in events:
                await self._take(event, turn.session)
            self.journal.tell()
            if self.journal.unsaved and (not events or self.journal.unsaved >= SAVE_FRAMES):
                await self._archive.save_journal(self.journal, self.status)
        await self._finish(turn.end)

    async def _take(self, event: Event, session: Session) -> None:
        """Write one event into status and journal: a change of state is stored before anyone is told."""
        await decline(session, event, approvals=False)
        if isinstance(event, MessageStart):
            await self._change(state.moved(self.status, "running"))
        told = self._events.encode(event)
        if told is None:
            return
        self._track(event, told)
        await self._change(state.noted(self.status, told, next(iter(self._approvals.values()), None)))
        self.journal.add(told)

    def _track(self, event: Event, told: RunEvent) -> None:
        if isinstance(event, ApprovalRequest):
            self._approvals[event.question.id] = payload(self.status.run_id, told)
        elif isinstance(event, QuestionClosed):
            self._approvals.pop(event.request_id, None)
        elif isinstance(event, SteerQueued):
            self._steered += 1

    async def _change(self, status: RunStatus) -> None:
        changed = status.status != self.status.status
        if self.status.over or (self.status.status == "stopping" and status.status != "stopping"):
            return  # stopped while we waited for the store
        self.status = status
        if changed:
            await self._archive.save(self.owner, status)

    async def _finish(self, end: MessageComplete) -> None:
        """Store how the run ended, then tell it. What is told is told even if the store fails."""
        self._approvals.clear()
        sentence = self._refusals.sentence(end.code, end.error) if end.status == "error" else ""
        self.status = state.ended(self.status, end, sentence, stopped=self._stopped)
        with anyio.CancelScope(shield=True):
            await self._keep(self._archive.save(self.owner, self.status))
            self.journal.add(state.last_event(self.status))
            await self._keep(self._archive.save_journal(self.journal, self.status))
        self.journal.close()

    async def _keep(self, saving: Awaitable[None]) -> None:
        try:
            await saving
        except StoreError:
            log.exception("run %s ended as %s and could not be stored", self.status.run_id, self.status.status)
