"""The agenda of a session: the one turn that runs, and the follow-ups that wait for it.

Taking the running place is one step without an await, so two submits can never both begin. Work that changes the
transcript outside of a turn (rewind, compaction) takes the same place with `hold`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio
import msgspec
from anyio.abc import TaskGroup

from hermes_core.commands import BusyMode, Interrupt, InterruptReply, Submit, SubmitReply
from hermes_core.content import TextPart, text_of
from hermes_core.errors import HermesError, InvalidInput, SessionBusy
from hermes_core.events import (
    Event,
    MessageComplete,
    MessageStart,
    QueueChanged,
    SteerQueued,
    TranscriptCut,
    UserMessageAdded,
)
from hermes_core.messages import UserMessage
from hermes_core.session.cutting import count, place_of, survivors
from hermes_core.session.transcript import Transcript
from hermes_core.turn.loop import TurnLoop
from hermes_core.turn.turn import Turn, failed
from hermes_core.turn.workbench import Workbench

MAX_FOLLOW_UPS = 100
log = logging.getLogger(__name__)


class Agenda:
    """Runs the turns of one session, one at a time.

    `tasks` is the runtime's task group; `finished` is called after each turn's `message.complete`.
    """

    def __init__(
        self,
        bench: Workbench,
        publish: Callable[[Event], None],
        tasks: TaskGroup,
        finished: Callable[[Turn], None],
    ) -> None:
        self._bench = bench
        self._transcript: Transcript = bench.transcript
        self._publish = publish
        self._tasks = tasks
        self._finished = finished
        self._loop: TurnLoop | None = None
        self._queue: deque[Turn] = deque()
        self.turn: Turn | None = None
        self._held = False

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or other work holds its place."""
        return self.turn is not None or self._held

    @contextmanager
    def hold(self) -> Generator[None]:
        """Keep turns from beginning while the block runs; submits wait as follow-ups. Raises SessionBusy.

        The block must come to an end whatever happens: shield what cannot be left half done.
        """
        if self.busy:
            raise SessionBusy("A turn is running. Wait for it, or interrupt it.")
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self._next()

    @property
    def queue(self) -> tuple[str, ...]:
        """The texts of the follow-ups, oldest first."""
        return tuple(text_of(turn.command.parts) for turn in self._queue)

    @property
    def loop(self) -> TurnLoop | None:
        """The loop of the running turn, once it is at work."""
        return self._loop

    async def submit(self, command: Submit, busy: BusyMode) -> SubmitReply:
        """Begin a turn, or do what `busy` says while one runs; what was admitted before is only told again."""
        if command.key and (known := await self._known(command.key)) is not None:
            return known
        if command.cut is not None and self.busy:
            raise SessionBusy("A turn is running, so nothing can be cut. Wait for it, or interrupt it.")
        turn = Turn(command)
        running = self.turn
        if not self.busy:
            return await self._begin(turn)
        if running and busy == "steer" and _is_steer(command):
            self.steer(text_of(command.parts), follow_up=command)
            return SubmitReply("steered", turn_id=running.id)
        if len(self._queue) >= MAX_FOLLOW_UPS:
            raise InvalidInput(f"{MAX_FOLLOW_UPS} messages wait for this session already.")
        turn.queued = True
        self._queue.append(turn)
        self._tell_queue()
        if running and busy == "interrupt":
            running.interrupt()
        return SubmitReply("queued", turn_id=turn.id)

    def steer(self, text: str, *, follow_up: Submit | None = None) -> bool:
        """Give the running turn a text; False when none runs. `follow_up` is begun later if it cannot be delivered."""
        if self.turn is None:
            return False
        self.turn.steering.add(text, follow_up)
        self._publish(SteerQueued(text=text, turn_id=self.turn.id))
        return True

    async def interrupt(self, command: Interrupt) -> InterruptReply:
        """Stop the running turn and drop the follow-ups, or only the one turn that the command names."""
        running = self.turn
        if command.turn_id and (running is None or command.turn_id != running.id):
            return InterruptReply(self._drop([turn for turn in self._queue if turn.id == command.turn_id]))
        self._drop(list(self._queue) if not command.turn_id else [])
        if running is None:
            return InterruptReply(False)
        if not command.turn_id:
            running.steering.return_all()
        running.interrupt()
        await running.over.wait()
        return InterruptReply(True)

    async def _begin(self, turn: Turn) -> SubmitReply:
        self._start(turn)
        return await self._admitted(turn)

    async def _admitted(self, turn: Turn) -> SubmitReply:
        await turn.admitted.wait()
        if turn.failure is not None:
            raise turn.failure
        return SubmitReply("started", turn_id=turn.id, row_id=turn.row_id, survivors=turn.survivors)

    async def _known(self, key: str) -> SubmitReply | None:
        """Return what became of an earlier submit of this key, None when there was none."""
        row_id = await self._transcript.keyed(key)
        if self.turn is not None and self.turn.command.key == key:
            return msgspec.structs.replace(await self._admitted(self.turn), repeated=True)
        queued = next((turn for turn in self._queue if turn.command.key == key), None)
        if queued is not None:
            return SubmitReply("queued", turn_id=queued.id, repeated=True)
        return None if row_id is None else SubmitReply("started", row_id=row_id or None, repeated=True)

    def _start(self, turn: Turn) -> None:
        self._tasks.start_soon(self._run, turn)  # raises where the runtime is not open: then nothing runs
        self.turn = turn

    async def _run(self, turn: Turn) -> None:
        """Run one turn. Whatever happens, it is over afterwards and the next one can begin."""
        end: MessageComplete | None = None
        try:
            if await self._admit(turn):
                loop = self._loop = TurnLoop(self._bench, turn)
                with turn.scope:
                    end = await loop.run()
        finally:
            with anyio.CancelScope(shield=True):
                await self._end(turn, end)

    async def _admit(self, turn: Turn) -> bool:
        """Store the user row, also when an interrupt came at once: what was said is part of the history."""
        with anyio.CancelScope(shield=True):
            try:
                await self._store_user(turn)
            except HermesError as error:
                turn.failure = error
            except Exception as error:
                log.exception("turn %s could not be admitted", turn.id)
                turn.failure = HermesError(f"The message could not be stored ({type(error).__name__}).")
        if turn.failure is not None:
            turn.admitted.set()
            return False
        self._publish(UserMessageAdded(row_id=turn.row_id, parts=turn.command.parts, turn_id=turn.id))
        self._publish(MessageStart(turn_id=turn.id))
        turn.admitted.set()
        return True

    async def _store_user(self, turn: Turn) -> None:
        command, rows = turn.command, self._transcript.rows
        message = UserMessage(parts=command.parts)
        if command.cut is None:
            turn.row_id = (await self._transcript.add_user(message, key=command.key)).row_id
            return
        place = place_of(command.cut, rows)
        removed = count(rows[place:])
        turn.row_id = (await self._transcript.add_user(message, before=place, key=command.key)).row_id
        turn.survivors = survivors(self._transcript.rows)[:-1]
        self._publish(TranscriptCut(removed=removed, survivors=turn.survivors))

    async def _end(self, turn: Turn, end: MessageComplete | None) -> None:
        if turn.failure is None:
            self._publish(end or await (self._loop or TurnLoop(self._bench, turn)).stop())
        elif turn.queued or turn.steering.waits:
            # Nobody waits for the reply of a queued submit, or of a steer: this is the only place to say why.
            self._publish(failed(turn, turn.failure, None, 0))
        self._requeue(turn.steering.follow_ups())
        self.turn = self._loop = None
        self._finished(turn)
        turn.over.set()
        self._next()

    def _requeue(self, submits: list[Submit]) -> None:
        for submit in reversed(submits):
            turn = Turn(submit)
            turn.queued = True
            self._queue.appendleft(turn)

    def _next(self) -> None:
        if self._queue and not self.busy:
            turn = self._queue.popleft()
            self._tell_queue()
            self._start(turn)

    def _drop(self, turns: list[Turn]) -> bool:
        if not turns:
            return False
        for turn in turns:
            self._queue.remove(turn)
            turn.over.set()
        self._tell_queue(tuple(turn.id for turn in turns))
        return True

    def _tell_queue(self, dropped: tuple[str, ...] = ()) -> None:
        self._publish(QueueChanged(texts=self.queue, dropped=dropped))


def _is_steer(command: Submit) -> bool:
    """Say whether a submit can be given to the running turn: text only, and nothing that must be known again."""
    only_text = all(isinstance(part, TextPart) for part in command.parts)
    return only_text and not command.key and bool(text_of(command.parts))
