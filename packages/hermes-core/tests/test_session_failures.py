"""What fails inside a turn: the turn ends once and says why, the transcript stays legal, the session goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from core_world import MakeBench, SayArgs
from faulty_store import FaultyStore
from hermes_core.commands import AnswerApprovals, Interrupt, Steer
from hermes_core.content import TextPart
from hermes_core.errors import ConfigError, HermesError, InvalidInput, StoreError
from hermes_core.events import (
    ApprovalRequest,
    Event,
    MessageComplete,
    MessageDelta,
    SessionInfo,
    ToolComplete,
    ToolProgress,
    ToolStart,
)
from hermes_core.messages import AssistantMessage, ToolMessage, UserMessage
from hermes_core.models.provider import Endpoint, TextDelta
from hermes_core.questions import Choice
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.session.subscription import Subscription
from hermes_core.session.transcript import NOT_BEGUN_RESULT
from hermes_core.testing import Call, Stall, answer, call
from hermes_core.tools.builtin import builtin_tools
from hermes_core.tools.tool import Tool, ToolContext, ToolResult
from hermes_core.turn import progress
from session_steps import end_of, prompt, roles, turn

pytestmark = pytest.mark.anyio


def results(session: Session) -> list[tuple[str, str]]:
    return [(m.name, m.outcome) for m in session.transcript.messages if isinstance(m, ToolMessage)]


def pairs(events: list[Event]) -> bool:
    """Whether every call that was announced has ended, and no other."""
    started = [event.tool_call_id for event in events if isinstance(event, ToolStart)]
    ended = [event.tool_call_id for event in events if isinstance(event, ToolComplete)]
    return sorted(started) == sorted(ended)


# -- admission ---------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [StoreError("the disk is full"), OSError("boom")])
async def test_a_submit_that_cannot_be_stored_is_refused_and_the_session_is_idle(
    bench: MakeBench, error: Exception
) -> None:
    store = FaultyStore()
    async with bench(answer("Hello"), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        store.broken["append"] = error
        with pytest.raises(HermesError):
            await session.dispatch(prompt("hi"))
        await anyio.wait_all_tasks_blocked()
        assert session.state == "idle"
        del store.broken["append"]
        assert end_of(await turn(session, "hi")).text == "Hello"


async def test_history_to_begin_with_outlives_a_submit_that_failed(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        seed = (UserMessage(parts=(TextPart("before"),)), AssistantMessage(text="yes"))
        session = await runtime.create(source="test", seed=seed)
        store.broken["append"] = StoreError("the disk is full")
        with pytest.raises(StoreError):
            await session.dispatch(prompt("now"))
        await anyio.wait_all_tasks_blocked()
        del store.broken["append"]
        await turn(session, "now")
        assert roles(session.transcript.messages) == ["user", "assistant", "user", "assistant"]


async def test_a_steer_that_came_before_a_failed_admission_comes_back(bench: MakeBench) -> None:
    """HA-063: never lost without a word."""
    store = FaultyStore()
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        gate = store.hold("append")
        store.broken["append"] = StoreError("the disk is full")

        async def submit() -> None:
            with pytest.raises(StoreError):
                await session.dispatch(prompt("hi"))

        with session.subscribe() as events:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(submit)
                await store.reached["append"].wait()
                assert (await session.dispatch(Steer("left"))).status == "queued"
                gate.set()
            seen: list[Event] = []
            async for event in events:
                seen.append(event)
                if isinstance(event, SessionInfo):
                    break
        assert (end_of(seen).status, end_of(seen).pending_steer) == ("error", "left")


async def test_follow_ups_after_a_failed_admission_are_begun(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(answer("second"), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        gate = store.hold("append")
        store.broken["append"] = StoreError("the disk is full")

        async def submit() -> None:
            with pytest.raises(StoreError):
                await session.dispatch(prompt("1"))
            store.broken.clear()

        ends: dict[str, str] = {}
        async with anyio.create_task_group() as tasks:
            with session.subscribe() as events:
                tasks.start_soon(submit)
                await store.reached["append"].wait()
                second = await session.dispatch(prompt("2"))
                third = await session.dispatch(prompt("3"))
                gate.set()
                async for event in events:
                    if isinstance(event, MessageComplete):
                        ends[event.turn_id] = event.status
                    if len(ends) == 2:
                        break
            assert set(ends) == {second.turn_id, third.turn_id}
            assert ends[third.turn_id] == "complete"


async def test_a_submit_to_a_runtime_that_is_not_open_leaves_nothing_working(bench: MakeBench) -> None:
    async with bench() as world:
        runtime = world.runtime()
        session = await runtime.create(source="test")
        with pytest.raises(RuntimeError):
            await session.dispatch(prompt("hi"))
        assert session.state == "idle"


# -- the store fails in the middle ---------------------------------------------------------------


@pytest.mark.parametrize("error", [StoreError("the disk is full"), InvalidInput("odd")])
async def test_an_answer_that_cannot_be_stored_ends_the_turn_with_the_stores_own_error(
    bench: MakeBench, error: HermesError
) -> None:
    store = FaultyStore()
    async with bench(answer("Hel", Stall(), "lo"), answer("next"), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with session.subscribe() as events:
            await session.dispatch(prompt("hi"))
            await world.model.wait_for_stall()
            store.broken["append"] = error
            world.model.release()
            end = end_of([event async for event in until_info(events)])
        assert (end.status, end.code, end.text, end.partial) == ("error", error.code, "Hello", True)
        store.broken.clear()
        assert end_of(await turn(session, "again")).text == "next"


async def until_info(events: Subscription) -> AsyncIterator[Event]:
    async for event in events:
        yield event
        if isinstance(event, SessionInfo):
            return


@pytest.mark.parametrize("error", [StoreError("the disk is full"), InvalidInput("odd"), OSError("boom")])
@pytest.mark.parametrize("beside", [True, False])
async def test_a_store_that_fails_in_a_tool_step_ends_the_turn_and_every_call(
    bench: MakeBench, error: Exception, beside: bool
) -> None:
    store = FaultyStore()
    held = call("hold_too" if beside else "hold")
    script = (answer(held, call("say", text="x"), call("hold", gate="b")), answer("next"))
    async with bench(*script, store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with session.subscribe() as events:
            await session.dispatch(prompt("hi"))
            await world.held()
            store.broken["settle"] = error
            world.open()
            seen = [event async for event in until_info(events)]
        end = end_of(seen)
        assert (end.status, end.code) == ("error", error.code if isinstance(error, HermesError) else "internal")
        assert pairs(seen)
        assert session.state == "idle"
        store.broken.clear()
        assert end_of(await turn(session, "again")).text == "next"  # the model refuses what is not legal
        assert [row.message for row in await store.messages(session.stored_id)] == list(session.transcript.messages)


async def test_a_store_that_recovers_gets_the_results_after_all(bench: MakeBench) -> None:
    """What was done is told as done, and what was not begun as not begun: no call is left `unknown`."""

    class Once(FaultyStore):
        async def _at(self, method: str) -> None:
            error = self.broken.pop(method, None)
            if error is not None:
                raise error

    store = Once()
    script = (answer(call("hold"), call("hold", gate="b")), answer("next"))
    async with bench(*script, store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with session.subscribe() as events:
            await session.dispatch(prompt("hi"))
            await world.held()
            store.broken["settle"] = StoreError("busy for a moment")
            world.open()
            end = end_of([event async for event in until_info(events)])
        assert (end.status, end.code) == ("error", "store")
        assert results(session) == [("hold", "ok"), ("hold", "interrupted")]
        last = session.transcript.messages[-1]
        assert isinstance(last, ToolMessage)
        assert last.text == NOT_BEGUN_RESULT


async def test_steering_that_cannot_be_stored_with_a_result_comes_back(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(answer(call("hold")), store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with session.subscribe() as events:
            await session.dispatch(prompt("hi"))
            await world.held()
            await session.dispatch(Steer("left"))
            store.broken["settle"] = InvalidInput("the session is gone")
            world.open()
            end = end_of([event async for event in until_info(events)])
        assert (end.status, end.pending_steer) == ("error", "left")


async def test_an_interrupt_that_cannot_be_written_down_still_ends_the_turn(bench: MakeBench) -> None:
    store = FaultyStore()
    script = (answer("Hel", Stall(), "lo"), answer("next"))
    async with bench(*script, store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with session.subscribe() as events:
            await session.dispatch(prompt("hi"))
            async for event in events:
                if isinstance(event, MessageDelta):
                    break
            store.broken["append"] = OSError("boom")
            assert (await session.dispatch(Interrupt())).interrupted
            end = end_of([event async for event in until_info(events)])
        assert (end.status, end.code, end.text) == ("error", "internal", "Hel")
        store.broken.clear()
        assert end_of(await turn(session, "again")).text == "next"


# -- tools and providers that misbehave ------------------------------------------------------------


def raising(error: type[BaseException]) -> Tool[Any]:
    async def run(args: SayArgs, context: ToolContext) -> ToolResult:
        raise error

    return Tool(name="odd", description="odd", args=SayArgs, run=run, toolset="test", parallel=True)


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError])
@pytest.mark.parametrize("calls", [1, 2])
async def test_a_tool_that_exits_or_cancels_itself_is_a_failed_call_and_harms_no_other_session(
    bench: MakeBench, error: type[BaseException], calls: int
) -> None:
    script = (answer(*[call("odd") for _ in range(calls)]), answer("I see."), answer("other"))
    async with bench(*script) as world:
        runtime = Runtime(world.config, world.store, tools=[*world.tools, raising(error)])
        async with runtime:
            session = await runtime.create(source="test")
            events = await turn(session, "hi")
            assert end_of(events).text == "I see."
            assert results(session) == [("odd", "error")] * calls
            assert pairs(events)
            assert end_of(await turn(await runtime.create(source="test"), "hi")).text == "other"


async def test_a_tool_that_exits_while_the_turn_is_interrupted_is_interrupted(bench: MakeBench) -> None:
    holding = anyio.Event()

    async def run(args: SayArgs, context: ToolContext) -> ToolResult:
        holding.set()
        try:
            await anyio.sleep_forever()
        finally:
            raise SystemExit

    tool = Tool(name="odd", description="odd", args=SayArgs, run=run, toolset="test")
    async with bench(answer(call("odd"))) as world:
        async with Runtime(world.config, world.store, tools=[tool]) as runtime:
            session = await runtime.create(source="test")
            await session.dispatch(prompt("hi"))
            await holding.wait()
            assert (await session.dispatch(Interrupt())).interrupted
            assert results(session) == [("odd", "interrupted")]
            assert session.state == "idle"


@pytest.mark.parametrize(
    ("error", "code"), [(ConfigError("no such wire"), "config"), (KeyError("x"), "internal"), (None, "internal")]
)
async def test_a_provider_that_fails_in_any_way_ends_the_turn_and_keeps_what_was_shown(
    bench: MakeBench, error: Exception | None, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(answer("next")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with monkeypatch.context() as patch:
            broken = BrokenProvider(error or asyncio.CancelledError())

            def provider(endpoint: Endpoint) -> BrokenProvider:
                return broken

            patch.setattr(runtime.models, "provider", provider)
            end = end_of(await turn(session, "hi"))
        assert (end.status, end.code, end.text, end.partial) == ("error", code, "Hel", True)
        assert end.row_id == session.rows[-1].row_id
        assert end_of(await turn(session, "again")).text == "next"


class BrokenProvider:
    """Says something, then raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.partial = AssistantMessage(text="Hel")

    @asynccontextmanager
    async def stream(self, request: object) -> AsyncGenerator[BrokenProvider]:
        yield self

    async def __aiter__(self) -> AsyncGenerator[list[TextDelta]]:
        yield [TextDelta("Hel")]
        raise self.error


