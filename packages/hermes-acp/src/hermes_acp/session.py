"""One session as its client sees it: its events go out in their order, and every prompt is answered once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from anyio.abc import TaskGroup
from hermes_core import ids
from hermes_core.commands import EditMode, Interrupt, SetEdits, SetModel, Submit
from hermes_core.content import Part
from hermes_core.errors import SessionClosed
from hermes_core.events import (
    ApprovalRequest,
    ClarifyRequest,
    Event,
    MessageComplete,
    QuestionClosed,
    QueueChanged,
    SecretRequest,
    SessionInfo,
    StepDone,
    SudoRequest,
    UserMessageAdded,
)
from hermes_core.messages import AssistantMessage, UserMessage
from hermes_core.session.subscription import SlowReader

from hermes_acp import slash
from hermes_acp.chunks import said
from hermes_acp.connection import Call, Connection
from hermes_acp.decode import slash_command
from hermes_acp.encode import Encoder, last_stop_reason, prompt_usage, stop_reason
from hermes_acp.errors import failure
from hermes_acp.permissions import Permissions
from hermes_acp.replay import replayed
from hermes_acp.settings import Settings, model_id
from hermes_acp.wire.results import PromptResult
from hermes_acp.wire.updates import AvailableCommandsUpdate, ConfigOptionUpdate, CurrentModeUpdate, Update

if TYPE_CHECKING:
    from hermes_core.messages import StoredMessage
    from hermes_core.session.session import Session
    from hermes_core.session.snapshot import Inflight, Snapshot
    from hermes_core.tools.tool import Tool


class AcpSession:
    """A live session of the core and the client that attached to it.

    `models` are those to choose from, the one in use when nothing was chosen first. `pump` is to be run by the
    connection's task group for the life of the session, so that also what happens between turns is told.
    """

    def __init__(
        self,
        session: Session,
        connection: Connection,
        tasks: TaskGroup,
        *,
        models: tuple[str, ...],
        tools: Mapping[str, Tool[Any]],
        notices: bool,
    ) -> None:
        self.session = session
        self.id = session.stored_id
        self.over = anyio.Event()
        self._connection = connection
        self._models = models
        self._tools = tools
        self._encoder = Encoder(notices=notices)
        self._permissions = Permissions(session, connection, tasks)
        self._subscription = session.subscribe()
        self._prompts: dict[str, Call] = {}
        self._ended: list[MessageComplete] = []
        self._last_row = 0
        self._told = self.settings

    # -- settings

    @property
    def settings(self) -> Settings:
        """The session's settings as they are now."""
        record = self.session.record
        current = model_id(record.provider, record.model) if record.model else self._models[0]
        return Settings(record.edits, current, tuple(dict.fromkeys((current, *self._models))))

    async def set_edits(self, mode: EditMode) -> None:
        """Change how edits are approved."""
        await self.session.dispatch(SetEdits(mode))

    async def set_model(self, model: str) -> None:
        """Use another model from the next turn on."""
        await self.session.dispatch(SetModel(model))

    def tell_settings(self) -> None:
        """Tell the client of settings that are not those it was told last."""
        settings, told = self.settings, self._told
        if settings != told:
            self._told = settings
            self._send(ConfigOptionUpdate(config_options=settings.options()))
        if settings.edits != told.edits:
            self._send(CurrentModeUpdate(current_mode_id=settings.modes().current_mode_id))

    def greet(self) -> None:
        """Tell what a client wants to know once it knows the session's id."""
        self._send(AvailableCommandsUpdate(available_commands=slash.available()))
        self._send_all(self._encoder.usage(self.session.context_used, self.session.context_max))

    def replay(self) -> None:
        """Tell the whole conversation, after whatever is still to be told. It goes out in one piece."""
        for event in self._subscription.take():
            self._tell(event)
        self._answer_ended()
        snapshot = self.session.snapshot()
        self._encoder.new_answer()
        self._tell_rows(snapshot.messages)
        self._tell_inflight(snapshot.inflight)

    # -- prompts

    async def prompt(self, call: Call, parts: tuple[Part, ...]) -> None:
        """Begin a turn, or queue it behind the one that runs. `call` is answered when it is over."""
        if not parts:
            call.reply(PromptResult(stop_reason="end_turn"))
            return
        typed = slash_command(parts)
        command = slash.COMMANDS.get(typed.name) if typed else None
        if typed and command:
            self._send_all(said(await command.answer(self.session, self.settings, typed.argument)))
            self.tell_settings()
            call.reply(PromptResult(stop_reason="end_turn"))
            return
        turn = ids.turn_id()
        self._prompts[turn] = call
        call.interrupt = partial(self.interrupt, turn)
        try:
            await self.session.dispatch(Submit(parts=parts, busy="queue", turn_id=turn))
        except BaseException:
            self._prompts.pop(turn, None)
            raise

    async def interrupt(self, turn: str = "") -> None:
        """Stop the running turn and drop what is queued, or only the one turn. Nothing to stop is no error."""
        try:
            await self.session.dispatch(Interrupt(turn))
        except SessionClosed:
            return

    # -- events

    async def pump(self) -> None:
        """Tell the client of everything that happens, until the session is closed."""
        try:
            while events := await self._batch():
                for event in events:
                    self._tell(event)
                self._answer_ended()
                await self._connection.drain()
        finally:
            self._answer_rest()
            self._subscription.close()
            self.over.set()

    async def _batch(self) -> list[Event]:
        while True:
            try:
                return await self._subscription.batch()
            except SlowReader as slow:
                self._subscription = self.session.subscribe(slow.cursor)
                if self._subscription.snapshot is not None:
                    self._catch_up(self._subscription.snapshot)

    def _tell(self, event: Event) -> None:
        """Send the updates of one event, then do what it means for the prompts and questions of this client."""
        if not (isinstance(event, UserMessageAdded) and event.turn_id in self._prompts):
            self._send_all(self._encoder.updates(event))
        match event:
            case UserMessageAdded() | StepDone():
                self._last_row = max(self._last_row, event.row_id)
            case ApprovalRequest() | ClarifyRequest() | SudoRequest() | SecretRequest():
                self._permissions.ask(event.question)
            case QuestionClosed():
                self._permissions.closed(event)
            case QueueChanged():
                for turn in event.dropped:
                    self._answer(turn, PromptResult(stop_reason="cancelled"))
            case MessageComplete():
                self._last_row = max(self._last_row, event.row_id)
                self._ended.append(event)
            case SessionInfo():
                self.tell_settings()
                self._answer_ended()
            case _:
                pass

    def _answer_ended(self) -> None:
        """Answer the prompts whose turns are over: after their last update, and after the totals that follow it."""
        for end in self._ended:
            reason = stop_reason(end)
            call = self._prompts.pop(end.turn_id, None)
            if call is None:
                continue
            if reason is None:
                call.fail(failure(end.error, end.code))
            else:
                call.reply(PromptResult(stop_reason=reason, usage=prompt_usage(end.usage)))
        self._ended.clear()

    def _answer(self, turn: str, result: PromptResult) -> None:
        call = self._prompts.pop(turn, None)
        if call is not None:
            call.reply(result)

    def _answer_rest(self) -> None:
        for turn in list(self._prompts):
            self._answer(turn, PromptResult(stop_reason="cancelled"))

    # -- what is told from the transcript

    def _catch_up(self, snapshot: Snapshot) -> None:
        """Go on after events were lost to a client that did not read: tell the rest, answer the prompts that are over.

        What the client itself said is left out, and of the answer that was broken off only the rest is told.
        """
        rows = [row for row in snapshot.messages if row.row_id > self._last_row]
        self._tell_rows([self._untold(row) for row in rows if not isinstance(row.message, UserMessage)])
        self._tell_inflight(snapshot.inflight)
        over = [turn for turn in self._prompts if self.session.state == "idle" or not self._is_ahead(turn)]
        for turn in over:
            self._answer(turn, PromptResult(stop_reason=last_stop_reason(snapshot.messages)))
        for question in snapshot.questions:
            self._permissions.ask(question)

    def _is_ahead(self, turn: str) -> bool:
        """Say whether a prompt of ours is still to be worked on: prompts are in the order of their turns."""
        turns = list(self._prompts)
        running = self.session.turn_id
        return running not in turns or turns.index(turn) >= turns.index(running)

    def _untold(self, row: StoredMessage) -> StoredMessage:
        """Return a row without what was told of it while it was written: only the first answer can have been."""
        message, encoder = row.message, self._encoder
        if not isinstance(message, AssistantMessage):
            return row
        rest = msgspec.structs.replace(
            message,
            text=message.text[encoder.told_text :],
            reasoning=message.reasoning[encoder.told_reasoning :],
        )
        encoder.new_answer()
        return msgspec.structs.replace(row, message=rest)

    def _tell_rows(self, rows: Sequence[StoredMessage]) -> None:
        running = bool(self.session.turn_id)
        self._send_all(replayed(rows, self._tools, self.session.record.cwd, running=running))
        if rows:
            self._last_row = max(self._last_row, rows[-1].row_id)

    def _tell_inflight(self, inflight: Inflight | None) -> None:
        if inflight is not None:
            encoder = self._encoder
            self._send_all(encoder.thought(inflight.reasoning[encoder.told_reasoning :]))
            self._send_all(encoder.said(inflight.text[encoder.told_text :]))

    def _send(self, update: Update) -> None:
        self._connection.update(self.id, update)

    def _send_all(self, updates: Iterable[Update]) -> None:
        for update in updates:
            self._connection.update(self.id, update)
