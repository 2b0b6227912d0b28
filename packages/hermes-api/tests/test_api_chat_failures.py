"""A turn that fails never looks like one that succeeded, and a client that leaves ends its turn."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hermes_api.sse import KEEPALIVE, ClientGone, EventStream
from hermes_api.testing import KEY, ApiServer, api_server
from hermes_core.messages import AssistantMessage, ToolMessage
from hermes_core.testing import Cut, Finish, Stall, answer, call, refusal
from openai import APIError, APIStatusError, AsyncOpenAI

pytestmark = pytest.mark.anyio
Sdk = Callable[[ApiServer], AsyncOpenAI]
HI: list[Any] = [{"role": "user", "content": "hi"}]


async def healthy(api: ApiServer) -> bool:
    """Say whether the server answers on a new connection."""
    try:
        async with httpx2.AsyncClient() as http:
            return (await http.get(f"{api.url}/health")).status_code == 200
    except httpx2.TransportError:
        return False


async def stream_text(api: ApiServer) -> str:
    """Return the whole body of a streamed request."""
    async with httpx2.AsyncClient(headers=api.headers, timeout=30) as http:
        reply = await http.post(f"{api.url}/v1/chat/completions", json={"messages": HI, "stream": True})
        assert reply.status_code == 200
        return reply.text


@pytest.mark.parametrize("spoken", ["", "Half an ans"])
async def test_a_stream_that_fails_ends_with_an_error_and_another_finish(
    hermes_home: Path, sdk: Sdk, spoken: str
) -> None:
    """HA-100: before any text and after some; the official client raises, and the end mark still comes."""
    script = [answer(spoken, Cut(), tail=False)] if spoken else [refusal(400, "No such thing.")]
    async with api_server(hermes_home, *script, *script) as api, sdk(api) as ai:
        raw = await stream_text(api)
        stream = await ai.chat.completions.create(model="hermes-agent", messages=HI, stream=True)
        with pytest.raises(APIError):
            async for _ in stream:
                pass
    assert '"finish_reason":"error"' in raw
    assert '"error":{"message":' in raw
    assert '"finish_reason":"stop"' not in raw
    assert raw.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("spoken", ["", "Half an ans"])
async def test_a_whole_answer_that_fails_is_an_error_status_and_not_tried_again(
    hermes_home: Path, sdk: Sdk, spoken: str
) -> None:
    """HA-100: a 5xx envelope, and the official client is told not to run the turn once more."""
    script = [answer(spoken, Cut(), tail=False)] if spoken else [refusal(401, "Wrong provider key.")]
    async with api_server(hermes_home, *script) as api, sdk(api) as ai:
        with pytest.raises(APIStatusError) as failed:
            await ai.with_options(max_retries=2).chat.completions.create(model="hermes-agent", messages=HI)
        assert len(api.model.requests) == 1
        session_id = failed.value.response.headers["x-hermes-session-id"]
        rows = await api.runtime.store.messages(session_id)
    assert failed.value.status_code == 502
    assert failed.value.code in ("auth", "stream_broken")
    assert failed.value.response.headers["x-should-retry"] == "false"
    assert failed.value.response.headers["x-hermes-completed"] == "false"
    assert "provider-key-1" not in failed.value.response.text
    answers = [row.message for row in rows if isinstance(row.message, AssistantMessage)]
    assert all(message.finish in ("error", "interrupted") for message in answers)


async def test_a_cut_answer_says_length_streamed_and_whole(hermes_home: Path, sdk: Sdk) -> None:
    """HA-103: the cut can be seen, and no internal text stands in the content."""
    cut = answer("As far as it we", Finish("length"))
    async with api_server(hermes_home, cut, cut) as api, sdk(api) as ai:
        whole = await ai.chat.completions.with_raw_response.create(model="hermes-agent", messages=HI)
        stream = await ai.chat.completions.create(model="hermes-agent", messages=HI, stream=True)
        chunks = [chunk async for chunk in stream]
    completion = whole.parse()
    assert completion.choices[0].finish_reason == "length"
    assert completion.choices[0].message.content == "As far as it we"
    assert whole.headers["x-hermes-partial"] == "true"
    assert (completion.model_extra or {})["hermes"]["error_code"] == "output_truncated"
    assert chunks[-1].choices[0].finish_reason == "length"
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == "As far as it we"


async def test_a_used_up_step_budget_is_no_normal_stop(hermes_home: Path, sdk: Sdk) -> None:
    """HA-103"""
    loop = [answer(call("todo")) for _ in range(4)]
    async with api_server(hermes_home, *loop, config=["agent: {max_turns: 2}"]) as api, sdk(api) as ai:
        with pytest.raises(APIStatusError) as failed:
            await ai.chat.completions.create(model="hermes-agent", messages=HI)
        raw = await stream_text(api)
    assert failed.value.code == "budget"
    assert '"finish_reason":"error"' in raw
    assert '"content":"The turn' not in raw


async def test_without_any_model_the_answer_says_what_to_do(hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_core.errors import NoModelError

    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:

        async def nothing(*_: object, **__: object) -> None:
            raise NoModelError("No model is configured. Run `hermes setup`.")

        monkeypatch.setattr(api.runtime.models, "resolve", nothing)
        reply = await http.post(f"{api.url}/v1/chat/completions", json={"messages": HI})
    assert reply.status_code == 503
    assert reply.json()["error"]["code"] == "no_model"
    assert "hermes setup" in reply.json()["error"]["message"]


@pytest.mark.parametrize("behind", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_ends_its_turn_and_what_was_done_is_stored(
    hermes_home: Path, stream: bool, behind: bytes
) -> None:
    """HA-101: streamed and whole alike, the model call and the running tool end, and the transcript says so; also
    where a further request waits behind this one."""
    script = answer("Working.", call("terminal", command="echo begun > began; sleep 600; echo never > ended"))
    async with api_server(hermes_home, script, answer("never sent")) as api:
        body = b'{"messages":[{"role":"user","content":"go"}],"stream":%b}' % (b"true" if stream else b"false")
        request = (
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
            b"Authorization: Bearer %b\r\nX-Hermes-Session-Id: left\r\n\r\n%b" % (len(body), KEY.encode(), body)
        )
        async with await anyio.connect_tcp("127.0.0.1", api.port) as client:
            await client.send(request + behind)
            with anyio.fail_after(10):
                while not await anyio.Path(hermes_home / "began").exists():
                    await anyio.lowlevel.checkpoint()
            session = api.runtime.find("left")
            assert session is not None
        with anyio.fail_after(10):
            while api.runtime.find("left") is not None:
                await anyio.lowlevel.checkpoint()
        rows = [row.message for row in await api.runtime.store.messages("left")]
        assert len(api.model.requests) == 1
    assert not (hermes_home / "ended").exists()
    results = [message for message in rows if isinstance(message, ToolMessage)]
    assert [result.outcome for result in results] == ["interrupted"]
    assert isinstance(rows[1], AssistantMessage)
    assert rows[1].text == "Working."


async def test_a_client_that_leaves_while_the_model_is_silent_frees_its_place(hermes_home: Path) -> None:
    """HA-101: the provider's stream is closed too."""
    lines = ["gateway: {api_server: {max_concurrent_runs: 1}}"]
    async with (
        api_server(hermes_home, answer(Stall()), config=lines) as api,
        httpx2.AsyncClient(headers=api.headers) as http,
    ):
        url = f"{api.url}/v1/chat/completions"
        async with http.stream("POST", url, json={"messages": HI, "stream": True}) as reply:
            assert reply.status_code == 200
            await api.model.wait_for_stall()
        with anyio.fail_after(10):
            while (again := await http.post(url, json={"messages": HI})).status_code == 429:
                await anyio.lowlevel.checkpoint()
    assert again.status_code == 200


