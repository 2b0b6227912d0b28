"""The Responses provider over real HTTP: the same script gives the same answer as over Chat Completions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from core_world import MakeBench
from hermes_core.commands import Submit
from hermes_core.content import TextPart
from hermes_core.errors import AuthFailed, ProviderError, ProviderUnreachable, RateLimited, StreamBroken
from hermes_core.events import MessageDelta, ReasoningDelta, StepDone, ToolComplete
from hermes_core.messages import AssistantMessage, ToolCall, ToolMessage, user_text
from hermes_core.models.openai_chat import OpenAIChatProvider
from hermes_core.models.openai_provider import OpenAIProvider
from hermes_core.models.openai_responses import OpenAIResponsesProvider
from hermes_core.models.provider import CallDelta, ModelDelta, ModelRequest, TextDelta, ThinkingDelta
from hermes_core.testing import (
    Answer,
    Call,
    Chunk,
    Comment,
    Cut,
    EndBody,
    Finish,
    Script,
    ScriptedModel,
    Stall,
    Step,
    Text,
    Think,
    Tokens,
    answer,
    call,
    refusal,
)
from hermes_core.usage import Usage
from provider_calls import KEY, endpoint_of, request
from session_steps import end_of, roles, turn

pytestmark = pytest.mark.anyio

BOTH: list[type[OpenAIProvider]] = [OpenAIChatProvider, OpenAIResponsesProvider]


@asynccontextmanager
async def provider_of(
    kind: type[OpenAIProvider], model: ScriptedModel, **options: Any
) -> AsyncGenerator[OpenAIProvider]:
    provider = kind(endpoint_of(model), **options)
    try:
        yield provider
    finally:
        await provider.aclose()


class Outcome(msgspec.Struct):
    """What one call gave: joined deltas, and the reply, or the error with what had come."""

    text: str = ""
    thinking: str = ""
    called: list[str] = []
    reply: AssistantMessage | None = None
    error: str = ""
    retryable: bool = False
    status: int | None = None
    retry_after: float | None = None
    partial: AssistantMessage | None = None


async def outcome(provider: OpenAIProvider, asked: ModelRequest | None = None) -> Outcome:
    """Make one call to its end, whatever that is."""
    found = Outcome()
    try:
        async with provider.stream(asked or request()) as stream:
            try:
                async for deltas in stream:
                    for delta in deltas:
                        _note(found, delta)
            except ProviderError:
                found.partial = stream.partial
                raise
            found.reply = stream.reply
    except ProviderError as error:
        found.error, found.retryable = type(error).__name__, error.retryable
        found.status, found.retry_after = error.status, error.retry_after
    return found


def _note(found: Outcome, delta: ModelDelta) -> None:
    match delta:
        case TextDelta():
            found.text += delta.text
        case ThinkingDelta():
            found.thinking += delta.text
        case CallDelta():
            found.called.append(delta.name)


COMMON: dict[str, tuple[Answer, ...]] = {
    "text": (answer(Text("Hello ✓ 漢字", size=2)),),
    "thinking": (answer(Think("hm ", times=40), "Yes."),),
    "a call": (answer("Looking.", call("ls", path=".")),),
    "parallel calls": (answer(Call("ls", '{"a": 1}', pieces=4), Call("pwd", "{}", id="mine"), call("ls")),),
    "usage": (answer("a", Tokens(input=1000, output=20, cached=800, reasoning=7)),),
    "length": (answer("Half a", Finish("length")),),
    "a call cut by the limit": (answer(Call("ls", '{"pa'), Finish("length")),),
    "filter": (answer("So", Finish("content_filter")),),
    "a filter that holds all back": (answer(Finish("content_filter")),),
    "bytes split anywhere": (answer(Comment(), "✓\u2028\u0085", Comment(), split=1, newline="\r\n"),),
    "a cut": (answer("Hel", "lo", Cut()),),
    "an end too early": (answer("Hel", call("ls"), EndBody()),),
    "nothing": (answer(EndBody()),),
    "an empty answer": (answer(Think("hm")),),
    "a key that is refused": (refusal(401, "bad key", code="invalid_api_key"),),
    "too fast, three times": (refusal(429, "Slow down", retry_after=0.01),) * 3,
    "too fast, twice": (*(refusal(429, retry_after=0.01), refusal(503, retry_after=0.01)), answer("there")),
    "no credit": (refusal(402, "Pay"),),
    "too long": (refusal(400, "maximum context length", code="context_length_exceeded"),),
    "no such model": (refusal(404, "model not found"),),
}


@pytest.mark.parametrize("script", COMMON.values(), ids=COMMON.keys())
async def test_the_same_script_gives_the_same_over_both_wires(script: tuple[Answer, ...]) -> None:
    found: list[tuple[Outcome, int]] = []
    for kind in BOTH:
        async with ScriptedModel(script) as model, provider_of(kind, model) as provider:
            found.append((await outcome(provider), model.counts["requests"]))
            assert model.violations == []
    assert found[0] == found[1]
    assert found[0][0] != Outcome()


async def test_a_call_gives_deltas_reply_and_usage_and_sends_the_key() -> None:
    script = answer(Think("hm"), Text("Hello", size=2), Call("ls", '{"path":"."}', pieces=3), Tokens(9, 4, 3, 2))
    async with ScriptedModel([script]) as model:
        async with provider_of(OpenAIResponsesProvider, model) as provider:
            await provider.warm()
            assert model.counts["connections"] == 0
            found = await outcome(provider)
        await model.wait_for_idle()
    assert (found.text, found.thinking, found.called) == ("Hello", "hm", ["ls"])
    assert found.reply == AssistantMessage(
        text="Hello",
        reasoning="hm",
        tool_calls=(ToolCall("call_1_0", "ls", '{"path":"."}'),),
        finish="tool_calls",
        model="m",
        usage=Usage(input=9, output=4, cached=3, reasoning=2, calls=1),
    )
    assert model.headers[0]["authorization"] == f"Bearer {KEY}"
    assert (model.requests[0]["stream"], model.requests[0]["store"]) == (True, False)


async def test_text_and_calls_come_from_the_events_and_nothing_is_asked_for_again() -> None:
    """HA-036."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "ls", "arguments": "{}"}
    script = answer(
        Text("Hello", size=2),
        Chunk({"type": "response.output_item.done", "output_index": 1, "item": item}),
        Chunk({"type": "response.completed", "response": {"status": "completed", "output": []}}),
        tail=False,
    )
    async with ScriptedModel([script]) as model, provider_of(OpenAIResponsesProvider, model) as provider:
        found = await outcome(provider)
        assert found.reply is not None
        assert (found.reply.text, found.reply.tool_calls) == ("Hello", (ToolCall("a", "ls", "{}"),))
        assert model.counts["requests"] == 1


