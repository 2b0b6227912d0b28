"""Closing and resuming at any moment: all is written down, everybody is told, and nobody gets a half-closed session."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from core_world import MakeBench
from faulty_store import FaultyStore
from hermes_core.commands import Interrupt, SetTitle, Submit
from hermes_core.content import ImagePart, TextPart
from hermes_core.errors import SessionClosed, SessionNotFound, StoreError
from hermes_core.events import Event, MessageComplete, QueueChanged, SessionClosedEvent, SessionInfo
from hermes_core.session.session import Session
from hermes_core.store.memory import MemoryStore
from hermes_core.store.protocol import SessionRecord
from hermes_core.testing import Stall, answer, call
from session_steps import end_of, prompt, roles, turn

pytestmark = pytest.mark.anyio


async def read(session: Session, into: list[Event]) -> None:
    with session.subscribe() as subscription:
        into += [event async for event in subscription]


@pytest.mark.parametrize("error", [StoreError("the disk is full"), SessionNotFound("deleted meanwhile")])
async def test_a_close_that_cannot_be_stored_still_closes_and_tells(bench: MakeBench, error: Exception) -> None:
    """DECISIONS rule 21: a session that one client closes tells its other subscribers."""
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await turn(session, "hi")
        store.broken["update_session"] = error
        seen: list[Event] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, session, seen)
            await anyio.wait_all_tasks_blocked()
            await runtime.close_session(session, "test")
        assert [type(event) for event in seen] == [SessionClosedEvent]
        assert session.id not in runtime.sessions
        store.broken.clear()
        again = await runtime.resume(session.stored_id)
        assert end_of(await turn(again, "hi")).status == "complete"


async def test_a_runtime_ends_all_it_owns_when_one_session_cannot_be_closed(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Watched(MemoryStore):
        closed = False

        async def close(self) -> None:
            self.closed = True

    store = Watched()
    async with bench(answer(call("hold")), store=store) as world:
        async with world.runtime() as runtime:
            odd = await runtime.create(source="test")
            busy = await runtime.create(source="test")
            await busy.dispatch(prompt("hi"))
            await world.held()

            async def fail() -> None:
                raise OSError("boom")

            monkeypatch.setattr(odd._bench.processes, "aclose", fail)  # pyright: ignore
        assert store.closed
        rows = await store.messages(busy.stored_id)
        assert [getattr(row.message, "outcome", "") for row in rows] == ["", "", "interrupted"]


async def test_a_close_whose_caller_is_gone_is_carried_to_its_end(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await turn(session, "hi")
        gate = store.hold("update_session")
        seen: list[Event] = []
        async with anyio.create_task_group() as listening:
            listening.start_soon(read, session, seen)
            async with anyio.create_task_group() as client:
                client.start_soon(runtime.close_session, session, "test")
                await store.reached["update_session"].wait()
                client.cancel_scope.cancel()
                gate.set()
        assert [type(event) for event in seen] == [SessionClosedEvent]
        assert session.id not in runtime.sessions


async def test_two_closes_at_once_both_return_when_it_is_over(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await turn(session, "hi")
        gate = store.hold("update_session")
        reached = store.reached["update_session"]
        returned: list[str] = []

        async def close(reason: str) -> None:
            await runtime.close_session(session, reason)
            returned.append(reason)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(close, "first")
            await reached.wait()
            tasks.start_soon(close, "second")
            await anyio.wait_all_tasks_blocked()
            assert returned == []
            gate.set()
        assert sorted(returned) == ["first", "second"]
        record = await store.session(session.stored_id)
        assert record is not None
        assert record.end_reason == "first"


async def test_a_resume_while_it_is_being_closed_waits_and_gets_a_session_that_works(bench: MakeBench) -> None:
    """HA-009 kind: there is never a second writer beside the last rows of the first."""
    store = FaultyStore()
    async with bench(answer(call("hold")), answer("next"), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("hi"))
        await world.held()
        gate = store.hold("settle")
        resumed: list[Session] = []

        async def resume() -> None:
            resumed.append(await runtime.resume(session.stored_id))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.close_session, session, "test")
            await store.reached["settle"].wait()
            assert runtime.find(session.stored_id) is None
            tasks.start_soon(resume)
            tasks.start_soon(resume)
            await anyio.wait_all_tasks_blocked()
            assert resumed == []
            gate.set()
        assert resumed[0] is resumed[1]
        assert resumed[0] is not session
        assert list(resumed[0].transcript.messages) == [m.message for m in await store.messages(session.stored_id)]
        record = await store.session(session.stored_id)
        assert record is not None
        assert record.ended_at == 0.0
        assert end_of(await turn(resumed[0], "again")).text == "next"


async def test_a_session_whose_history_cannot_be_read_is_not_live(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(answer("one"), answer("two"), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await turn(session, "first")
        await runtime.close_session(session, "test")
        store.broken["messages"] = StoreError("the disk is sick")
        with pytest.raises(StoreError):
            await runtime.resume(session.stored_id)
        assert dict(runtime.sessions) == {}
        store.broken.clear()
        again = await runtime.resume(session.stored_id)
        assert roles(again.transcript.messages) == ["user", "assistant"]


async def test_a_session_is_not_seen_before_its_history_is_there(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await turn(session, "first")
        await runtime.close_session(session, "test")
        gate = store.hold("messages")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.resume, session.stored_id)
            await store.reached["messages"].wait()
            assert runtime.find(session.stored_id) is None
            assert dict(runtime.sessions) == {}
            gate.set()
        found = runtime.find(session.stored_id)
        assert found is not None
        assert len(found.rows) == 2


async def test_a_resume_by_another_owner_opens_nothing_and_changes_nothing(bench: MakeBench) -> None:
    """DECISIONS rule 19."""
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test", owner="anna")
        await turn(session, "first")
        await runtime.close_session(session, "test")
        before = await world.store.session(session.stored_id)
        with pytest.raises(SessionNotFound):
            await runtime.resume(session.stored_id, owner="bert")
        assert dict(runtime.sessions) == {}
        assert await world.store.session(session.stored_id) == before
        assert (await runtime.resume(session.stored_id, owner="anna")).stored_id == session.stored_id


async def test_closing_during_admission_answers_the_submit_and_ends_its_turn(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        gate = store.hold("append")
        replies: list[Any] = []
        seen: list[Event] = []

        async def submit() -> None:
            replies.append(await session.dispatch(prompt("hi")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, session, seen)
            tasks.start_soon(submit)
            await store.reached["append"].wait()
            tasks.start_soon(runtime.close_session, session, "test")
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(SessionClosed):
                await session.dispatch(prompt("too late"))
            gate.set()
        [end] = [event for event in seen if isinstance(event, MessageComplete)]
        assert (replies[0].status, replies[0].turn_id, end.status) == ("started", end.turn_id, "interrupted")
        assert isinstance(seen[-1], SessionClosedEvent)
        assert [row.row_id for row in await store.messages(session.stored_id)] == [replies[0].row_id]


async def test_nothing_is_told_after_a_session_was_closed(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await turn(session, "hi")
        gate = store.hold("update_session")
        seen: list[Event] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, session, seen)
            tasks.start_soon(session.dispatch, SetTitle("Late"))
            await store.reached["update_session"].wait()
            del store.gates["update_session"]
            await runtime.close_session(session, "test")
            gate.set()
        assert isinstance(seen[-1], SessionClosedEvent)
        record = await store.session(session.stored_id)
        assert record is not None
        assert record.title == "Late"


async def test_a_runtime_that_is_shutting_down_opens_no_session(bench: MakeBench) -> None:
    async with bench(answer(call("hold"))) as world:
        store = world.store = FaultyStore()
        async with world.runtime() as runtime:
            session = await runtime.create(source="test")
            await session.dispatch(prompt("hi"))
            await world.held()
            gate = store.hold("settle")

            async def late() -> None:
                await store.reached["settle"].wait()
                with pytest.raises(SessionClosed):
                    await runtime.create(source="test")
                with pytest.raises((SessionClosed, SessionNotFound)):
                    await runtime.resume("20200101_000000_abcdef")
                gate.set()

            runtime._tasks.start_soon(late)  # pyright: ignore
        assert session.closed


async def test_a_title_whose_caller_is_gone_leaves_a_session_that_can_be_used(bench: MakeBench) -> None:
    """The row may be there although nobody waits for it: the first submit must not try to make it again."""
    store = FaultyStore()
    async with bench(answer("Hello"), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        gate = store.hold("create_session")
        async with anyio.create_task_group() as client:
            client.start_soon(session.dispatch, SetTitle("A title"))
            await store.reached["create_session"].wait()
            client.cancel_scope.cancel()
            gate.set()
        assert end_of(await turn(session, "hi")).text == "Hello"


# -- what waits as steering when a turn is stopped -----------------------------------------------


async def test_a_submit_that_waits_as_steering_comes_back_as_text_from_an_interrupt(bench: MakeBench) -> None:
    async with bench(answer(call("hold")), answer("next")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("1"))
        await world.held()
        await session.dispatch(prompt("2", "steer"))
        with session.subscribe() as events:
            await session.dispatch(Interrupt())
            seen: list[Event] = []
            async for event in events:
                seen.append(event)
                if isinstance(event, SessionInfo):
                    break
        assert (end_of(seen).status, end_of(seen).pending_steer) == ("interrupted", "2")
        assert (session.state, session.snapshot().queue) == ("idle", ())
        assert end_of(await turn(session, "3")).text == "next"


async def test_closing_begins_no_submit_that_waits_as_steering(bench: MakeBench) -> None:
    async with bench(answer(call("hold")), answer(Stall(), "never")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("1"))
        await world.held()
        await session.dispatch(prompt("2", "steer"))
        await session.dispatch(prompt("3"))
        seen: list[Event] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, session, seen)
            await anyio.wait_all_tasks_blocked()
            await runtime.close_session(session, "test")
        assert [len(event.dropped) for event in seen if isinstance(event, QueueChanged)] == [1]
        assert isinstance(seen[-1], SessionClosedEvent)
        await anyio.wait_all_tasks_blocked()
        assert len(world.model.requests) == 1
        assert roles(tuple(row.message for row in await world.store.messages(session.stored_id)))[-1] == "tool"


async def test_a_submit_with_an_image_is_never_steering(bench: MakeBench) -> None:
    """A tool result cannot carry the image, and it must not be lost."""
    async with bench(answer(call("hold")), answer("one"), answer("two")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("1"))
        await world.held()
        image = ImagePart("data:image/png;base64,iVBORw0KGgo=")
        reply = await session.dispatch(Submit(parts=(TextPart("look"), image), busy="steer"))
        assert reply.status == "queued"
        with session.subscribe() as events:
            world.open()
            async for event in events:
                if isinstance(event, MessageComplete) and event.turn_id == reply.turn_id:
                    break
        assert "iVBORw0KGgo" in str(world.model.requests[-1]["messages"][-1])


async def test_a_record_with_an_id_that_is_taken_refuses_the_submit_and_leaves_nothing_working(
    bench: MakeBench,
) -> None:
    async with bench() as world, world.runtime() as runtime:
        await world.store.create_session(SessionRecord(id="taken", source="test"))
        session = await runtime.create(source="test", stored_id="taken")
        with pytest.raises(StoreError):
            await session.dispatch(prompt("hi"))
        await anyio.wait_all_tasks_blocked()
        assert session.state == "idle"
