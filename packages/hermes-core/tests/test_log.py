"""The event log and its subscriptions: dense, complete, bounded, and no reader's burden on another."""

from __future__ import annotations

import anyio
import pytest
from hermes_core.content import ImagePart, TextPart
from hermes_core.events import (
    ApprovalRequest,
    Event,
    MessageComplete,
    MessageDelta,
    MessageInterim,
    MessageStart,
    QueueChanged,
    ReasoningDelta,
    SteerQueued,
    StepDone,
    ToolComplete,
    ToolProgress,
    ToolStart,
    UserMessageAdded,
)
from hermes_core.questions import Approval, FileChange
from hermes_core.session.log import KEPT_EVENTS, EventLog, weight_of
from hermes_core.session.subscription import MAX_BYTES, MAX_EVENTS, SlowReader, Subscription
from hermes_core.usage import Usage
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio


def delta(text: str, turn: str = "t") -> MessageDelta:
    return MessageDelta(text=text, turn_id=turn)


def listen(log: EventLog) -> Subscription:
    subscription = Subscription(None, log.epoch, log.seq, log.remove)
    log.add(subscription)
    return subscription


def covered(events: list[Event]) -> list[int]:
    """Every position that the events stand for."""
    return [seq for event in events for seq in range(event.seq - event.merged, event.seq + 1)]


async def read(subscription: Subscription) -> list[Event]:
    """Everything until the end."""
    return [event async for event in subscription]


@given(
    kinds=st.lists(st.sampled_from(["text", "thought", "progress", "start", "other turn"]), max_size=60),
    reads=st.lists(st.booleans(), max_size=60),
)
def test_a_reader_at_any_pace_gets_every_position_once_and_the_same_text(kinds: list[str], reads: list[bool]) -> None:
    async def scenario() -> None:
        log = EventLog("s")
        steady, slow = listen(log), listen(log)
        got: dict[str, list[Event]] = {"steady": [], "slow": []}
        for index, kind in enumerate(kinds):
            log.publish(made(kind, index))
            got["steady"] += await steady.batch()
            if index < len(reads) and reads[index]:
                got["slow"] += await slow.batch()
        log.close()
        got["slow"] += await read(slow)
        assert covered(got["steady"]) == covered(got["slow"]) == list(range(1, len(kinds) + 1))
        for kind in (MessageDelta, ReasoningDelta, ToolProgress):
            assert text(got["steady"], kind) == text(got["slow"], kind)

    anyio.run(scenario)


def made(kind: str, index: int) -> Event:
    match kind:
        case "text":
            return delta(f"a{index} ")
        case "thought":
            return ReasoningDelta(text=f"b{index} ", turn_id="t")
        case "progress":
            return ToolProgress(tool_call_id=str(index % 2), name="terminal", text=f"c{index} ", turn_id="t")
        case "start":
            return MessageStart(turn_id="t")
        case _:
            return delta(f"d{index} ", "another")


def text(events: list[Event], kind: type[MessageDelta | ReasoningDelta | ToolProgress]) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


async def test_adjacent_deltas_are_folded_for_a_reader_that_waits() -> None:
    log = EventLog("s")
    reader = listen(log)
    for piece in ("one ", "two ", "three"):
        log.publish(delta(piece))
    [event] = await reader.batch()
    assert isinstance(event, MessageDelta)
    assert (event.text, event.seq, event.merged) == ("one two three", 3, 2)


async def test_a_cursor_continues_where_the_reader_left() -> None:
    log = EventLog("s")
    reader = listen(log)
    log.publish(MessageStart())
    await reader.batch()
    cursor = reader.cursor
    reader.close()
    log.publish(delta("missed"))
    missed = log.since(cursor)
    assert missed is not None
    assert [event.seq for event in missed] == [2]
    assert log.since(log.cursor) == []


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "other:1", "{epoch}:", "{epoch}:-1", "{epoch}:99", "{epoch}:1.0", "{epoch}:²", "{epoch}:" + "9" * 5000],
)
async def test_a_cursor_that_cannot_be_continued_is_told_apart(cursor: str) -> None:
    log = EventLog("s")
    log.publish(MessageStart())
    assert log.since(cursor.format(epoch=log.epoch)) is None


async def test_what_is_kept_is_bounded_by_number() -> None:
    log = EventLog("s")
    first = log.cursor
    for _ in range(KEPT_EVENTS + 10):
        log.publish(MessageStart())
    assert log.since(first) is None
    kept = log.since(f"{log.epoch}:10")
    assert kept is not None
    assert len(kept) == KEPT_EVENTS