async def test_a_stream_that_begins_in_progress_is_accepted() -> None:
    """HA-041."""
    script = answer(Chunk({"type": "response.in_progress", "response": {"status": "in_progress"}}), "Hello")
    async with ScriptedModel([script]) as model, provider_of(OpenAIResponsesProvider, model) as provider:
        assert (await outcome(provider)).text == "Hello"
        assert model.counts["requests"] == 1


async def test_a_response_that_failed_in_mid_answer_keeps_what_had_come() -> None:
    script = answer("So", Finish("error"), Tokens(9, 4))
    async with ScriptedModel([script]) as model, provider_of(OpenAIResponsesProvider, model) as provider:
        found = await outcome(provider)
    assert (found.error, found.retryable, found.text) == ("ProviderError", True, "So")
    assert found.partial == AssistantMessage(
        text="So", finish="error", model="m", usage=Usage(input=9, output=4, calls=1)
    )


@pytest.mark.parametrize("reset", [False, True])
async def test_a_drop_in_mid_answer_is_told_and_never_tried_again(reset: bool) -> None:
    """HA-022, HA-026."""
    script = [answer("Hel", "lo", Stall(), Cut(reset=reset)), answer("Hello")]
    seen = ""
    async with ScriptedModel(script) as model, provider_of(OpenAIResponsesProvider, model) as provider:
        async with provider.stream(request()) as stream:
            with pytest.raises(StreamBroken):
                async for deltas in stream:
                    seen += "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
                    model.release()
        assert (seen, stream.partial.text, stream.partial.finish) == ("Hello", "Hello", "error")
        assert model.counts["requests"] == 1


@pytest.mark.parametrize("steps", [(Stall(),), (Comment(), Stall()), ("a", Stall())])
async def test_silence_ends_a_call(steps: tuple[Step | str, ...]) -> None:
    async with ScriptedModel([answer(*steps)]) as model:
        async with provider_of(OpenAIResponsesProvider, model, silence=0.2) as provider:
            found = await outcome(provider)
        await model.wait_for_hang_ups(1)
        assert found.error == (ProviderUnreachable if steps == (Stall(),) else StreamBroken).__name__


@pytest.mark.parametrize("steps", [(Stall(),), ("a", Stall()), ("a", Finish(), Stall())])
async def test_cancelling_a_call_or_a_server_that_never_ends_closes_the_connection(
    steps: tuple[Step | str, ...],
) -> None:
    async with ScriptedModel([answer(*steps)]) as model, provider_of(OpenAIResponsesProvider, model) as provider:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outcome, provider)
            await model.wait_for_stall()
            if len(steps) < 3:
                tasks.cancel_scope.cancel()
        await model.wait_for_hang_ups(1)
        assert (await outcome(provider)).text == "ok"


