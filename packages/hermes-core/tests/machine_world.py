"""The world of the session machine: one session, readers at every pace, and the laws that hold for them."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Self

import anyio
from core_world import Bench, SayArgs
from faulty_store import FaultyStore
from hermes_core import ids
from hermes_core.commands import AnswerQuestion, Command, Submit, SubmitReply
from hermes_core.errors import InvalidInput, QuestionNotOpen, SessionError, StoreError
from hermes_core.events import (
    ApprovalRequest,
    ClarifyRequest,
    Event,
    MessageComplete,
    MessageDelta,
    MessageStart,
    QuestionClosed,
    QueueChanged,
    ReasoningDelta,
    SessionClosedEvent,
    SteerDelivered,
    SteerQueued,
    StepDone,
    ToolComplete,
    ToolProgress,
    ToolStart,
    TranscriptCut,
    UserMessageAdded,
)
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from hermes_core.questions import Approval, ApprovalAnswer, Clarify, ClarifyAnswer, ClarifyItem
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.session.subscription import Subscription
from hermes_core.testing import ScriptedModel
from hermes_core.tools.tool import Tool, ToolContext, ToolResult

PATIENCE = 20.0
"""Seconds after which a command that did not return counts as hung."""


class Reader:
    """A client: what it has read, and the text of the running step as it would show it."""

    def __init__(self, session: Session) -> None:
        self.subscription: Subscription = session.subscribe()
        self.events: list[Event] = []
        assert self.subscription.snapshot is not None
        self.position = int(self.subscription.cursor.partition(":")[2])
        inflight = self.subscription.snapshot.inflight
        self._text = inflight.text if inflight else ""
        self._step = self._text

    def read(self) -> None:
        """Read what waits, without waiting."""
        for event in self.subscription.take():
            assert event.seq - event.merged == self.position + 1, "a position is missing, or came twice"
            self.position = event.seq
            self.events.append(event)
            self._follow(event)

    def rejoin(self, session: Session) -> None:
        """Leave, and come back with the cursor."""
        cursor = self.subscription.cursor
        self.subscription.close()
        self.subscription = session.subscribe(cursor)
        assert self.subscription.snapshot is None, "what is kept could not be continued"

    def _follow(self, event: Event) -> None:
        match event:
            case MessageDelta():
                self._text += event.text
            case StepDone():
                self._step, self._text = self._text, ""
            case MessageComplete():
                shown = self._step if event.status == "complete" else self._text
                assert event.text == shown, "the end of a turn holds another text than was shown"
                self._step = self._text = ""
            case _:
                pass


class World:
    """One session of one runtime. Everything here runs in the event loop."""

    def __init__(self) -> None:
        self.store = FaultyStore()
        self.numbers = 0
        self.submits: dict[str, str] = {}
        """Turn id -> status, of the submits that were accepted to run in this life of the session."""
        self.texts: list[str] = []
        """Texts that were accepted as steering in this life."""
        self.asked: list[str] = []
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        home = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self.model = await self._stack.enter_async_context(ScriptedModel(()))
        self.bench = Bench(self.model, home, self.store)
        ask = Tool(name="ask", description="ask", args=SayArgs, run=self._ask, toolset="test", parallel=True)
        self.runtime = Runtime(self.bench.config, self.store, tools=[*self.bench.tools, ask])
        await self._stack.enter_async_context(self.runtime)
        self.session = await self.runtime.create(source="test")
        self._attach()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        await self._stack.__aexit__(*exc_info)

    def _attach(self) -> None:
        self.master = Reader(self.session)
        self.readers = [Reader(self.session), Reader(self.session)]
        self.submits, self.texts = {}, []

    async def _ask(self, args: SayArgs, context: ToolContext) -> ToolResult:
        about: dict[str, Any] = {
            "id": ids.request_id(),
            "turn_id": context.turn_id,
            "tool_call_id": context.tool_call_id,
        }
        question = (
            Clarify(**about, items=(ClarifyItem("it", "Which?"),))
            if args.text == "clarify"
            else Approval(**about, tool="ask", command="it", description="may it?", choices=("once", "deny"))
        )
        self.asked.append(question.id)
        answer = await context.ask(question)
        return ToolResult(f"answered {answer is not None}")

    # -- steps

    async def at_once(self, commands: list[tuple[int, Command]]) -> None:
        """Send commands side by side, each after so many rounds of the event loop."""
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for rounds, command in commands:
                    tasks.start_soon(self._send, rounds, command)
        self.check()

    async def _send(self, rounds: int, command: Command) -> None:
        await self.rounds(rounds)
        try:
            reply = await self.session.dispatch(command)
        except (SessionError, StoreError, InvalidInput):
            return
        if isinstance(command, Submit) and isinstance(reply, SubmitReply):
            if reply.status == "steered":
                self.texts.append(command.parts[0].text)  # pyright: ignore
            else:
                self.submits[reply.turn_id] = reply.status

    async def rounds(self, number: int) -> None:
        for _ in range(number):
            await anyio.lowlevel.checkpoint()

    async def answer(self, newest: bool) -> None:
        """Answer a question that was asked; one that is not open any more must say so."""
        if not self.asked:
            return
        chosen = self.asked[-1 if newest else 0]
        open_now = {question.id: question for question in self.session.snapshot().questions}
        given = ClarifyAnswer({"it": "yes"}) if isinstance(open_now.get(chosen), Clarify) else ApprovalAnswer("once")
        try:
            await self.session.dispatch(AnswerQuestion(chosen, given))
        except QuestionNotOpen:
            assert chosen not in open_now
        else:
            assert chosen in open_now
        self.check()

    async def reopen(self, rounds: int) -> None:
        """Close and resume at the same time, perhaps a little later; nothing of the old life may remain."""
        if not await self.store.summary(self.session.stored_id):
            return
        old, resumed = self.session, list[Session]()

        async def resume() -> None:
            await self.rounds(rounds)
            resumed.append(await self.runtime.resume(old.stored_id))

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.runtime.close_session, old, "test")
                await self.rounds(1)
                tasks.start_soon(resume)
        assert old.ended
        assert old.state == "idle"
        self.finished()
        assert isinstance(self.master.events[-1], SessionClosedEvent)
        assert resumed[0] is not old
        self.session = resumed[0]
        self._attach()
        self.check()

    async def settle_down(self) -> None:
        """Let everything come to its end: heal the store, open every gate, answer every question."""
        self.store.broken.clear()
        with anyio.fail_after(PATIENCE):
            while self.session.state != "idle" or self.session.snapshot().queue:
                for gate in ("gate", "other"):
                    self.bench.open(gate)
                self.model.release()
                for question in self.session.snapshot().questions:
                    given = ClarifyAnswer({}) if isinstance(question, Clarify) else ApprovalAnswer("deny")
                    await self.session.dispatch(AnswerQuestion(question.id, given))
                await self.rounds(5)
        self.check()
        self.finished()

    # -- laws

    def check(self) -> None:
        """What holds at every instant."""
        self.master.read()
        assert legal(self.session.transcript.messages)
        its = self.store._rows.get(self.session.stored_id)  # pyright: ignore
        stored = its.transcript if its else []
        assert list(self.session.rows) == stored, "the copy in memory is another than what is stored"
        users = [row.row_id for row in stored if isinstance(row.message, UserMessage)]
        cuts = [event for event in self.master.events if isinstance(event, TranscriptCut)]
        assert not cuts or list(cuts[-1].survivors) == users[: len(cuts[-1].survivors)], "survivors are others"
        snapshot = self.session.snapshot()
        assert (snapshot.state == "idle") == (snapshot.inflight is None)
        assert {question.id for question in snapshot.questions} <= open_of(self.master.events)
        assert self.model.violations == []

    def replays(self, part: float) -> None:
        """Events read again from any cursor are those that were read live."""
        self.master.read()
        events = self.master.events
        at = int(len(events) * part)
        position = events[at - 1].seq if at else 0
        again = self.session.subscribe(f"{self.session.log.epoch}:{position}")
        assert again.snapshot is None
        assert folded(again.take()) == folded(events[at:])
        again.close()

    def finished(self) -> None:
        """What holds when nothing runs any more, of everything since the session was opened."""
        for reader in (self.master, *self.readers):
            reader.read()
            assert reader.position == self.session.log.seq
        events = self.master.events
        ends = [event for event in events if isinstance(event, MessageComplete)]
        started = [event.turn_id for event in events if isinstance(event, MessageStart)]
        stored = [event.turn_id for event in events if isinstance(event, UserMessageAdded)]
        ended = Counter(event.turn_id for event in ends)
        dropped = [turn for event in events if isinstance(event, QueueChanged) for turn in event.dropped]
        assert started == stored
        assert all(ended[turn] == 1 for turn in started)
        assert all(event.code == "store" for event in ends if event.turn_id not in started)
        assert all(count == 1 for count in ended.values())
        for turn in self.submits:
            assert ended[turn] + dropped.count(turn) == 1, "a submit was accepted and came to no end, or to two"
        assert open_of(events) == set()
        begun = [event.tool_call_id + event.turn_id for event in events if isinstance(event, ToolStart)]
        done = [event.tool_call_id + event.turn_id for event in events if isinstance(event, ToolComplete)]
        assert Counter(begun) == Counter(done)
        self._steers_are_told_once(events, ends)

    def _steers_are_told_once(self, events: list[Event], ends: list[MessageComplete]) -> None:
        queued = [event.text for event in events if isinstance(event, SteerQueued)]
        assert set(self.texts) <= set(queued)
        told: list[str] = []
        for event in events:
            if isinstance(event, SteerDelivered):
                told += event.text.split("\n")
            elif isinstance(event, MessageComplete):
                told += event.pending_steer.split("\n") if event.pending_steer else []
            elif isinstance(event, UserMessageAdded):
                told += [part.text for part in event.parts if part.text in queued]  # pyright: ignore
        lost = Counter(queued) - Counter(told)
        # A submit that became a follow-up may be dropped, or fail to be stored, like every other follow-up.
        follow_ups = {event.turn_id for event in ends} | {
            turn for event in events if isinstance(event, QueueChanged) for turn in event.dropped
        }
        assert not Counter(told) - Counter(queued), "a steer was told twice"
        assert set(lost) <= set(self.texts)
        assert len(lost) <= len(follow_ups - set(self.submits))


def legal(messages: tuple[Message, ...]) -> bool:
    """Say whether directly after each assistant message come the results of its calls, and no other result."""
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, NoteMessage):
            continue
        if isinstance(message, ToolMessage):
            if not waiting or waiting.pop(0) != message.tool_call_id:
                return False
        elif waiting:
            return False
        elif isinstance(message, AssistantMessage):
            waiting = [call.id for call in message.tool_calls]
    return not waiting


def open_of(events: list[Event]) -> set[str]:
    """The questions that were asked and not closed; none is closed twice."""
    asked = [event.question.id for event in events if isinstance(event, ApprovalRequest | ClarifyRequest)]
    closed = [event.request_id for event in events if isinstance(event, QuestionClosed)]
    assert len(set(closed)) == len(closed)
    assert set(closed) <= set(asked)
    return set(asked) - set(closed)


def folded(events: list[Event]) -> list[tuple[Any, ...]]:
    """The events with adjacent deltas of one kind as one, which is all that the pace of a reader may change."""
    found: list[tuple[Any, ...]] = []
    for event in events:
        if not isinstance(event, MessageDelta | ReasoningDelta | ToolProgress):
            found.append((event.seq, event))
            continue
        kind = (type(event), event.turn_id, getattr(event, "tool_call_id", ""))
        if found and found[-1][1] == kind:
            found[-1] = (event.seq, kind, found[-1][2] + event.text)
        else:
            found.append((event.seq, kind, event.text))
    return found
