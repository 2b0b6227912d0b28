"""A turn from submit to end: what is told, what is stored, and what the model gets to read."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from core_world import MakeBench
from hermes_core.commands import SetTitle, Submit
from hermes_core.content import TextPart
from hermes_core.errors import InvalidInput, SessionClosed, SessionNotFound
from hermes_core.events import (
    Event,
    MessageDelta,
    MessageInterim,
    MessageStart,
    ReasoningDelta,
    SessionInfo,
    StatusUpdate,
    StepDone,
    ToolComplete,
    ToolGenerating,
    ToolProgress,
    ToolStart,
    UserMessageAdded,
)
from hermes_core.messages import AssistantMessage, ToolMessage, UserMessage
from hermes_core.store.memory import MemoryStore
from hermes_core.testing import Call, Cut, Finish, Stall, Think, Tokens, answer, call, refusal
from session_steps import end_of, prompt, roles, turn

pytestmark = pytest.mark.anyio


async def test_a_plain_answer_is_streamed_stored_and_ends_the_turn(bench: MakeBench) -> None:
    async with bench(answer(Think("hm"), "Hel", "lo", Tokens(input=7, output=3))) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        events = await turn(session, "hi")
        kinds = [type(event) for event in events]
        assert kinds[:2] == [UserMessageAdded, MessageStart]
        assert kinds[-1] is SessionInfo
        assert "".join(event.text for event in events if isinstance(event, MessageDelta)) == "Hello"
        assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "hm"
        end = end_of(events)
        assert (end.status, end.text, end.reasoning, end.finish) == ("complete", "Hello", "hm", "stop")
        assert (end.usage.input, end.usage.output, end.usage.calls) == (7, 3, 1)
        stored = await world.store.messages(session.stored_id)
        assert [row.message for row in stored] == list(session.transcript.messages)
        assert isinstance(stored[0].message, UserMessage)
        assert isinstance(stored[1].message, AssistantMessage)
        assert (stored[1].message.text, stored[1].row_id) == ("Hello", end.row_id)


async def test_positions_are_dense_and_events_carry_their_turn(bench: MakeBench) -> None:
    async with bench(answer(call("say", text="x")), answer("done")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        events = await turn(session, "hi")
        covered = [seq for event in events for seq in range(event.seq - event.merged, event.seq + 1)]
        assert covered == list(range(1, len(covered) + 1))
        assert {event.session_id for event in events} == {session.id}
        assert len({event.turn_id for event in events if not isinstance(event, SessionInfo)}) == 1


async def test_calls_of_one_answer_run_and_their_results_stay_in_call_order(bench: MakeBench) -> None:
    script = (answer("Looking.", call("hold_too", gate="a"), call("say", text="b")), answer("done"))
    async with bench(*script) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")

        async def let_a_go_last() -> None:
            await world.held("a")
            world.open("a")

        events: list[Event] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(let_a_go_last)
            events += await turn(session, "hi")
        assert roles(session.transcript.messages) == ["user", "assistant", "tool", "tool", "assistant"]
        results = [message.text for message in session.transcript.messages if isinstance(message, ToolMessage)]
        assert results == ["passed a", "said b"]
        started = [event.tool_call_id for event in events if isinstance(event, ToolStart)]
        ended = [event.tool_call_id for event in events if isinstance(event, ToolComplete)]
        assert sorted(started) == sorted(ended)
        assert len(set(started)) == 2
        assert [event.text for event in events if isinstance(event, MessageInterim)] == ["Looking."]
        assert [event.name for event in events if isinstance(event, ToolGenerating)] == ["hold_too", "say"]
        assert [event.step for event in events if isinstance(event, StepDone)] == [1, 2]
        sent = [message["role"] for message in world.model.requests[1]["messages"]]
        assert sent == ["system", "user", "assistant", "tool", "tool"]


async def test_running_output_is_shown_before_the_result(bench: MakeBench) -> None:
    async with bench(answer(call("say", text="out")), answer("done")) as world, world.runtime() as runtime:
        events = await turn(await runtime.create(source="test"), "hi")
        shown = [event for event in events if isinstance(event, ToolProgress)]
        assert "".join(event.text for event in shown) == "out"
        [ended] = [event for event in events if isinstance(event, ToolComplete)]
        assert all(event.seq < ended.seq for event in shown)
        assert (ended.label, ended.outcome) == ("say out", "ok")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (Call("nothing", "{}"), "no tool 'nothing'"),
        (Call("say", '{"text": 7}'), "Expected `str`, got `int` - at `$.text`"),
        (Call("say", "{not json"), "arguments of say are not right"),
        (Call("fail", '{"text": "x"}'), "fail failed: ValueError"),
    ],
)
async def test_a_call_that_cannot_run_is_a_result_the_model_can_read(bench: MakeBench, asked: Call, told: str) -> None:
    async with bench(answer(asked), answer("I see.")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        end = end_of(await turn(session, "hi"))
        assert (end.status, end.text) == ("complete", "I see.")
        [result] = [message for message in session.transcript.messages if isinstance(message, ToolMessage)]
        assert result.outcome == "error"
        assert told in result.text
        assert "secret detail" not in result.text


async def test_arguments_cut_off_at_the_limit_do_not_run(bench: MakeBench) -> None:
    """HA-023: the model is told of the cut, the tool is never called with what is left of them."""
    cut = answer(Call("hold", '{"gate": "a'), Finish("length"))
    async with bench(cut, answer("Shorter then.")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        assert end_of(await turn(session, "hi")).status == "complete"
        [result] = [message for message in session.transcript.messages if isinstance(message, ToolMessage)]
        assert "cut off" in result.text
        assert world.holding == {}


@pytest.mark.parametrize(("finish", "code"), [("length", "truncated"), ("content_filter", "content_filter")])
async def test_a_cut_answer_is_told_as_cut_and_keeps_its_text(bench: MakeBench, finish: str, code: str) -> None:
    """HA-103: never a clean stop."""
    async with bench(answer("Half a", Finish(finish))) as world, world.runtime() as runtime:
        end = end_of(await turn(await runtime.create(source="test"), "hi"))
        assert (end.status, end.code, end.text, end.partial) == ("error", code, "Half a", True)


async def test_a_stream_that_breaks_keeps_what_was_shown_and_says_so(bench: MakeBench) -> None:
    """HA-022, HA-026: no clean stop, no second beginning; what is stored is what was shown."""
    async with bench(answer("Hello wor", Cut()), answer("next")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        events = await turn(session, "hi")
        end = end_of(events)
        assert (end.status, end.code, end.text, end.partial) == ("error", "stream_broken", "Hello wor", True)
        assert "".join(event.text for event in events if isinstance(event, MessageDelta)) == "Hello wor"
        kept = session.transcript.messages[-1]
        assert isinstance(kept, AssistantMessage)
        assert (kept.text, kept.finish) == ("Hello wor", "error")
        assert len(world.model.requests) == 1
        assert end_of(await turn(session, "again")).text == "next"


async def test_a_stream_that_breaks_before_it_said_anything_is_tried_again(bench: MakeBench) -> None:
    async with bench(answer(Cut()), answer("Hello")) as world, world.runtime() as runtime:
        events = await turn(await runtime.create(source="test"), "hi")
        assert end_of(events).text == "Hello"
        assert [event.kind for event in events if isinstance(event, StatusUpdate)] == ["retry"]


async def test_a_refused_request_is_a_failed_turn_and_nothing_is_stored_as_an_answer(bench: MakeBench) -> None:
    """HA-100: and the next turn works, its transcript legal."""
    async with bench(refusal(401, "bad key"), answer("Hello")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        end = end_of(await turn(session, "hi"))
        assert (end.status, end.code, end.text) == ("error", "auth", "")
        assert roles(session.transcript.messages) == ["user"]
        assert "key-of-the-test" not in end.error
        assert end_of(await turn(session, "again")).text == "Hello"
        assert roles(session.transcript.messages) == ["user", "assistant", "user", "assistant"]


async def test_the_step_budget_ends_a_turn_that_never_ends(bench: MakeBench) -> None:
    script = [answer(call("say", text=str(number))) for number in range(20)]
    async with bench(*script, answer("next")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        end = end_of(await turn(session, "go"))
        assert (end.status, end.code) == ("error", "budget")
        assert len(world.model.requests) == 20
        assert end_of(await turn(session, "and now")).text == "next"


async def test_system_text_of_a_turn_is_layered_and_never_stored(bench: MakeBench) -> None:
    """HA-107: it reaches this turn only, and the core prompt stays."""
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(Submit(parts=(TextPart("hi"),), system="Answer in French."))
        await world.model.wait_for_requests(1)
        await session.dispatch(prompt("again", "queue"))
        await world.model.wait_for_requests(2)
        first, second = (request["messages"][0]["content"] for request in world.model.requests)
        assert "Answer in French." in first
        assert first.startswith(second)


async def test_a_turn_without_tools_offers_none(bench: MakeBench) -> None:
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(Submit(parts=(TextPart("hi"),), tools=False))
        await world.model.wait_for_requests(1)
        assert "tools" not in world.model.requests[0]


async def test_the_row_comes_with_the_first_turn_and_the_history_with_it(bench: MakeBench) -> None:
    async with bench() as world, world.runtime() as runtime:
        seed = (UserMessage(parts=(TextPart("before"),)), AssistantMessage(text="yes"))
        session = await runtime.create(source="test", seed=seed)
        assert await world.store.session(session.stored_id) is None
        await turn(session, "now")
        rows = await world.store.messages(session.stored_id)
        assert roles(tuple(row.message for row in rows)) == ["user", "assistant", "user", "assistant"]


async def test_an_ephemeral_session_leaves_nothing_in_the_store(bench: MakeBench) -> None:
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test", ephemeral=True)
        assert end_of(await turn(session, "hi")).status == "complete"
        assert await world.store.session(session.stored_id) is None


async def test_resume_in_another_runtime_goes_on_with_the_whole_history(bench: MakeBench) -> None:
    async with bench(answer(call("say", text="x")), answer("one"), answer("two")) as world:
        async with world.runtime() as runtime:
            session = await runtime.create(source="test", title="")
            await turn(session, "first")
            await session.dispatch(SetTitle("A title"))
            stored_id, before = session.stored_id, session.transcript.messages
        async with world.runtime() as runtime:
            session = await runtime.resume(stored_id)
            assert session.transcript.messages == before
            assert session.record.title == "A title"
            assert session.usage.calls == 2
            assert end_of(await turn(session, "second")).text == "two"


async def test_resuming_twice_at_once_gives_one_live_session(bench: MakeBench) -> None:
    """HA-009."""
    async with bench() as world:
        async with world.runtime() as runtime:
            session = await runtime.create(source="test")
            await turn(session, "hi")
            stored_id = session.stored_id
        async with world.runtime() as runtime:
            found: list[str] = []

            async def resume() -> None:
                found.append((await runtime.resume(stored_id)).id)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(resume)
                tasks.start_soon(resume)
            assert len(set(found)) == len(runtime.sessions) == 1


async def test_what_does_not_exist_or_is_closed_or_empty_is_refused(bench: MakeBench) -> None:
    async with bench() as world, world.runtime() as runtime:
        with pytest.raises(SessionNotFound):
            await runtime.resume("20200101_000000_abcdef")
        with pytest.raises(InvalidInput, match="no folder"):
            await runtime.create(source="test", cwd="/no/such/folder")
        session = await runtime.create(source="test")
        with pytest.raises(InvalidInput):
            await session.dispatch(Submit(parts=()))
        await runtime.close_session(session, "test")
        with pytest.raises(SessionClosed):
            await session.dispatch(prompt("hi"))
        assert session.id not in runtime.sessions


async def test_a_failing_store_refuses_the_submit_and_the_session_goes_on(bench: MakeBench) -> None:
    class Full(MemoryStore):
        broken = True

        async def append(self, *args: object, **options: object) -> list[int]:
            if self.broken:
                raise InvalidInput("the disk is full")
            return await super().append(*args, **options)  # pyright: ignore[reportArgumentType]

    store = Full()
    async with bench(answer("Hello"), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with pytest.raises(InvalidInput, match="disk is full"):
            await session.dispatch(prompt("hi"))
        assert session.state == "idle"
        store.broken = False
        assert end_of(await turn(session, "hi")).text == "Hello"


async def test_a_snapshot_in_mid_turn_holds_what_was_said_so_far(bench: MakeBench) -> None:
    """HA-093 kind: text of the snapshot and the deltas after it join without gap or overlap."""
    async with bench(answer("Hello ", Stall(), "world")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with session.subscribe() as first:
            await session.dispatch(prompt("hi"))
            async for event in first:
                if isinstance(event, MessageDelta):
                    break
            with session.subscribe() as late:
                snapshot = late.snapshot
                assert snapshot is not None
                assert snapshot.inflight is not None
                assert (snapshot.state, snapshot.inflight.text) == ("working", "Hello ")
                assert roles(tuple(row.message for row in snapshot.messages)) == ["user"]
                world.model.release()
                rest = ""
                async for event in late:
                    if isinstance(event, MessageDelta):
                        rest += event.text
                    if isinstance(event, SessionInfo):
                        break
                assert rest == "world"


async def test_a_process_whose_folder_is_gone_is_told_so(
    bench: MakeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    async with bench() as world, world.runtime() as runtime:
        with pytest.raises(InvalidInput, match="is gone"):
            await runtime.create(source="test")