async def test_what_is_kept_is_bounded_by_size() -> None:
    log = EventLog("s")
    for _ in range(100):
        log.publish(delta("x" * 100_000))
    assert log.since(f"{log.epoch}:0") is None
    kept = log.since(f"{log.epoch}:90")
    assert kept is not None
    assert len(kept) == 10


async def test_a_reader_that_never_reads_is_dropped_and_harms_nobody() -> None:
    """HA-092 kind: one stalled viewer neither slows nor ends the other."""
    log = EventLog("s")
    stalled, steady = listen(log), listen(log)
    seen = 0
    for _ in range(MAX_EVENTS + 1):
        log.publish(MessageStart())
        seen += len(await steady.batch())
    assert seen == MAX_EVENTS + 1
    assert log.readers == 1
    with pytest.raises(SlowReader) as dropped:
        await stalled.batch()
    assert dropped.value.cursor == f"{log.epoch}:0"
    missed = log.since(dropped.value.cursor)
    assert missed is not None
    assert len(missed) == MAX_EVENTS + 1


async def test_what_comes_during_a_long_replay_drops_nobody() -> None:
    """HA-093 kind: a reader that returns for more than a queue holds is not dropped by the first event after it."""
    log = EventLog("s")
    first = log.cursor
    for _ in range(MAX_EVENTS + 100):
        log.publish(MessageStart())
    reader = Subscription(None, log.epoch, 0, log.remove)
    for event in log.since(first) or ():
        reader.push(event, 0)
    log.add(reader)
    for _ in range(10):
        log.publish(MessageStart())
    assert [event.seq for event in await reader.batch()] == list(range(1, MAX_EVENTS + 111))
    for _ in range(MAX_EVENTS + 1):
        log.publish(MessageStart())
    with pytest.raises(SlowReader):
        await reader.batch()


async def test_one_event_however_large_drops_no_reader_that_keeps_up() -> None:
    log = EventLog("s")
    reader = listen(log)
    large = FileChange("a", "x" * MAX_BYTES, "y" * MAX_BYTES)
    for _ in range(2):
        log.publish(
            ToolComplete(tool_call_id="1", name="n", args={}, result="", outcome="ok", duration=0.0, changes=(large,))
        )
        assert len(await reader.batch()) == 1


@pytest.mark.parametrize(
    "event",
    [
        UserMessageAdded(row_id=1, parts=(ImagePart("data:" + "x" * 100_000), TextPart("hi"))),
        MessageComplete(status="complete", text="x" * 100_000),
        MessageInterim(text="x" * 100_000, row_id=1),
        StepDone(step=1, row_id=1, usage=Usage(), reasoning="x" * 100_000),
        ToolStart(tool_call_id="1", name="n", args={"a": [{"b": "x" * 100_000}]}, label=""),
        QueueChanged(texts=("x" * 100_000,)),
        SteerQueued(text="x" * 100_000),
        ApprovalRequest(
            question=Approval(
                id="1",
                turn_id="t",
                tool="n",
                command="",
                description="",
                changes=(FileChange("a", None, "x" * 100_000),),
            )
        ),
    ],
    ids=lambda event: type(event).__name__,
)
async def test_whatever_an_event_holds_counts_for_the_bounds(event: Event) -> None:
    assert 100_000 < weight_of(event) < 101_000


async def test_a_closed_log_publishes_nothing() -> None:
    log = EventLog("s")
    reader = listen(log)
    log.publish(MessageStart())
    log.close()
    log.publish(MessageStart())
    assert [event.seq for event in await read(reader)] == [1]
    assert log.cursor == f"{log.epoch}:1"


async def test_a_closed_log_ends_its_readers_after_what_waits() -> None:
    log = EventLog("s")
    reader = listen(log)
    log.publish(MessageStart())
    log.close()
    assert [event.seq for event in await read(reader)] == [1]
    assert await listen(log).batch() == []


async def test_one_very_large_event_with_others_behind_it_drops_nobody() -> None:
    log = EventLog("s")
    reader = listen(log)
    log.publish(delta("x" * (9 * 1024 * 1024)))
    log.publish(MessageStart())
    log.publish(delta("y"))
    assert [event.seq for event in await reader.batch()] == [1, 2, 3]
