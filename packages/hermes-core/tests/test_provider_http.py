"""The provider over real HTTP: what it sends, tries again, reads, and how its connections end."""

from __future__ import annotations

import subprocess
import sys

import anyio
import psutil
import pytest
from hermes_core.errors import EmptyAnswer, ProviderUnreachable, StreamBroken
from hermes_core.models.answer_stream import HIGH, AnswerStream
from hermes_core.models.openai_chat import OpenAIChatProvider
from hermes_core.models.provider import ModelDelta
from hermes_core.testing import (
    Answer,
    Comment,
    Cut,
    Delta,
    Done,
    EndBody,
    Finish,
    ScriptedModel,
    Stall,
    Step,
    Text,
    Think,
    answer,
    call,
    refusal,
)
from provider_calls import KEY, ask, endpoint_of, provider_of, request, said

pytestmark = pytest.mark.anyio


async def test_a_call_sends_key_and_headers_and_gives_the_reply() -> None:
    async with ScriptedModel([answer(Think("hm"), Text("Hello", size=2), call("ls", path="."))]) as model:
        provider = OpenAIChatProvider(endpoint_of(model, headers={"X-Title": "Hermes"}))
        await provider.warm()
        assert model.counts["connections"] == 0
        reply = await ask(provider)
        await provider.aclose()
        await provider.aclose()
        await model.wait_for_idle()
    assert (reply.text, reply.reasoning, reply.tool_calls[0].arguments) == ("Hello", "hm", '{"path":"."}')
    assert model.headers[0]["authorization"] == f"Bearer {KEY}"
    assert model.headers[0]["x-title"] == "Hermes"
    assert model.requests[0]["stream_options"] == {"include_usage": True}
    assert KEY not in repr(provider.endpoint)


async def test_nothing_of_the_environment_goes_to_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "from-the-environment")
    for name in ("HTTP_PROXY", "ALL_PROXY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with ScriptedModel() as model:
        provider = OpenAIChatProvider(endpoint_of(model, api_key=""))
        assert (await ask(provider)).text == "ok"
        await provider.aclose()
    assert "from-the-environment" not in str(model.headers[0])


async def test_the_connection_is_used_again() -> None:
    async with ScriptedModel() as model, provider_of(model) as provider:
        for _ in range(5):
            await ask(provider)
        assert (model.counts["requests"], model.counts["connections"]) == (5, 1)


async def test_many_deltas_of_one_read_come_together() -> None:
    async with (
        ScriptedModel() as model,
        provider_of(model) as provider,
        provider.stream(request("[[text n=5000 size=8]]")) as stream,
    ):
        reads = [deltas async for deltas in stream]
    assert said([delta for deltas in reads for delta in deltas]) == stream.reply.text == "abcdefg " * 5000
    assert len(reads) < 500


@pytest.mark.parametrize("split", [1, 7])
async def test_bytes_split_anywhere_and_no_charset_leave_the_text_whole(split: int) -> None:
    """HA-027, HA-030."""
    text = "✓ 漢字\u0085\u2028😀"
    script = [answer(Comment(), text, Comment(), split=split, newline="\r\n")]
    async with ScriptedModel(script) as model, provider_of(model) as provider:
        assert (await ask(provider)).text == text


async def test_a_thousand_complete_streams_are_never_taken_for_drops() -> None:
    """HA-038: the finish reason comes with the last text, under load; here 200 streams of 200 chunks."""
    script = [answer(Text("piece ", times=199), Delta({"content": "end"}, "stop"), tail=False)] * 200
    texts: list[str] = []
    async with ScriptedModel(script) as model, provider_of(model) as provider:

        async def some() -> None:
            texts.extend([(await ask(provider)).text for _ in range(10)])

        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(some)
        assert texts == ["piece " * 199 + "end"] * 200
        assert model.counts["requests"] == 200


# -- trying again --------------------------------------------------------------------------------


async def test_what_fails_before_the_first_byte_is_tried_again_twice() -> None:
    script = [refusal(503, retry_after=0.01), refusal(429, retry_after=0.01), answer("there")]
    async with ScriptedModel(script) as model, provider_of(model) as provider:
        assert (await ask(provider)).text == "there"
        assert model.counts["requests"] == 3


@pytest.mark.parametrize("reset", [False, True])
async def test_a_drop_in_mid_answer_is_told_and_never_tried_again(reset: bool) -> None:
    """HA-022, HA-026."""
    script = [answer("Hel", "lo ", "wor", Stall(), Cut(reset=reset)), answer("Hello world")]
    seen: list[ModelDelta] = []
    async with ScriptedModel(script) as model, provider_of(model) as provider:
        async with provider.stream(request()) as stream:
            with pytest.raises(StreamBroken):
                async for deltas in stream:
                    seen += deltas
                    model.release()
        assert (said(seen), stream.partial.text, stream.partial.finish) == ("Hello wor", "Hello wor", "error")
        assert model.counts["requests"] == 1


async def test_a_body_that_ends_in_mid_answer_is_a_broken_stream() -> None:
    """HA-022: the connection is closed in good order."""
    async with ScriptedModel([answer("Half", EndBody())]) as model, provider_of(model) as provider:
        with pytest.raises(StreamBroken, match="in the middle"):
            await ask(provider)


@pytest.mark.parametrize("nothing", [answer(Done(), tail=False), answer(EndBody()), answer(Comment(), EndBody())])
async def test_a_stream_of_nothing_is_asked_for_once(nothing: Answer) -> None:
    """HA-037: how often it is asked for again is up to the turn."""
    async with ScriptedModel([nothing]) as model, provider_of(model) as provider:
        with pytest.raises(EmptyAnswer):
            await ask(provider)
        assert model.counts["requests"] == 1


@pytest.mark.parametrize(
    "script",
    [
        answer(Delta({"content": [{"type": "text", "text": "ab"}, {"type": "reference"}], "padding": "x"})),
        answer(Think("hm", times=300), "ab"),
        answer(Delta({"content": "a"}, ""), Delta({"content": "b"}, "")),
    ],
)
async def test_odd_shapes_cost_no_second_request(script: Answer) -> None:
    """HA-028, HA-029, HA-033."""
    async with ScriptedModel([script]) as model, provider_of(model) as provider:
        assert (await ask(provider)).text == "ab"
        assert model.counts["requests"] == 1


# -- silence -------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [(Stall(),), (Comment(), Stall()), ("a", Stall())])
async def test_silence_ends_a_call_and_is_not_waited_for_again(steps: tuple[Step | str, ...]) -> None:
    started = steps != (Stall(),)
    async with ScriptedModel([answer(*steps)]) as model, provider_of(model, silence=0.2) as provider:
        with pytest.raises(StreamBroken if started else ProviderUnreachable, match=r"0\.2 seconds"):
            await ask(provider)
        await model.wait_for_hang_ups(1)
        assert model.counts["requests"] == 1


async def test_after_the_finish_reason_usage_is_not_waited_for_long() -> None:
    """HA-038."""
    async with ScriptedModel([answer("all", Finish(), Stall())]) as model, provider_of(model, linger=0.01) as provider:
        reply = await ask(provider)
        assert (reply.text, reply.finish, reply.usage.estimated) == ("all", "stop", True)


async def test_a_server_that_keeps_the_connection_open_after_done_holds_nobody_up() -> None:
    async with ScriptedModel([answer("all", Finish(), Done(), Stall())]) as model, provider_of(model) as provider:
        assert (await ask(provider)).text == "all"
        await model.wait_for_hang_ups(1)


# -- leaving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [(Stall(),), ("a", Stall())])
async def test_cancelling_a_call_closes_its_connection_at_once(steps: tuple[Step | str, ...]) -> None:
    async with ScriptedModel([answer(*steps)]) as model, provider_of(model) as provider:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, provider)
            await model.wait_for_stall()
            tasks.cancel_scope.cancel()
        await model.wait_for_hang_ups(1)
        assert (await ask(provider)).text == "ok"


