"""The embedding face: a program without a server, synchronous and asynchronous."""

from __future__ import annotations

import threading

import anyio
import pytest
from core_world import Bench, MakeBench
from faulty_store import FaultyStore
from hermes_core import AIAgent
from hermes_core.commands import AnswerApprovals, Interrupt
from hermes_core.errors import InvalidInput, StoreError, TurnFailed
from hermes_core.events import ApprovalRequest, Event, MessageComplete, MessageDelta
from hermes_core.messages import AssistantMessage
from hermes_core.store.memory import MemoryStore
from hermes_core.testing import Stall, Think, answer, call, refusal

pytestmark = pytest.mark.anyio


def agent_of(world: Bench, **options: object) -> AIAgent:
    return AIAgent(config=world.config, store=world.store, **options)  # pyright: ignore[reportArgumentType]


async def test_chat_returns_the_answer_and_keeps_the_conversation(bench: MakeBench) -> None:
    async with bench(answer("one"), answer("two")) as world:

        def program() -> list[str]:
            with agent_of(world) as agent:
                return [agent.chat("first"), agent.chat("second")]

        assert await anyio.to_thread.run_sync(program) == ["one", "two"]
        assert [m["role"] for m in world.model.requests[1]["messages"]] == ["system", "user", "assistant", "user"]


async def test_run_conversation_tells_everything_and_takes_a_history(bench: MakeBench) -> None:
    async with bench(answer(Think("hm"), call("todo")), answer("done")) as world:
        seen: list[str] = []

        def program() -> dict[str, object]:
            history = [{"role": "user", "content": "before"}, {"role": "assistant", "content": "yes"}]
            with AIAgent(
                config=world.config,
                store=world.store,
                stream_delta_callback=lambda text: seen.append(f"text {text}"),
                reasoning_callback=lambda text: seen.append(f"thought {text}"),
                tool_start_callback=lambda _id, name, args: seen.append(f"start {name} {args}"),
                tool_complete_callback=lambda _id, name, args, result: seen.append(f"end {name}"),
                step_callback=lambda step: seen.append(f"step {step}"),
            ) as agent:
                return agent.run_conversation("now", "Be brief.", history, task_id="t1")

        result = await anyio.to_thread.run_sync(program)
        assert result["final_response"] == "done"
        assert (result["completed"], result["failed"], result["api_calls"], result["task_id"]) == (True, False, 2, "t1")
        assert [m["role"] for m in result["messages"]] == [  # pyright: ignore
            "user",
            "assistant",
            "user",
            "assistant",
            "tool",
            "assistant",
        ]
        assert seen == ["thought hm", "step 1", "start todo {}", "end todo", "text done", "step 2"]
        assert "Be brief." in world.model.requests[0]["messages"][0]["content"]


async def test_a_failed_turn_raises_from_chat_and_is_told_by_run_conversation(bench: MakeBench) -> None:
    async with bench(refusal(401, "no"), refusal(401, "no")) as world:

        def program() -> dict[str, object]:
            with agent_of(world) as agent:
                with pytest.raises(TurnFailed) as failed:
                    agent.chat("hi")
                assert failed.value.code == "auth"
                return agent.run_conversation("hi")

        result = await anyio.to_thread.run_sync(program)
        assert (result["failed"], result["code"], result["final_response"]) == (True, "auth", "")


