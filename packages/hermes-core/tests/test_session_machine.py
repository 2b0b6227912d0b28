"""A session under everything that clients can do at any moment, and a store that fails now and then.

The laws are in `machine_world`: the transcript is legal and stored at every instant, every reader sees every event
once, a replay tells what was told live, a turn that began ends once, a question is closed once, a steer is told once,
and a session that is let go comes to rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

from anyio.from_thread import start_blocking_portal
from hermes_core.commands import (
    Branch,
    BusyMode,
    Command,
    Cut,
    Interrupt,
    Retry,
    Rewind,
    SetTitle,
    Steer,
    Submit,
    Undo,
)
from hermes_core.content import TextPart
from hermes_core.errors import StoreError
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from machine_world import World

TURNS = (
    "[[echo hello]]",
    "[[think n=2 size=4]] [[text n=6 size=4]]",
    '[[echo Hm.]] [[call say {"text": "a"}]] [[call say {"text": "b"}]] [[echo done]]',
    '[[call hold {}]] [[call say {"text": "c"}]] [[call hold {"gate": "other"}]] [[echo done]]',
    '[[call hold_too {}]] [[call hold_too {"gate": "other"}]] [[echo done]]',
    '[[call ask {"text": "clarify"}]] [[call ask {}]] [[echo thanks]]',
    '[[call fail {}]] [[call nothing {}]] [[call say {"text": 7}]] [[echo sorry]]',
    "[[echo Hel]] [[stall]] [[echo lo]]",
    "[[text n=3 size=4]] [[cut]]",
    "[[status 401 no]]",
)
submits = st.tuples(st.just("submit"), st.sampled_from(TURNS), st.sampled_from(["queue", "steer", "interrupt"]))
others = st.sampled_from([("steer",), ("interrupt",), ("interrupt", "running"), ("interrupt", "queued"), ("title",)])
history = st.sampled_from([("rewind",), ("undo",), ("retry",), ("branch",), ("cut",)])
commands = st.tuples(st.integers(0, 12), submits | others | history)


class SessionMachine(RuleBasedStateMachine):
    """Rules send commands and move readers; the world checks its laws after each."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0
        """Commands since the session was opened. (Nothing that depends on time may choose a rule.)"""
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal("asyncio"))
        self.world = self._stack.enter_context(self._portal.wrap_async_context_manager(World()))

    def run(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
        self._portal.call(function, *arguments)

    async def now(self, function: Callable[..., None], *arguments: Any) -> None:
        function(*arguments)

    def command(self, drawn: tuple[str, ...]) -> Command:
        world = self.world
        world.numbers += 1
        match drawn:
            case ("submit", text, busy):
                mode: BusyMode = "queue" if busy == "queue" else "steer" if busy == "steer" else "interrupt"
                return Submit(parts=(TextPart(f"{world.numbers} {text}"),), busy=mode)
            case ("steer",):
                return Steer(f"{world.numbers} to the left")
            case ("interrupt", "running"):
                return Interrupt(world.session.turn_id or "none")
            case ("interrupt", "queued"):
                queued = [turn for turn, status in world.submits.items() if status == "queued"]
                return Interrupt(queued[-1] if queued else "none")
            case ("interrupt",):
                return Interrupt()
            case ("rewind",):
                return Rewind(Cut(ordinal=1))
            case ("undo",):
                return Undo()
            case ("retry",):
                return Retry()
            case ("branch",):
                return Branch()
            case ("cut",):
                cut = Cut(ordinal=world.numbers % 3, allow_empty=True)
                return Submit(parts=(TextPart(f"{world.numbers} [[echo cut]]"),), cut=cut)
            case _:
                return SetTitle(f"Title {world.numbers}")

    @initialize(first=submits)
    def begin(self, first: tuple[str, ...]) -> None:
        self.run(self.world.at_once, [(0, self.command(first))])

    @rule(drawn=st.lists(commands, min_size=1, max_size=3))
    def send(self, drawn: list[tuple[int, tuple[str, ...]]]) -> None:
        self.sent += len(drawn)
        self.run(self.world.at_once, [(rounds, self.command(what)) for rounds, what in drawn])

    @rule(newest=st.booleans())
    def answer(self, newest: bool) -> None:
        self.run(self.world.answer, newest)

    @rule(gate=st.sampled_from(["gate", "other"]))
    def open(self, gate: str) -> None:
        self.run(self.now, self.world.bench.open, gate)

    @rule()
    def release(self) -> None:
        self.run(self.now, self.world.model.release)

    @rule(rounds=st.integers(1, 60))
    def wait(self, rounds: int) -> None:
        self.run(self.world.rounds, rounds)
        self.run(self.now, self.world.check)

    @rule(which=st.integers(0, 1))
    def read(self, which: int) -> None:
        self.run(self.now, self.world.readers[which].read)

    @rule(which=st.integers(0, 1))
    def rejoin(self, which: int) -> None:
        self.run(self.now, self.world.readers[which].rejoin, self.world.session)

    @rule(part=st.floats(0, 1))
    def replay(self, part: float) -> None:
        self.run(self.now, self.world.replays, part)

    @rule(method=st.sampled_from(["append", "settle", "update_session", "replace", "branch"]))
    def break_store(self, method: str) -> None:
        self.world.store.broken[method] = StoreError("the disk is full")

    @rule()
    def heal_store(self) -> None:
        self.world.store.broken.clear()

    @precondition(lambda self: self.sent > 3)
    @rule(rounds=st.integers(0, 12))
    def reopen(self, rounds: int) -> None:
        self.sent = 0
        self.heal_store()
        self.run(self.world.reopen, rounds)

    def teardown(self) -> None:
        with self._stack:
            self.run(self.world.settle_down)


TestSessionMachine = SessionMachine.TestCase
TestSessionMachine.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
