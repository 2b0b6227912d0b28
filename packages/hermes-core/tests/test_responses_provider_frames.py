"""The scripted model in the Responses wire: the official client reads it, and strict rules hold for what it takes."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest
from hermes_core.testing import (
    Call,
    Chunk,
    Comment,
    Done,
    EndBody,
    Finish,
    Pause,
    Raw,
    ScriptedModel,
    Text,
    Think,
    Tokens,
    answer,
    call,
    refusal,
)
from hermes_core.testing.chat_form import response_violations

pytestmark = pytest.mark.anyio

USER: dict[str, Any] = {"type": "message", "role": "user", "content": "hi"}


def call_item(name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": "ls", "arguments": arguments}


def result_item(name: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": ""}


async def post(model: ScriptedModel, **body: Any) -> httpx2.Response:
    async with httpx2.AsyncClient(trust_env=False) as client:
        return await client.post(f"{model.base_url}/responses", json={"model": "m", "input": "hi", **body})


def events_of(response: httpx2.Response) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]


def client_of(model: ScriptedModel) -> openai.AsyncOpenAI:
    http = openai.DefaultAsyncHttpxClient(trust_env=False)
    return openai.AsyncOpenAI(base_url=model.base_url, api_key="k", http_client=http)


async def test_the_official_client_follows_a_stream_of_every_kind_of_item() -> None:
    """The client's own helper fails on events out of order, and on items that change their identity."""
    script = answer(
        Think("hm", times=2), Text("Hello", size=2), Call("ls", '{"path":"."}', pieces=3), "Bye", Tokens(9, 4, 3, 2)
    )
    async with ScriptedModel([script]) as model, client_of(model) as client:
        async with client.responses.stream(model="m", input="hi") as stream:
            kinds = [event.type async for event in stream]
            final = await stream.get_final_response()
    assert kinds[:3] == ["response.created", "response.in_progress", "response.output_item.added"]
    assert kinds.count("response.output_item.added") == kinds.count("response.output_item.done") == 4
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "message"]
    assert final.output_text == "HelloBye"
    assert final.usage is not None
    assert (final.usage.input_tokens, final.usage.input_tokens_details.cached_tokens) == (9, 3)
    assert (final.usage.output_tokens, final.usage.output_tokens_details.reasoning_tokens) == (4, 2)


async def test_events_are_numbered_without_gaps() -> None:
    async with ScriptedModel([answer(Text("ab", size=1, times=50), call("ls"))]) as model:
        events = events_of(await post(model, stream=True))
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


async def test_without_stream_the_same_script_is_one_response() -> None:
    script = answer(Think("hm"), "Hello", call("ls", path="."), Finish("length"))
    async with ScriptedModel([script, script]) as model, client_of(model) as client:
        whole = await client.responses.create(model="m", input="hi")
        streamed = events_of(await post(model, stream=True))[-1]["response"]
    assert (whole.status, whole.output_text) == ("incomplete", "Hello")
    shapes = [item.type for item in whole.output]
    assert shapes == [item["type"] for item in streamed["output"]] == ["reasoning", "message", "function_call"]


@pytest.mark.parametrize(
    ("reason", "last"),
    [
        ("stop", "completed"),
        ("tool_calls", "completed"),
        ("length", "incomplete"),
        ("content_filter", "incomplete"),
        ("error", "failed"),
    ],
)
async def test_the_finish_reason_makes_the_last_event(reason: str, last: str) -> None:
    async with ScriptedModel([answer("a", Finish(reason))]) as model:
        end = events_of(await post(model, stream=True))[-1]
    assert (end["type"], end["response"]["status"]) == (f"response.{last}", last)
    assert (end["response"]["error"] is not None) == (last == "failed")
    assert (end["response"]["incomplete_details"] is not None) == (last == "incomplete")


async def test_steps_that_shape_the_bytes_do_so_here_too() -> None:
    odd = {"type": "response.in_progress", "odd": True}
    steps = (Comment(), Chunk(odd), "a", Pause(0), Raw(": raw\n\n"), Chunk(7), Done())
    async with ScriptedModel([answer(*steps, EndBody(), newline="\r\n", split=3)]) as model:
        text = (await post(model, stream=True)).content.decode()
    assert text.startswith(
        ": PROCESSING\r\n\r\nevent: response.in_progress\r\ndata: " + json.dumps(odd).replace(" ", "")
    )
    assert "response.created" not in text and "response.completed" not in text
    assert text.endswith(": raw\n\ndata: 7\r\n\r\ndata: [DONE]\r\n\r\n")


async def test_directives_steer_by_the_items_since_the_last_user_message() -> None:
    turn = "[[echo Looking.]] [[call ls {}]] [[call pwd {}]] [[echo Found.]] [[finish length]]"
    user = {"role": "user", "content": [{"type": "input_text", "text": turn}]}
    said = {"type": "message", "role": "assistant", "content": "Looking."}
    history = [user, said, call_item("a"), call_item("b"), result_item("a"), result_item("b")]
    async with ScriptedModel() as model:
        first = events_of(await post(model, stream=True, input=[user]))[-1]["response"]["output"]
        second = events_of(await post(model, stream=True, input=history))[-1]["response"]
        plain = (await post(model)).json()["output"][0]["content"][0]["text"]
        refused = await post(model, input="[[status 429 retry_after=2 Slow down.]]")
    assert [item["type"] for item in first] == ["message", "function_call", "function_call"]
    assert (second["output"][0]["content"][0]["text"], second["status"]) == ("Found.", "incomplete")
    assert plain == "ok"
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
    assert refused.json()["error"]["message"] == "Slow down."


RULES: list[tuple[list[dict[str, Any]], str]] = [
    ([USER, call_item("a"), call_item("b"), result_item("a"), result_item("b")], ""),
    ([USER, {"type": "reasoning", "summary": []}, call_item("a"), result_item("a")], ""),
    ([USER, call_item("a"), call_item("b"), result_item("b"), result_item("a")], "should be the result of 'a'"),
    ([USER, call_item("a")], "'a' has no result"),
    ([USER, result_item("a")], "'tool' may not follow 'user'"),
    ([USER, call_item("a"), call_item("a"), result_item("a"), result_item("a")], "the same id"),
    ([USER, call_item("a", "[]"), result_item("a")], "not a JSON object"),
    ([{"type": "message", "role": "user", "content": ""}], "has no content"),
    ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "a part of kind 'text'"),
    ([USER, {"type": "something_else"}], "malformed"),
    ([], "messages is empty"),
]


@pytest.mark.parametrize(("items", "breach"), RULES)
async def test_the_rules_of_a_transcript_hold_for_items(items: list[dict[str, Any]], breach: str) -> None:
    found = list(response_violations(json.dumps({"model": "m", "input": items}).encode()))
    assert (breach in found[0]) if breach else not found


async def test_an_illegal_request_is_refused_and_noted() -> None:
    async with ScriptedModel([refusal(503)]) as model:
        refused = await post(model, input=[result_item("a")])
        assert refused.status_code == 400
        assert model.violations == ["messages[0]: 'tool' may not follow ''"]
        assert (await post(model)).status_code == 503
    assert list(response_violations(b"[")) and list(response_violations(b"[]"))