async def test_another_thread_can_interrupt_and_steer(bench: MakeBench) -> None:
    async with bench(answer("Hel", Stall(), "lo")) as world:
        agent = agent_of(world)
        results: list[dict[str, object]] = []

        async def converse() -> None:
            results.append(await anyio.to_thread.run_sync(agent.run_conversation, "hi"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(converse)
            await world.model.wait_for_stall()
            assert await anyio.to_thread.run_sync(agent.steer, "left")
            await anyio.to_thread.run_sync(agent.interrupt)
        assert (results[0]["interrupted"], results[0]["final_response"]) == (True, "Hel")
        await anyio.to_thread.run_sync(agent.close)
        assert not [thread for thread in threading.enumerate() if "portal" in thread.name.lower()]


async def test_stream_yields_the_events_of_the_turn_and_takes_answers(bench: MakeBench) -> None:
    script = (answer(call("terminal", command="rm -rf nothing-here")), answer("done"))
    async with bench(*script) as world, agent_of(world, answerable=True) as agent:
        events: list[Event] = []
        async for event in agent.stream("hi"):
            events.append(event)
            if isinstance(event, ApprovalRequest):
                await agent.session.dispatch(AnswerApprovals("deny"))
        assert isinstance(events[-1], MessageComplete)
        assert "".join(event.text for event in events if isinstance(event, MessageDelta)) == "done"


async def test_leaving_the_stream_early_interrupts_the_turn(bench: MakeBench) -> None:
    async with bench(answer("Hel", Stall(), "lo")) as world, agent_of(world) as agent:
        stream = agent.stream("hi")
        async for event in stream:
            if isinstance(event, MessageDelta):
                break
        await stream.aclose()  # pyright: ignore
        kept = agent.session.transcript.messages[-1]
        assert isinstance(kept, AssistantMessage)
        assert (kept.text, kept.finish, agent.session.state) == ("Hel", "interrupted", "idle")


async def test_a_caller_that_is_gone_before_its_message_was_stored_leaves_no_turn_behind(bench: MakeBench) -> None:
    store = FaultyStore()
    async with bench(answer(Stall(), "x"), store=store) as world, agent_of(world) as agent:
        session = await agent.start()
        gate = store.hold("append")

        async def converse() -> None:
            async for _ in agent.stream("hi"):
                pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(converse)
            await store.reached["append"].wait()
            tasks.cancel_scope.cancel()
            gate.set()
        assert session.state == "idle"


async def test_a_message_that_an_interrupt_takes_out_of_the_queue_is_told_as_interrupted(bench: MakeBench) -> None:
    """It never begins, so no turn of its own tells: whoever waits for it must not wait for ever."""
    async with bench(answer(Stall(), "x")) as world, agent_of(world) as agent:
        session = await agent.start()
        ends: list[MessageComplete] = []

        async def converse(text: str) -> None:
            ends.extend([event async for event in agent.stream(text) if isinstance(event, MessageComplete)])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(converse, "1")
            await world.model.wait_for_stall()
            tasks.start_soon(converse, "2")
            while not session.snapshot().queue:
                await anyio.lowlevel.checkpoint()
            await session.dispatch(Interrupt())
        assert [end.status for end in ends] == ["interrupted", "interrupted"]
        assert len({end.turn_id for end in ends}) == 2


async def test_a_turn_is_told_to_the_callbacks_once_however_many_wait(bench: MakeBench) -> None:
    async with bench(answer("Hel", Stall(), "lo"), answer("two")) as world:
        seen: list[str] = []
        async with agent_of(world, stream_delta_callback=seen.append) as agent:

            async def converse(text: str) -> None:
                async for _ in agent.stream(text):
                    pass

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(converse, "1")
                await world.model.wait_for_stall()
                tasks.start_soon(converse, "2")
                while not agent.session.snapshot().queue:
                    await anyio.lowlevel.checkpoint()
                world.model.release()
        assert "".join(seen) == "Hellotwo"


async def test_a_clarification_that_comes_too_late_does_no_harm(bench: MakeBench) -> None:
    thinking, thought = threading.Event(), threading.Event()

    def clarify(question: str, choices: list[str]) -> str:
        thinking.set()
        thought.wait(30)
        return "blue"

    async with bench(answer(call("clarify", question="Which colour?")), answer("next")) as world:
        async with agent_of(world, clarify_callback=clarify) as agent:
            ends: list[MessageComplete] = []

            async def converse() -> None:
                ends.extend([event async for event in agent.stream("hi") if isinstance(event, MessageComplete)])

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(converse)
                await anyio.to_thread.run_sync(thinking.wait, 30)
                await agent.session.dispatch(Interrupt())
                thought.set()
            assert [end.status for end in ends] == ["interrupted"]


async def test_an_agent_that_cannot_open_its_store_says_so_each_time_and_leaves_no_thread(bench: MakeBench) -> None:
    class Locked(MemoryStore):
        async def open(self) -> None:
            raise StoreError("the file is locked")

    async with bench(store=Locked()) as world:

        def program() -> None:
            agent = agent_of(world)
            for _ in range(2):
                with pytest.raises(StoreError, match="locked"):
                    agent.chat("hi")

        await anyio.to_thread.run_sync(program)
        assert not [thread for thread in threading.enumerate() if "portal" in thread.name.lower()]


async def test_two_threads_that_begin_at_once_share_one_conversation(bench: MakeBench) -> None:
    async with bench() as world:
        agent = agent_of(world)
        async with anyio.create_task_group() as tasks:
            for text in ("[[echo one]]", "[[echo two]]"):
                tasks.start_soon(anyio.to_thread.run_sync, agent.chat, text)
        rows = await anyio.to_thread.run_sync(lambda: len(agent.session.rows))
        await anyio.to_thread.run_sync(agent.close)
        assert rows == 4
        assert not [thread for thread in threading.enumerate() if "portal" in thread.name.lower()]


async def test_a_named_session_goes_on_in_a_second_agent(bench: MakeBench) -> None:
    async with bench(answer("one"), answer("two")) as world:

        def program() -> list[str]:
            with agent_of(world, session_id="my-session") as first:
                one = first.chat("first")
            with agent_of(world, session_id="my-session") as second:
                return [one, second.chat("second")]

        assert await anyio.to_thread.run_sync(program) == ["one", "two"]
        assert len(world.model.requests[1]["messages"]) == 4


async def test_wrong_use_is_a_clear_error(bench: MakeBench) -> None:
    async with bench() as world:
        with pytest.raises(TypeError, match="no_such_option"):
            AIAgent(no_such_option=1)  # pyright: ignore
        with pytest.raises(InvalidInput, match="async with"):
            async for _ in agent_of(world).stream("hi"):
                pass
        with pytest.raises(InvalidInput, match="no toolset 'nothing'"):
            async with agent_of(world, enabled_toolsets=["nothing"]) as agent:
                await agent.start()


async def test_toolsets_choose_the_tools(bench: MakeBench) -> None:
    async with bench(answer("ok")) as world, agent_of(world, disabled_toolsets=["terminal"]) as agent:
        async for _ in agent.stream("hi"):
            pass
        names = [tool["function"]["name"] for tool in world.model.requests[0]["tools"]]
        assert "read_file" in names
        assert "terminal" not in names
