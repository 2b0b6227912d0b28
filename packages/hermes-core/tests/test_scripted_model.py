"""The scripted model: that it keeps to its script, its directives, its rules, and lets itself be steered."""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

import anyio
import httpx2
import pytest
from hermes_core.testing import (
    Chunk,
    Comment,
    Cut,
    FakeClock,
    Finish,
    Raw,
    ScriptedModel,
    Stall,
    Text,
    Think,
    Tokens,
    answer,
    call,
    refusal,
)
from hermes_core.testing.legality import violations

pytestmark = pytest.mark.anyio


def body(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "messages": [{"role": "user", "content": text}], **more}


def events(text: str) -> list[Any]:
    frames = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
    return [frame if frame == "[DONE]" else json.loads(frame) for frame in frames]


def joined(text: str) -> str:
    chunks = [event for event in events(text) if event != "[DONE]" and event["choices"]]
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)


async def ask(model: ScriptedModel, request: dict[str, Any]) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{model.base_url}/chat/completions", json=request)


async def test_answers_are_given_in_order_with_finish_usage_and_done() -> None:
    async with ScriptedModel([answer(Text("Hello", size=2)), answer(call("ls", path="."))]) as model:
        first = events((await ask(model, body(stream_options={"include_usage": True}))).text)
        second = events((await ask(model, body())).text)
    pieces = [event["choices"][0]["delta"].get("content") for event in first[:3]]
    assert pieces == ["He", "ll", "o"]
    assert first[3]["choices"][0]["finish_reason"] == "stop"
    assert first[4]["choices"] == [] and first[4]["usage"]["total_tokens"] == 103
    assert first[5] == "[DONE]"
    assert second[0]["choices"][0]["delta"]["tool_calls"][0]["function"] == {"name": "ls", "arguments": '{"path":"."}'}
    assert [event["choices"][0]["finish_reason"] for event in second[:2]] == [None, "tool_calls"]
    assert [request["messages"][0]["content"] for request in model.requests] == ["hi", "hi"]


async def test_a_request_without_stream_gets_one_completion() -> None:
    async with ScriptedModel([answer(Think("hm"), "Yes", Tokens(input=7, output=2, cached=3))]) as model:
        whole = (await ask(model, body(stream=False))).json()
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "Yes", "reasoning_content": "hm"}
    assert whole["usage"]["prompt_tokens_details"] == {"cached_tokens": 3}


async def test_directives_of_the_last_user_message_steer_when_the_script_is_used_up() -> None:
    turn = '[[echo Looking.]] [[call ls {"a": [[1]]}]] [[call pwd {}]] [[text n=3 size=4]]'
    async with ScriptedModel() as model:
        first = events((await ask(model, body(turn))).text)
        calls = [
            {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in ("ls", "pwd")
        ]
        history = [
            {"role": "user", "content": turn},
            {"role": "assistant", "content": "Looking.", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "ls", "content": ""},
            {"role": "tool", "tool_call_id": "pwd", "content": "/"},
        ]
        second = (await ask(model, body(messages=history))).text
        plain = (await ask(model, body("hello"))).text
        refused = await ask(model, body("[[status 429 retry_after=2 Slow down.]]"))
    functions = [event["choices"][0]["delta"]["tool_calls"][0]["function"] for event in first[1:3]]
    assert functions == [{"name": "ls", "arguments": '{"a": [[1]]}'}, {"name": "pwd", "arguments": "{}"}]
    assert joined(second) == "abc abc abc "
    assert joined(plain) == "ok"
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert refused.json()["error"]["message"] == "Slow down."


async def test_a_stalled_answer_waits_for_its_release_and_a_client_that_leaves_is_noticed() -> None:
    async with ScriptedModel([answer("a", Stall(), "b"), answer("c", Stall("never"))]) as model:
        texts: list[str] = []
        async with anyio.create_task_group() as tasks:

            async def first() -> None:
                texts.append(joined((await ask(model, body())).text))

            tasks.start_soon(first)
            await model.wait_for_stall()
            assert texts == []
            model.release()
        assert texts == ["ab"]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, model, body())
            await model.wait_for_stall("never")
            tasks.cancel_scope.cancel()
        await model.wait_for_hang_ups(1)
        await model.wait_for_idle()
        assert model.counts["requests"] == 2


@pytest.mark.parametrize("reset", [False, True])
async def test_a_cut_closes_the_socket_in_mid_answer(reset: bool) -> None:
    async with ScriptedModel([answer("a", Cut(reset=reset))]) as model:
        with pytest.raises(httpx2.TransportError):
            await ask(model, body())
        assert model.counts["hang_ups"] == 0


async def test_every_byte_of_a_raw_answer_arrives_with_any_newline_and_split() -> None:
    steps = (Comment(), Chunk({"odd": "\u2028"}), Raw("data: x\r\n\r\n"), Finish(""))
    async with ScriptedModel([answer(*steps, tail=False, newline="\r\n", split=1)]) as model:
        text = (await ask(model, body())).content.decode()
    assert text.startswith(': PROCESSING\r\n\r\ndata: {"odd":"\u2028"}\r\n\r\ndata: x\r\n\r\n')
    assert text.endswith('"finish_reason":""}]}\r\n\r\n')