async def test_the_connection_is_used_again() -> None:
    async with ScriptedModel() as model, provider_of(OpenAIResponsesProvider, model) as provider:
        for _ in range(5):
            await outcome(provider)
        assert (model.counts["requests"], model.counts["connections"]) == (5, 1)


async def test_a_wrong_key_is_refused_without_showing_it() -> None:
    async with ScriptedModel(Script(api_key="right")) as model:
        async with provider_of(OpenAIResponsesProvider, model) as provider:
            with pytest.raises(AuthFailed) as raised:
                async with provider.stream(request()):
                    pass
    assert KEY not in str(raised.value)


async def test_the_wait_that_a_service_asks_for_is_handed_on() -> None:
    async with ScriptedModel([refusal(429, retry_after=7)]) as model:
        async with provider_of(OpenAIResponsesProvider, model, retries=0) as provider:
            with pytest.raises(RateLimited) as raised:
                async with provider.stream(request()):
                    pass
    assert (raised.value.retry_after, raised.value.status) == (7, 429)


# -- asked again without -------------------------------------------------------------------------


async def test_a_service_that_cannot_stream_is_asked_again_without_this_once() -> None:
    """HA-040."""
    script = [refusal(400, "stream is not supported for this model"), answer("whole", call("ls")), answer("next")]
    async with ScriptedModel(script) as model, provider_of(OpenAIResponsesProvider, model) as provider:
        found = await outcome(provider)
        assert (found.text, found.called) == ("whole", ["ls"])
        assert (await outcome(provider)).text == "next"
        assert [body.get("stream") for body in model.requests] == [True, None, True]


async def test_an_account_that_may_not_read_summaries_gets_the_answer_without() -> None:
    refused = refusal(400, "Your organization must be verified to generate reasoning summaries.")
    asked = ModelRequest(model="m", messages=(user_text("hi"),), reasoning_effort="low")
    async with ScriptedModel([refused, answer("there")]) as model:
        async with provider_of(OpenAIResponsesProvider, model) as provider:
            assert (await outcome(provider, asked)).text == "there"
        assert [body["reasoning"] for body in model.requests] == [
            {"effort": "low", "summary": "auto"},
            {"effort": "low"},
        ]


async def test_a_request_that_is_refused_for_something_else_is_not_sent_again() -> None:
    async with ScriptedModel([refusal(400, "temperature is out of range")]) as model:
        async with provider_of(OpenAIResponsesProvider, model) as provider:
            assert (await outcome(provider)).error == "ProviderError"
        assert model.counts["requests"] == 1


# -- a whole turn --------------------------------------------------------------------------------


async def test_a_session_turn_with_a_tool_goes_over_the_responses_api(bench: MakeBench) -> None:
    script = (answer(Think("hm"), "Looking.", call("say", text="b"), Tokens(7, 3)), answer("Done.", Tokens(9, 2)))
    async with bench(*script) as world:
        settings = msgspec.structs.replace(world.config.model, api_mode="responses")
        async with world.runtime(model=settings) as runtime:
            session = await runtime.create(source="test")
            events = await turn(session, "hi")
        end = end_of(events)
        assert (end.status, end.text, end.usage.input, end.usage.calls) == ("complete", "Done.", 16, 2)
        assert "".join(event.text for event in events if isinstance(event, MessageDelta)) == "Looking.Done."
        assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "hm"
        assert [event.outcome for event in events if isinstance(event, ToolComplete)] == ["ok"]
        assert [event.step for event in events if isinstance(event, StepDone)] == [1, 2]
        assert roles(session.transcript.messages) == ["user", "assistant", "tool", "assistant"]
        [result] = [message for message in session.transcript.messages if isinstance(message, ToolMessage)]
        assert result.text == "said b"
        first, second = world.model.requests
        assert first["instructions"] and first["prompt_cache_key"] == session.stored_id
        assert {"say", "hold"} <= {tool["name"] for tool in first["tools"]}
        sent = [(item["type"], item.get("call_id", "")) for item in second["input"]]
        call_id = result.tool_call_id
        assert sent == [
            ("message", ""),
            ("message", ""),
            ("function_call", call_id),
            ("function_call_output", call_id),
        ]


async def test_a_request_without_tools_offers_none(bench: MakeBench) -> None:
    async with bench() as world:
        settings = msgspec.structs.replace(world.config.model, api_mode="responses")
        async with world.runtime(model=settings) as runtime:
            session = await runtime.create(source="test")
            await session.dispatch(Submit(parts=(TextPart("hi"),), tools=False))
            await world.model.wait_for_requests(1)
        assert "tools" not in world.model.requests[0]


def test_the_openai_package_is_loaded_by_the_first_use_and_not_before() -> None:
    code = (
        "import hermes_core.models.openai_responses, sys; sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