async def test_leaving_the_block_closes_the_connection_and_hands_on_what_was_raised_as_it_is() -> None:
    async with ScriptedModel([answer("a", Stall())] * 2) as model, provider_of(model) as provider:
        with pytest.raises(ValueError, match="mine") as raised:
            async with provider.stream(request()) as stream:
                async for _ in stream:
                    raise ValueError("mine") from KeyError("cause")
        assert isinstance(raised.value.__cause__, KeyError)
        with pytest.raises(ExceptionGroup, match="two"):
            async with provider.stream(request()) as stream:
                with pytest.raises(RuntimeError, match="not over"):
                    _ = stream.reply
                raise ExceptionGroup("two", [ValueError(), TypeError()])
        await model.wait_for_hang_ups(2)


async def test_no_more_is_read_than_a_slow_reader_takes() -> None:
    async with ScriptedModel() as model, provider_of(model) as provider:
        async with provider.stream(request("[[text n=300000 size=8]]")) as stream:
            await anyio.wait_all_tasks_blocked()
            assert isinstance(stream, AnswerStream)
            assert HIGH < stream.waiting < 2 * HIGH
            length = 0
            async for deltas in stream:
                length += len(said(deltas))
        assert length == 300_000 * 8


async def test_five_hundred_switches_between_three_models_leave_no_socket_behind() -> None:
    """HA-163."""
    async with ScriptedModel() as one, ScriptedModel() as two, ScriptedModel() as three:
        process = psutil.Process()
        for turn in range(500):
            async with provider_of((one, two, three)[turn % 3]) as provider:
                await ask(provider)
        for model in (one, two, three):
            await model.wait_for_idle()
        open_sockets = [socket.status for socket in process.net_connections("tcp")]
    assert psutil.CONN_CLOSE_WAIT not in open_sockets
    assert len(open_sockets) < 20


# -- weight --------------------------------------------------------------------------------------


def test_the_openai_package_is_loaded_by_the_first_use_and_not_before() -> None:
    code = "import hermes_core.models.openai_chat, sys; sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
