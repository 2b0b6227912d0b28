"""A live session: commands in, events out. Everything a transport does with a conversation goes through here."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never, cast

import anyio
from anyio.abc import TaskGroup

from hermes_core import ids
from hermes_core.commands import (
    AnswerApprovals,
    AnswerQuestion,
    AnswerReply,
    Asks,
    Branch,
    Command,
    Grants,
    Interrupt,
    Reply,
    Retry,
    Revoke,
    Rewind,
    SetEdits,
    SetModel,
    SetTitle,
    Steer,
    SteerReply,
    Submit,
    SubmitReply,
    Undo,
)
from hermes_core.commands.asks import ReplyT_co
from hermes_core.content import clean
from hermes_core.errors import HermesError, InvalidInput, SessionClosed
from hermes_core.events import SessionClosedEvent, SessionInfo, SessionState, TodoItem
from hermes_core.messages import Message, StoredMessage
from hermes_core.models.provider import Endpoint
from hermes_core.session.agenda import Agenda
from hermes_core.session.desk import QuestionDesk
from hermes_core.session.grants import SessionGrants
from hermes_core.session.history import History
from hermes_core.session.host import SessionHost
from hermes_core.session.log import EventLog
from hermes_core.session.preferences import Preferences
from hermes_core.session.settings import SessionSettings
from hermes_core.session.snapshot import Inflight, Snapshot
from hermes_core.session.subscription import Subscription
from hermes_core.session.toolbox import Toolbox
from hermes_core.session.transcript import Transcript
from hermes_core.shield import shielded
from hermes_core.store.protocol import SessionPatch, SessionRecord, Store
from hermes_core.turn.turn import Turn
from hermes_core.turn.workbench import Workbench
from hermes_core.usage import Usage

MAX_KEY = 256
"""Characters of the key of a submit."""
log = logging.getLogger(__name__)


class Session:
    """One live session of a runtime. Made by `Runtime.create` and `Runtime.resume`, ended by `close_session`."""

    def __init__(
        self,
        host: SessionHost,
        record: SessionRecord,
        *,
        store: Store,
        stored: bool,
        answerable: bool,
        usage: Usage,
        toolbox: Toolbox,
        tasks: TaskGroup,
    ) -> None:
        self.id = ids.runtime_session_id()
        self.settings = SessionSettings(store, record, stored=stored)
        self.toolbox = toolbox
        self.started_at = time.time()
        self.last_active = self.started_at
        self.usage = usage
        self.context_used = 0
        self.log = EventLog(self.id)
        self.desk = QuestionDesk(self.log.publish, answerable=answerable)
        self.transcript = Transcript(store, record.id, self.settings.ensure_stored)
        self.grants = SessionGrants(host.store)
        self._host = host
        self._closed = False
        self._ended = anyio.Event()
        self._preferences = Preferences(self.settings, lambda: host.models, self.log.publish, self._tell_info)
        self._bench = self._lay_bench(tasks)
        self._agenda = Agenda(self._bench, self.log.publish, tasks, self._turn_finished)
        self._history = History(store, self.settings, self.transcript, self._agenda, self.log.publish, self._submit)

    # -- what it is

    @property
    def record(self) -> SessionRecord:
        """Its settings as they are now."""
        return self.settings.record

    @property
    def stored_id(self) -> str:
        """The durable id."""
        return self.record.id

    @property
    def state(self) -> SessionState:
        """`waiting` while a question is open, `working` while a turn runs, else `idle`."""
        if self.desk.questions:
            return "waiting"
        return "working" if self._agenda.busy else "idle"

    @property
    def closed(self) -> bool:
        """Whether it is closed, or closing: it takes no commands."""
        return self._closed

    @property
    def ended(self) -> bool:
        """Whether closing it is over: it writes nothing more."""
        return self._ended.is_set()

    @property
    def rows(self) -> Sequence[StoredMessage]:
        """The transcript; do not change it."""
        return self.transcript.rows

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the last turn's model answered, None before the first."""
        return self._preferences.endpoint

    @property
    def context_max(self) -> int:
        """Tokens that the model can read, 0 while unknown."""
        return self.endpoint.context_length if self.endpoint else 0

    @property
    def todos(self) -> tuple[TodoItem, ...]:
        """The agent's plan."""
        return tuple(self._bench.todos)

    @property
    def turn_id(self) -> str:
        """The running turn, empty when idle."""
        return self._agenda.turn.id if self._agenda.turn else ""

    def snapshot(self) -> Snapshot:
        """Return the session as it is now, for a client that attaches."""
        return Snapshot(
            session_id=self.id,
            record=self.record,
            state=self.state,
            cursor=self.log.cursor,
            started_at=self.started_at,
            messages=tuple(self.rows),
            inflight=self._inflight(),
            questions=self.desk.questions,
            queue=self._agenda.queue,
            usage=self.usage,
            context_used=self.context_used,
            context_max=self.context_max,
        )

    def subscribe(self, cursor: str = "") -> Subscription:
        """Listen: a snapshot and the events after it, or the events after `cursor` when they are still kept.

        Close it, or use it as a context manager. It never holds up the session.
        """
        missed = self.log.since(cursor) if cursor else None
        snapshot = self.snapshot() if missed is None else None
        position = self.log.seq if missed is None else int(cursor.partition(":")[2])
        subscription = Subscription(snapshot, self.log.epoch, position, self.log.remove)
        for event in missed or ():
            subscription.push(event, 0)
        self.log.add(subscription)
        return subscription

    # -- what can be asked of it

    async def dispatch(self, command: Asks[ReplyT_co]) -> ReplyT_co:
        """Carry out `command`. Errors are those that the command names, and SessionClosed."""
        if self._closed:
            raise SessionClosed("This session is closed. Resume it to go on.")
        self.last_active = time.time()
        return cast("ReplyT_co", await self._carry_out(cast("Command", command)))

    async def close(self, reason: str) -> None:
        """End the live session: stop the turn, end its processes, mark the row ended. Its history stays.

        Called by `Runtime.close_session`. Calling it twice is harmless; each call returns when all is over.
        """
        if self._closed:
            await self._ended.wait()
            return
        self._closed = True
        await shielded(self._close(reason))

    # -- how it is done

    async def _carry_out(self, command: Command) -> Reply:
        match command:
            case Submit():
                return await self._submit(command)
            case Steer():
                return self._steer(command)
            case Interrupt():
                return await self._agenda.interrupt(command)
            case AnswerQuestion():
                self.desk.answer(command.request_id, command.answer)
                return AnswerReply(1)
            case AnswerApprovals():
                return AnswerReply(self.desk.answer_approvals(command.choice, every=command.all))
            case SetTitle() | SetModel() | SetEdits():
                return await self._preferences.dispatch(command)
            case Rewind() | Undo() | Retry() | Branch():
                return await self._history.dispatch(command)
            case Grants() | Revoke():
                return await self.grants.dispatch(command)
            case _:
                assert_never(command)

    async def _close(self, reason: str) -> None:
        try:
            await self._agenda.interrupt(Interrupt())
            self.desk.withdraw()
            await self._bench.processes.aclose()
            if self.settings.stored:
                await self.settings.change(SessionPatch(ended_at=time.time(), end_reason=reason))
        except HermesError as error:
            # Only the mark is missing: the history was stored as it came, and nothing holds the session open.
            log.error("the end of session %s could not be stored: %s", self.stored_id, error)
        finally:
            self.log.publish(SessionClosedEvent(reason=reason))
            self.log.close()
            self._ended.set()

    async def _submit(self, command: Submit) -> SubmitReply:
        if not command.parts:
            raise InvalidInput("The message is empty.", "parts")
        if len(command.key) > MAX_KEY:
            raise InvalidInput(f"The key of a submit is longer than {MAX_KEY} characters.", "key")
        return await self._agenda.submit(command, command.busy or self._host.config.display.busy_input_mode)

    def _steer(self, command: Steer) -> SteerReply:
        text = clean(command.text).strip()
        if not text:
            raise InvalidInput("The steering text is empty.", "text")
        return SteerReply("queued" if self._agenda.steer(text) else "rejected")

    def _turn_finished(self, turn: Turn) -> None:
        self.usage = self.usage + turn.usage
        self.context_used = turn.context_used or self.context_used
        self.last_active = time.time()
        self._tell_info()

    def _tell_info(self) -> None:
        self.log.publish(self._info())

    def _info(self) -> SessionInfo:
        endpoint = self.endpoint
        return SessionInfo(
            stored_id=self.stored_id,
            title=self.record.title,
            model=self.record.model or (endpoint.model if endpoint else ""),
            provider=self.record.provider or (endpoint.provider if endpoint else ""),
            cwd=self.record.cwd,
            state=self.state,
            usage=self.usage,
            context_used=self.context_used,
            context_max=self.context_max,
        )

    def _inflight(self) -> Inflight | None:
        turn = self._agenda.turn
        if turn is None:
            return None
        said = self._agenda.loop.partial if self._agenda.loop else None
        return Inflight(turn.id, turn.command.parts, said.text if said else "", said.reasoning if said else "")

    def _lay_bench(self, tasks: TaskGroup) -> Workbench:
        from hermes_core.tools.processes import BackgroundProcesses
        from hermes_core.tools.seen import SeenFiles

        host = self._host
        config = host.config
        return Workbench(
            stored_id=self.record.id,
            cwd=Path(self.record.cwd or config.terminal.cwd or Path.cwd()),
            home=config.home,
            transcript=self.transcript,
            publish=self.log.publish,
            ask=self.desk.ask,
            answerable=lambda: self.desk.answerable,
            models=host.models,
            model=lambda: (self.record.model, self.record.provider),
            reasoning_effort=lambda: self.record.reasoning_effort,
            edits=lambda: self.record.edits,
            resolved=self._preferences.resolved,
            tools=self.toolbox.offered,
            policy=host.policy,
            grants=self.grants,
            env=host.child_env,
            mask=host.mask,
            secret_begun=host.secret_begun,
            files=SeenFiles(),
            processes=BackgroundProcesses(tasks),
            todos=[],
            data={},
            max_steps=config.agent.max_turns,
            approval_timeout=config.approvals.timeout,
        )

    def seed(self, messages: Sequence[Message]) -> None:
        """Begin the conversation with these messages; they are stored with the first turn."""
        self.transcript.seed(messages)