async def test_a_client_that_reads_nothing_is_dropped_and_its_turn_interrupted(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that stalls holds neither the turn nor memory nor a place among the connections."""
    monkeypatch.setattr("hermes_core.serving.connections.most_connections", lambda: 1)
    monkeypatch.setattr("hermes_core.serving.connections.LAST_READ_SECONDS", 0.1)
    monkeypatch.setattr("hermes_api.sse.STALL_SECONDS", 0.2)
    monkeypatch.setattr("hermes_api.sse.KEEPALIVE_SECONDS", 0.1)
    text = "[[text n=5000 size=4000]] [[stall]]"
    async with api_server(hermes_home) as api:
        body = b'{"messages":[{"role":"user","content":"%b"}],"stream":true}' % text.encode()
        request = (
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
            b"Authorization: Bearer %b\r\nX-Hermes-Session-Id: slow\r\n\r\n%b" % (len(body), KEY.encode(), body)
        )
        async with await anyio.connect_tcp("127.0.0.1", api.port) as client:
            await client.send(request)
            await api.model.wait_for_requests(1)
            with anyio.fail_after(30):
                while api.runtime.find("slow") is not None:
                    await anyio.lowlevel.checkpoint()
                while not await healthy(api):
                    await anyio.lowlevel.checkpoint()
        rows = [row.message for row in await api.runtime.store.messages("slow")]
    assert isinstance(rows[-1], AssistantMessage)
    assert rows[-1].finish == "interrupted"


async def test_a_comment_that_cannot_be_sent_tells_that_the_client_has_stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_api.sse.STALL_SECONDS", 0.05)
    monkeypatch.setattr("hermes_api.sse.KEEPALIVE_SECONDS", 0.01)

    async def send(message: MutableMapping[str, Any]) -> None:
        if message.get("body") == KEEPALIVE:
            await anyio.sleep_forever()

    stream = EventStream(send)
    await stream.start([], b"data: x\n\n")
    with anyio.fail_after(10), pytest.raises(ClientGone):
        await stream.tend()


async def test_a_silent_turn_keeps_the_stream_alive_with_comments(
    hermes_home: Path, sdk: Sdk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-106: comments that the official client does not show, and the first byte before the model has said any."""
    monkeypatch.setattr("hermes_api.sse.KEEPALIVE_SECONDS", 0.02)
    silent = answer(Stall(), "At last.")
    async with api_server(hermes_home, silent, silent) as api, sdk(api) as ai:
        async with httpx2.AsyncClient(headers=api.headers, timeout=30) as http:
            body = {"messages": HI, "stream": True}
            async with http.stream("POST", f"{api.url}/v1/chat/completions", json=body) as reply:
                lines = reply.aiter_lines()
                assert '"role":"assistant"' in await anext(lines)
                comments = 0
                async for line in lines:
                    comments += line == ": keepalive"
                    if comments == 3:
                        break
                api.model.release()
                rest = "\n".join([line async for line in lines])
        assert "At last." in rest
        stream = await ai.chat.completions.create(model="hermes-agent", messages=HI, stream=True)
        await api.model.wait_for_stall()
        api.model.release()
        texts = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(texts) == "At last."


async def test_keys_appear_in_no_answer_no_log_and_no_file(hermes_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """HA-145, HA-155: not after a turn that works, nor after one that fails, nor do message texts reach the log."""
    caplog.set_level("DEBUG", logger="hermes_api")
    caplog.set_level("DEBUG", logger="hermes_core")
    said = [{"role": "user", "content": "my client_secret is abc123xyz"}]
    async with (
        api_server(hermes_home, answer("ok"), refusal(401, "Key provider-key-1 is wrong.")) as api,
        httpx2.AsyncClient(headers=api.headers) as http,
    ):
        url = f"{api.url}/v1/chat/completions"
        answers = [await http.post(url, json={"messages": said}) for _ in range(2)]
    assert [reply.status_code for reply in answers] == [200, 502]
    shown = "".join(reply.text + str(reply.headers) for reply in answers)
    files = [path async for path in anyio.Path(hermes_home).glob("sessions.sqlite3*")]
    kept = b"".join([await path.read_bytes() for path in files])
    assert b"client_secret" in kept
    for secret in (KEY, "provider-key-1"):
        assert secret not in shown
        assert secret not in caplog.text
        assert secret.encode() not in kept
    assert "abc123xyz" not in caplog.text