async def test_an_illegal_transcript_is_refused_and_noted_unless_the_model_is_lenient() -> None:
    broken = [{"role": "tool", "tool_call_id": "x", "content": "?"}]
    async with ScriptedModel([answer("kept")]) as model:
        refused = await ask(model, body(messages=broken))
        kept = await ask(model, body())
    async with ScriptedModel(strict=False) as lenient:
        accepted = await ask(lenient, body(messages=broken))
    assert (refused.status_code, accepted.status_code) == (400, 200)
    assert model.violations == ["messages[0]: 'tool' may not follow ''"]
    assert joined(kept.text) == "kept"


ASSISTANT = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
    ],
}
USER = {"role": "user", "content": "hi"}
RESULTS = [{"role": "tool", "tool_call_id": name, "content": ""} for name in "ab"]


@pytest.mark.parametrize(
    ("messages", "breach"),
    [
        ([USER, ASSISTANT, *RESULTS], ""),
        ([USER, ASSISTANT, *RESULTS, {"role": "assistant", "content": "done"}, USER], ""),
        ([USER, ASSISTANT, *reversed(RESULTS)], "should be the result of 'a'"),
        ([USER, ASSISTANT, RESULTS[0]], "'b' has no result"),
        ([USER, ASSISTANT, *RESULTS, USER], "'user' may not follow 'tool'"),
        ([USER, {"role": "assistant", "content": ""}], "has no content"),
        ([], "messages is empty"),
        ([{"role": "robot", "content": "x"}], "malformed"),
    ],
)
async def test_the_rules_of_a_transcript(messages: list[dict[str, Any]], breach: str) -> None:
    found = list(violations(json.dumps({"model": "m", "messages": messages}).encode()))
    assert (breach in found[0]) if breach else not found


async def test_arguments_that_are_no_object_and_repeated_ids_are_breaches() -> None:
    function = {"name": "ls", "arguments": '["a"]'}
    calls = [{"id": "a", "function": function}, {"id": "a", "function": {"name": "ls", "arguments": "{}"}}]
    assistant = {"role": "assistant", "content": None, "tool_calls": calls}
    request = {"model": "m", "messages": [USER, assistant, RESULTS[0], RESULTS[0]]}
    assert [breach.partition(" ")[2][:20] for breach in violations(json.dumps(request).encode())] == [
        "has two calls with t",
        "the arguments of 'a'",
    ]


async def test_other_keys_than_the_scripts_are_refused() -> None:
    from hermes_core.testing import Script

    async with ScriptedModel(Script(api_key="right")) as model, httpx2.AsyncClient(trust_env=False) as client:
        url = f"{model.base_url}/chat/completions"
        wrong = await client.post(url, json=body(), headers={"Authorization": "Bearer wrong"})
        right = await client.post(url, json=body(), headers={"Authorization": "Bearer right"})
    assert (wrong.status_code, right.status_code) == (401, 200)


async def test_models_health_and_unknown_paths_are_answered() -> None:
    async with ScriptedModel([refusal(503)]) as model, httpx2.AsyncClient(trust_env=False) as client:
        models = await client.get(f"{model.base_url}/models")
        health = await client.get(model.base_url.removesuffix("/v1") + "/health")
        missing = await client.get(f"{model.base_url}/zzz")
        refused = await client.post(f"{model.base_url}/chat/completions", json=body())
    assert models.json()["data"][0]["id"] == "scripted-model"
    assert health.json() == {"status": "ok"}
    assert (missing.status_code, refused.status_code) == (404, 503)


async def test_as_a_process_it_prints_its_address_first_reads_its_script_and_ends_on_sigterm(tmp_path: Any) -> None:
    script = tmp_path / "script.json"
    script.write_text('{"answers": [{"steps": [{"do": "text", "text": "From a file"}]}]}')
    command = [sys.executable, "-W", "error", "-m", "hermes_core.testing.model_server", "--script", str(script)]
    async with await anyio.open_process(command, stderr=None) as process:
        assert process.stdout is not None
        url = (await process.stdout.receive()).decode().strip()
        async with httpx2.AsyncClient(trust_env=False) as client:
            reply = await client.post(f"{url}/chat/completions", json=body())
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert joined(reply.text) == "From a file"


async def test_the_process_says_in_one_sentence_that_its_port_is_taken() -> None:
    async with ScriptedModel() as first:
        port = first.base_url.removesuffix("/v1").rpartition(":")[2]
        command = [sys.executable, "-W", "error", "-m", "hermes_core.testing.model_server", "--port", port]
        done = await anyio.run_process(command, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"The scripted model cannot listen on port {port}: ")
    assert done.stderr.count(b"\n") == 1


async def test_a_fake_clock_wakes_sleepers_at_their_own_time() -> None:
    clock = FakeClock(start=1000.0)
    woken: list[tuple[str, float]] = []

    async def sleeper(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.time()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleeper, "late", 5)
        tasks.start_soon(sleeper, "early", 2)
        tasks.start_soon(sleeper, "gone", 3)
        await clock.wait_for_sleepers(3)
        await clock.advance(1.5)
        assert woken == []
        await clock.advance(8.5)
    assert woken == [("early", 1002.0), ("gone", 1003.0), ("late", 1005.0)]
    assert (clock.sleepers, clock.monotonic()) == (0, 10.0)
