"""Control of a running turn: interrupt, steer, follow-ups, and questions, at any moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import msgspec
import pytest
from core_world import Bench, MakeBench
from hermes_core.commands import AnswerApprovals, AnswerQuestion, Interrupt, SetModel, SetTitle, Steer, Submit
from hermes_core.config.settings import ApprovalSettings
from hermes_core.content import TextPart
from hermes_core.errors import InvalidInput, NoModelError, QuestionNotOpen, SessionNotFound
from hermes_core.events import (
    ApprovalRequest,
    Event,
    MessageComplete,
    MessageDelta,
    QueueChanged,
    SessionClosedEvent,
    SessionInfo,
    SteerDelivered,
    ToolComplete,
    ToolProgress,
    ToolStart,
)
from hermes_core.messages import AssistantMessage, ToolMessage
from hermes_core.questions import ApprovalAnswer
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.session.subscription import Subscription
from hermes_core.session.transcript import CLOSING_TEXT
from hermes_core.testing import Stall, answer, call
from hermes_core.tools.builtin import builtin_tools
from session_steps import end_of, prompt, roles, turn

pytestmark = pytest.mark.anyio


async def all_events(session: Session, into: list[Event]) -> None:
    with session.subscribe() as subscription:
        while batch := await subscription.batch():
            into += batch


def results(session: Session) -> list[tuple[str, str]]:
    return [(m.name, m.outcome) for m in session.transcript.messages if isinstance(m, ToolMessage)]


# -- interrupt ---------------------------------------------------------------------------------


async def test_interrupt_while_the_provider_is_silent_ends_the_turn_and_hangs_up(bench: MakeBench) -> None:
    """HA-059 (a), and the connection is closed."""
    async with bench(answer(Stall(), "never"), answer("next")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("hi"))
        await world.model.wait_for_stall()
        with session.subscribe() as events:
            assert (await session.dispatch(Interrupt())).interrupted
            first = (await events.batch())[0]
        assert isinstance(first, MessageComplete)
        assert (first.status, first.code) == ("interrupted", "interrupted")
        await world.model.wait_for_hang_ups(1)
        assert session.state == "idle"
        assert end_of(await turn(session, "again")).text == "next"


async def test_interrupt_in_mid_text_keeps_what_was_shown(bench: MakeBench) -> None:
    async with bench(answer("Half of ", Stall(), "it")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        with session.subscribe() as events:
            await session.dispatch(prompt("hi"))
            async for event in events:
                if isinstance(event, MessageDelta):
                    break
            await session.dispatch(Interrupt())
            end = end_of([event async for event in _until_info(events)])
        assert (end.text, end.partial) == ("Half of ", True)
        kept = session.transcript.messages[-1]
        assert isinstance(kept, AssistantMessage)
        assert (kept.text, kept.finish) == ("Half of ", "interrupted")


async def _until_info(events: Subscription) -> AsyncIterator[Event]:
    async for event in events:
        yield event
        if isinstance(event, SessionInfo):
            return


async def test_interrupt_with_calls_pending_gives_every_call_a_result(bench: MakeBench) -> None:
    """HA-001, HA-007: what ended is kept, the rest is marked; the next request is legal, also in a new process."""
    script = (answer(call("say", text="x"), call("hold"), call("hold", gate="b")), answer("next"), answer("later"))
    async with bench(*script) as world:
        async with world.runtime() as runtime:
            session = await runtime.create(source="test")
            events: list[Event] = []
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(all_events, session, events)
                await anyio.wait_all_tasks_blocked()
                await session.dispatch(prompt("hi"))
                await world.held()
                await session.dispatch(Interrupt())
                assert results(session) == [("say", "ok"), ("hold", "interrupted"), ("hold", "interrupted")]
                assert end_of(await turn(session, "go on")).text == "next"
                tasks.cancel_scope.cancel()
            started = [event.tool_call_id for event in events if isinstance(event, ToolStart)]
            ended = [event.tool_call_id for event in events if isinstance(event, ToolComplete)]
            assert started == ended
            stored_id = session.stored_id
        async with world.runtime() as runtime:
            session = await runtime.resume(stored_id)
            assert end_of(await turn(session, "and on")).text == "later"
            closing = [
                m for m in session.transcript.messages if isinstance(m, AssistantMessage) and m.text == CLOSING_TEXT
            ]
            assert len(closing) == 1


async def test_interrupt_on_an_idle_session_does_nothing_and_spares_the_next_turn(bench: MakeBench) -> None:
    """HA-056, HA-067."""
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        assert not (await session.dispatch(Interrupt())).interrupted
        reply = await session.dispatch(prompt("[[echo fine]]"))
        assert not (await session.dispatch(Interrupt("turn_of_yesterday"))).interrupted
        with session.subscribe() as events:
            end = end_of([event async for event in _until_info(events)]) if session.turn_id else None
        assert end is None or (end.status, end.turn_id) == ("complete", reply.turn_id)
        assert end_of(await turn(session, "[[echo fine]]")).text == "fine"


async def test_interrupt_at_the_very_start_stops_the_turn_and_keeps_the_user_row(bench: MakeBench) -> None:
    async with bench(answer(Stall(), "x"), answer("next")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.dispatch, prompt("hi"))
            tasks.start_soon(session.dispatch, Interrupt())
        if session.turn_id:
            await session.dispatch(Interrupt())
        assert roles(session.transcript.messages) == ["user"]
        assert session.state == "idle"


async def test_interrupt_from_many_at_any_moment_ends_each_turn_once(bench: MakeBench) -> None:
    """HA-073: wherever the stop falls, the next prompt is answered."""
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        events: list[Event] = []
        async with anyio.create_task_group() as listening:
            listening.start_soon(all_events, session, events)
            await anyio.wait_all_tasks_blocked()
            text = '[[text n=20 size=8]] [[call say {"text": "x"}]] [[text n=20 size=8]]'
            for checkpoints in range(60):
                await session.dispatch(prompt(text))
                for _ in range(checkpoints):
                    await anyio.lowlevel.checkpoint()
                async with anyio.create_task_group() as stopping:
                    stopping.start_soon(session.dispatch, Interrupt())
                    stopping.start_soon(session.dispatch, Interrupt())
                assert session.state == "idle"
            assert end_of(await turn(session, "[[echo alive]]")).text == "alive"
            listening.cancel_scope.cancel()
        ends = [event.turn_id for event in events if isinstance(event, MessageComplete)]
        assert len(ends) == len(set(ends)) == 61


async def test_closing_a_session_in_mid_turn_writes_it_down_and_tells(bench: MakeBench) -> None:
    async with bench(answer(call("hold"))) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("hi"))
        await world.held()
        with session.subscribe() as events:
            await runtime.close_session(session, "test_over")
            seen = [event async for event in events]
        assert [type(event) for event in seen] == [ToolComplete, MessageComplete, SessionInfo, SessionClosedEvent]
        record = await world.store.session(session.stored_id)
        assert record is not None
        assert record.end_reason == "test_over"
        assert results(session) == [("hold", "interrupted")]


async def test_leaving_the_runtime_in_mid_turn_writes_it_down(bench: MakeBench) -> None:
    async with bench(answer(call("hold"))) as world:
        async with world.runtime() as runtime:
            session = await runtime.create(source="test")
            await session.dispatch(prompt("hi"))
            await world.held()
        rows = await world.store.messages(session.stored_id)
        assert [getattr(row.message, "outcome", "") for row in rows] == ["", "", "interrupted"]


async def test_a_cancelled_host_still_writes_its_turns_down(bench: MakeBench) -> None:
    async with bench(answer(call("hold"))) as world:
        sessions: list[Session] = []

        async def host() -> None:
            async with world.runtime() as runtime:
                sessions.append(await runtime.create(source="test"))
                await sessions[0].dispatch(prompt("hi"))
                await anyio.sleep_forever()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host)
            await world.held()
            tasks.cancel_scope.cancel()
        rows = await world.store.messages(sessions[0].stored_id)
        assert [getattr(row.message, "outcome", "") for row in rows] == ["", "", "interrupted"]


# -- steer -------------------------------------------------------------------------------------


async def test_steering_is_read_once_with_the_results_of_the_next_batch(bench: MakeBench) -> None:
    """HA-063: delivered text is in the request and in the stored result, exactly once."""
    async with bench(answer(call("hold"), call("say", text="x")), answer("done")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        reply = await session.dispatch(prompt("hi"))
        await world.held()
        with session.subscribe() as events:
            for text in ("left", "no, right"):
                assert (await session.dispatch(Steer(text))).status == "queued"
            world.open()
            seen = [event async for event in _until_info(events)]
        [told] = [event for event in seen if isinstance(event, SteerDelivered)]
        assert told.text == "left\nno, right"
        assert end_of(seen).pending_steer == ""
        sent = world.model.requests[1]["messages"]
        assert str(sent).count("no, right") == 1
        assert "no, right" in sent[-1]["content"]
        stored = await world.store.messages(session.stored_id)
        assert sum("no, right" in getattr(row.message, "text", "") for row in stored) == 1
        assert reply.turn_id


async def test_steering_with_no_batch_to_come_is_returned(bench: MakeBench) -> None:
    """HA-119."""
    async with bench(answer("Hel", Stall(), "lo"), answer("next")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("hi"))
        await world.model.wait_for_stall()
        with session.subscribe() as events:
            await session.dispatch(Steer("too late"))
            world.model.release()
            end = end_of([event async for event in _until_info(events)])
        assert end.pending_steer == "too late"
        assert end_of(await turn(session, "next")).pending_steer == ""
        assert "too late" not in str(world.model.requests)


async def test_steering_an_idle_session_is_rejected_and_leaks_nowhere(bench: MakeBench) -> None:
    """HA-062."""
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        assert (await session.dispatch(Steer("stray"))).status == "rejected"
        await turn(session, "hi")
        assert "stray" not in str(world.model.requests)
        with pytest.raises(InvalidInput):
            await session.dispatch(Steer("  "))


# -- follow-ups --------------------------------------------------------------------------------


async def test_follow_ups_wait_in_order_and_are_visible(bench: MakeBench) -> None:
    async with bench(answer(Stall(), "one"), answer("two"), answer("three")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("1"))
        with session.subscribe() as events:
            second = await session.dispatch(prompt("2"))
            third = await session.dispatch(prompt("3", "queue"))
            assert (second.status, third.status) == ("queued", "queued")
            assert session.snapshot().queue == ("2", "3")
            world.model.release()
            ends: list[tuple[str, str]] = []
            async for event in events:
                if isinstance(event, MessageComplete):
                    ends.append((event.turn_id, event.text))
                if len(ends) == 3:
                    break
        assert ends[1:] == [(second.turn_id, "two"), (third.turn_id, "three")]


async def test_interrupt_drops_the_follow_ups_and_names_them(bench: MakeBench) -> None:
    async with bench(answer(Stall(), "one")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("1"))
        with session.subscribe() as events:
            waiting = await session.dispatch(prompt("2"))
            await session.dispatch(Interrupt())
            seen = [event async for event in _until_info(events)]
        dropped = [event.dropped for event in seen if isinstance(event, QueueChanged) and event.dropped]
        assert dropped == [(waiting.turn_id,)]
        assert session.snapshot().queue == ()
        assert len(world.model.requests) <= 1


async def test_one_follow_up_can_be_taken_out_and_the_running_turn_goes_on(bench: MakeBench) -> None:
    async with bench(answer(Stall(), "one"), answer("three")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt("1"))
        second = await session.dispatch(prompt("2"))
        third = await session.dispatch(prompt("3"))
        assert (await session.dispatch(Interrupt(second.turn_id))).interrupted
        with session.subscribe() as events:
            world.model.release()
            async for event in events:
                if isinstance(event, MessageComplete) and event.turn_id == third.turn_id:
                    assert event.text == "three"
                    break


async def test_busy_mode_interrupt_stops_the_turn_and_runs_the_new_one(bench: MakeBench) -> None:
    async with bench(answer("Hel", Stall()), answer("new")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        first = await session.dispatch(prompt("1"))
        await world.model.wait_for_stall()
        with session.subscribe() as events:
            second = await session.dispatch(prompt("2", "interrupt"))
            assert second.status == "queued"
            ends: dict[str, str] = {}
            async for event in events:
                if isinstance(event, MessageComplete):
                    ends[event.turn_id] = event.status
                if len(ends) == 2:
                    break
        assert ends == {first.turn_id: "interrupted", second.turn_id: "complete"}


async def test_busy_mode_steer_becomes_a_follow_up_when_it_cannot_be_delivered(bench: MakeBench) -> None:
    async with bench(answer("Hel", Stall(), "lo"), answer("to that")) as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        first = await session.dispatch(prompt("1"))
        await world.model.wait_for_stall()
        with session.subscribe() as events:
            assert (await session.dispatch(prompt("2", "steer"))).status == "steered"
            world.model.release()
            texts: list[str] = []
            async for event in events:
                if isinstance(event, MessageComplete):
                    assert event.pending_steer == ""
                    texts.append(event.text)
                if len(texts) == 2:
                    break
        assert texts == ["Hello", "to that"]
        assert world.model.requests[1]["messages"][-1]["content"] == "2"
        assert first.turn_id


# -- questions ---------------------------------------------------------------------------------


def real_tools(world: Bench) -> Runtime:
    return Runtime(world.config, world.store, tools=builtin_tools())


async def approval_of(session: Session, text: str) -> ApprovalRequest:
    with session.subscribe() as events:
        await session.dispatch(prompt(text))
        async for event in events:
            if isinstance(event, ApprovalRequest):
                return event
    raise AssertionError("nothing was asked")


async def settled(session: Session) -> MessageComplete:
    with session.subscribe() as events:
        if not session.turn_id:
            raise AssertionError("no turn runs")
        return end_of([event async for event in _until_info(events)])


@pytest.mark.parametrize(("choice", "left"), [("once", False), ("deny", True)])
async def test_an_approval_decides_whether_the_command_runs(
    bench: MakeBench, tmp_path: Path, choice: str, left: bool
) -> None:
    target = tmp_path / "doomed"
    target.mkdir()
    async with bench(answer(call("terminal", command="rm -rf doomed")), answer("done")) as world:
        async with real_tools(world) as runtime:
            session = await runtime.create(source="test", cwd=str(tmp_path))
            request = await approval_of(session, "hi")
            assert session.state == "waiting"
            assert target.exists()
            answered = ApprovalAnswer("once" if choice == "once" else "deny")
            await session.dispatch(AnswerQuestion(request.question.id, answered))
            assert (await settled(session)).status == "complete"
            assert target.exists() is left
            [(_, outcome)] = results(session)
            assert outcome == ("denied" if left else "ok")
            with pytest.raises(QuestionNotOpen):
                await session.dispatch(AnswerQuestion(request.question.id, answered))


async def test_where_nobody_can_answer_a_dangerous_command_is_denied_at_once(bench: MakeBench, tmp_path: Path) -> None:
    """HA-054."""
    target = tmp_path / "doomed"
    target.mkdir()
    async with bench(answer(call("terminal", command="rm -rf doomed")), answer("done")) as world:
        async with real_tools(world) as runtime:
            session = await runtime.create(source="test", cwd=str(tmp_path), answerable=False)
            events = await turn(session, "hi")
            assert not any(isinstance(event, ApprovalRequest) for event in events)
            assert target.exists()
            assert results(session) == [("terminal", "denied")]


async def test_a_grant_for_ever_holds_after_a_restart_and_covers_only_that_command(
    bench: MakeBench, tmp_path: Path
) -> None:
    """HA-065: the same command is not asked again, the same with more behind it is."""
    rm = answer(call("terminal", command="rm -rf doomed"))
    more = answer(call("terminal", command="rm -rf doomed; rm -rf other"))
    async with bench(rm, answer("1"), rm, answer("2"), more, answer("3")) as world:
        async with real_tools(world) as runtime:
            session = await runtime.create(source="test", cwd=str(tmp_path))
            await approval_of(session, "first")
            assert (await session.dispatch(AnswerApprovals("always"))).resolved == 1
            await settled(session)
        async with real_tools(world) as runtime:
            session = await runtime.create(source="test", cwd=str(tmp_path))
            events = await turn(session, "second")
            assert not any(isinstance(event, ApprovalRequest) for event in events)
            await approval_of(session, "third")
            await session.dispatch(AnswerApprovals("deny"))
            await settled(session)


async def test_a_grant_for_the_session_ends_with_it(bench: MakeBench, tmp_path: Path) -> None:
    """HA-064."""
    rm = answer(call("terminal", command="rm -rf doomed"))
    async with bench(rm, answer("1"), rm, answer("2"), rm, answer("3")) as world, real_tools(world) as runtime:
        session = await runtime.create(source="test", cwd=str(tmp_path))
        await approval_of(session, "first")
        await session.dispatch(AnswerApprovals("session"))
        await settled(session)
        assert not any(isinstance(event, ApprovalRequest) for event in await turn(session, "second"))
        other = await runtime.create(source="test", cwd=str(tmp_path))
        await approval_of(other, "third")
        await other.dispatch(Interrupt())


async def test_interrupt_while_an_approval_is_open_withdraws_it_and_runs_nothing(
    bench: MakeBench, tmp_path: Path
) -> None:
    """HA-059 (c)."""
    target = tmp_path / "doomed"
    target.mkdir()
    async with bench(answer(call("terminal", command="rm -rf doomed"))) as world, real_tools(world) as runtime:
        session = await runtime.create(source="test", cwd=str(tmp_path))
        await approval_of(session, "hi")
        assert (await session.dispatch(Interrupt())).interrupted
        assert session.snapshot().questions == ()
        assert results(session) == [("terminal", "interrupted")]
        assert target.exists()


async def test_interrupt_kills_the_running_command(bench: MakeBench, tmp_path: Path) -> None:
    """DECISIONS rule 18: the process group ends with the turn."""
    fifo = tmp_path / "started"
    command = f"echo begun > {fifo}; sleep 1000"
    async with bench(answer(call("terminal", command=command))) as world, real_tools(world) as runtime:
        session = await runtime.create(source="test", cwd=str(tmp_path))
        await session.dispatch(prompt("hi"))
        while not fifo.exists():
            await anyio.lowlevel.checkpoint()
        await session.dispatch(Interrupt())
        assert results(session) == [("terminal", "interrupted")]
        running = await anyio.run_process(["ps", "-eo", "args"])
        assert str(fifo).encode() not in running.stdout


# -- settings ----------------------------------------------------------------------------------


async def test_a_switch_of_model_holds_from_the_next_turn_and_a_bad_one_changes_nothing(bench: MakeBench) -> None:
    """HA-133."""
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await turn(session, "1")
        await session.dispatch(SetModel("other-model"))
        with pytest.raises(NoModelError):
            await session.dispatch(SetModel("openrouter:vendor/model"))
        await turn(session, "2")
        assert [request["model"] for request in world.model.requests] == ["m", "other-model"]
        record = await world.store.session(session.stored_id)
        assert record is not None
        assert record.model == "other-model"


async def test_a_model_for_one_turn_is_for_one_turn(bench: MakeBench) -> None:
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(Submit(parts=(TextPart("1"),), model="for-once"))
        await world.model.wait_for_requests(1)
        if session.turn_id:
            await settled(session)
        await turn(session, "2")
        assert [request["model"] for request in world.model.requests] == ["for-once", "m"]


async def test_titles_are_kept_and_bad_ones_refused(bench: MakeBench) -> None:
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(SetTitle("  A \n title \ud800 "))
        assert session.record.title.startswith("A title")
        for title in ("", " \n ", "x" * 201):
            with pytest.raises(InvalidInput):
                await session.dispatch(SetTitle(title))
        assert (await runtime.store.session(session.stored_id)) is not None
        with pytest.raises(SessionNotFound):
            runtime.live("00000000")


async def test_secrets_in_the_output_of_a_tool_are_masked_for_the_model_the_clients_and_the_store(
    bench: MakeBench,
) -> None:
    """HA-154: whatever prints a known key, nobody reads it."""
    async with bench(answer(call("say", text="my key is key-of-the-test.")), answer("done")) as world:
        async with world.runtime() as runtime:
            session = await runtime.create(source="test")
            events = await turn(session, "hi")
            shown = [event for event in events if isinstance(event, ToolProgress | ToolComplete)]
            assert len(shown) == 2
            texts = [event.text if isinstance(event, ToolProgress) else event.result for event in shown]
            stored = await world.store.messages(session.stored_id)
            texts += [row.message.text for row in stored if isinstance(row.message, ToolMessage)]
            texts.append(world.model.requests[1]["messages"][-1]["content"])
            assert len(texts) == 4
            assert all("key-of-the-test" not in text and "[secret]" in text for text in texts)


async def test_a_deny_rule_of_the_configuration_refuses_a_command_however_it_is_written(
    bench: MakeBench, tmp_path: Path
) -> None:
    """HA-058, end to end: the rule is told, nothing is asked, nothing runs."""
    script = (answer(call("terminal", command="/usr/bin/touch 'made'")), answer("done"))
    async with bench(*script) as world:
        approvals = ApprovalSettings(mode="off", deny=("touch *",))
        config = msgspec.structs.replace(world.config, approvals=approvals)
        async with Runtime(config, world.store) as runtime:
            session = await runtime.create(source="test", cwd=str(tmp_path))
            events = await turn(session, "hi")
            [ended] = [event for event in events if isinstance(event, ToolComplete)]
            assert ended.outcome == "denied"
            assert "touch *" in ended.result
            assert not (tmp_path / "made").exists()