async def test_arguments_nested_too_deeply_are_a_result_the_model_can_read(bench: MakeBench) -> None:
    deep = '{"text": ' + "[" * 5000 + "]" * 5000 + "}"
    async with bench(answer(Call("say", deep)), answer("I see.")) as world, world.runtime() as runtime:
        world.model.violations.clear()
        session = await runtime.create(source="test")
        end = end_of(await turn(session, "hi"))
        assert (end.status, end.text) == ("complete", "I see.")
        assert results(session) == [("say", "error")]


async def test_a_secret_that_comes_in_pieces_is_masked_all_the_same(
    bench: MakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-154: no piece is shown before it is known not to be one."""
    monkeypatch.setattr(progress, "INTERVAL", 0)

    async def run(args: SayArgs, context: ToolContext) -> ToolResult:
        for piece in ("it is key-", "of-the-", "test. And key-of"):
            context.progress(piece)
            for _ in range(10):
                await anyio.lowlevel.checkpoint()
        return ToolResult("done")

    tool = Tool(name="odd", description="odd", args=SayArgs, run=run, toolset="test")
    async with bench(answer(call("odd")), answer("done")) as world:
        async with Runtime(world.config, world.store, tools=[tool]) as runtime:
            events = await turn(await runtime.create(source="test"), "hi")
        pieces = [event.text for event in events if isinstance(event, ToolProgress)]
        assert "".join(pieces) == "it is [secret]. And key-of"
        assert pieces[0] == "it is "


# -- approvals and the store -------------------------------------------------------------------------


async def test_a_grant_that_cannot_be_kept_runs_nothing_ends_the_turn_and_is_asked_again(
    bench: MakeBench, tmp_path: Path
) -> None:
    """HA-064: `always` is never taken for less, or for more, than it says."""
    rm = answer(call("terminal", command="rm -rf doomed"))
    (tmp_path / "doomed").mkdir()
    store = FaultyStore()
    async with bench(rm, rm, answer("done"), store=store) as world:
        async with Runtime(world.config, store, tools=builtin_tools()) as runtime:
            session = await runtime.create(source="test", cwd=str(tmp_path))
            store.broken["add_grants"] = StoreError("the disk is full")
            ended = await asked(session, "always")
            assert (ended.status, ended.code) == ("error", "store")
            assert results(session) == [("terminal", "error")]
            assert (tmp_path / "doomed").exists()
            store.broken.clear()
            assert (await asked(session, "once")).status == "complete"
            assert not (tmp_path / "doomed").exists()


async def asked(session: Session, choice: Choice) -> MessageComplete:
    with session.subscribe() as events:
        await session.dispatch(prompt("hi"))
        async for event in events:
            if isinstance(event, ApprovalRequest):
                assert (await session.dispatch(AnswerApprovals(choice))).resolved == 1
            if isinstance(event, MessageComplete):
                return event
    raise AssertionError("the session was closed")


async def test_a_grant_for_ever_holds_in_an_ephemeral_session(bench: MakeBench, tmp_path: Path) -> None:
    """DECISIONS rule 2: where nobody can answer, what was granted for ever applies."""
    rm = answer(call("terminal", command="rm -rf doomed"))
    async with bench(rm, answer("1"), rm, answer("2")) as world:
        async with Runtime(world.config, world.store, tools=builtin_tools()) as runtime:
            await asked(await runtime.create(source="test", cwd=str(tmp_path)), "always")
            await anyio.wait_all_tasks_blocked()
            session = await runtime.create(source="test", cwd=str(tmp_path), ephemeral=True, answerable=False)
            await turn(session, "hi")
            assert results(session) == [("terminal", "ok")]
