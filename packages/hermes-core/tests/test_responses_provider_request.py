"""The body of a Responses request: stateless, and whatever the transcript holds, a strict service takes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hermes_core.content import ImagePart, TextPart
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage, user_text
from hermes_core.models.provider import ModelRequest, ToolSpec
from hermes_core.models.responses_request import responses_body
from hermes_core.testing.chat_form import chat_form, response_violations
from hypothesis import given
from hypothesis import strategies as st
from provider_streams import ENDPOINT


def body(*messages: Message, stream: bool = True, summary: bool = True, **more: Any) -> dict[str, Any]:
    request = ModelRequest(model="m", messages=messages, **more)
    raw = responses_body(ENDPOINT, request, stream=stream, summary=summary)
    assert list(response_violations(raw)) == []
    return json.loads(raw)


def test_a_whole_conversation_in_items_that_refer_to_nothing_stored() -> None:
    spec = ToolSpec("ls", "List files.", {"type": "object", "properties": {}})
    sent = body(
        UserMessage((TextPart("Look"), ImagePart("data:image/png;base64,AA", "low"), ImagePart("https://x/y.png"))),
        NoteMessage("The model was changed."),
        AssistantMessage(text="Yes", reasoning="not sent", tool_calls=(ToolCall("a", "ls", '{"x": 1}'),)),
        ToolMessage("a", "ls", "file"),
        AssistantMessage(tool_calls=(ToolCall("b", "ls", "{}"), ToolCall("c", "ls", "{}"))),
        ToolMessage("b", "ls", ""),
        ToolMessage("c", "ls", "more"),
        AssistantMessage(text="Done"),
        UserMessage((TextPart("one"), TextPart("two"))),
        system="Be kind.",
        tools=(spec,),
        max_tokens=99,
        reasoning_effort="low",
        session_id="s",
    )
    images = [
        {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "low"},
        {"type": "input_image", "image_url": "https://x/y.png", "detail": "auto"},
    ]
    assert sent == {
        "model": "m",
        "instructions": "Be kind.",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look"}, *images]},
            {"type": "message", "role": "assistant", "content": "Yes"},
            {"type": "function_call", "call_id": "a", "name": "ls", "arguments": '{"x": 1}'},
            {"type": "function_call_output", "call_id": "a", "output": "file"},
            {"type": "function_call", "call_id": "b", "name": "ls", "arguments": "{}"},
            {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "b", "output": ""},
            {"type": "function_call_output", "call_id": "c", "output": "more"},
            {"type": "message", "role": "assistant", "content": "Done"},
            {"type": "message", "role": "user", "content": "one\ntwo"},
        ],
        "tools": [
            {
                "type": "function",
                "name": "ls",
                "description": "List files.",
                "parameters": spec.parameters,
                "strict": False,
            }
        ],
        "store": False,
        "stream": True,
        "max_output_tokens": 99,
        "reasoning": {"effort": "low", "summary": "auto"},
        "prompt_cache_key": "s",
    }


def test_what_is_not_asked_for_is_not_sent() -> None:
    hi = {"type": "message", "role": "user", "content": "hi"}
    assert body(user_text("hi"), stream=False) == {"model": "m", "input": [hi], "store": False}


@pytest.mark.parametrize(
    ("effort", "summary", "sent"),
    [
        ("", True, None),
        ("high", True, {"effort": "high", "summary": "auto"}),
        ("high", False, {"effort": "high"}),
        ("none", True, {"effort": "none"}),
    ],
)
def test_reasoning_is_told_of_where_there_is_some(effort: str, summary: bool, sent: Any) -> None:
    assert body(user_text("hi"), summary=summary, reasoning_effort=effort).get("reasoning") == sent


def test_a_schema_binds_the_answer() -> None:
    schema = {"type": "object"}
    [(kind, sent)] = body(user_text("hi"), response_schema=schema)["text"].items()
    assert (kind, sent) == ("format", {"type": "json_schema", "name": "answer", "schema": schema, "strict": True})


def test_calls_that_share_an_id_are_sent_with_distinct_ones_and_their_results_follow() -> None:
    """HA-035."""
    calls = (ToolCall("same", "f", "{}"), ToolCall("same", "f", "{}"))
    results = [ToolMessage("same", "f", "one"), ToolMessage("same", "f", "two")]
    items = body(user_text("?"), AssistantMessage(tool_calls=calls), *results)["input"]
    assert [item.get("call_id") for item in items[1:]] == ["same", "same_2", "same", "same_2"]


@given(st.text(), st.text(), st.text(max_size=90))
def test_no_text_makes_an_illegal_request(said: str, arguments: str, name: str) -> None:
    """HA-011: lone surrogates too."""
    history = [
        UserMessage((TextPart(said + "\ud800"), TextPart(""))),
        AssistantMessage(text=said, tool_calls=(ToolCall(name, name, arguments), ToolCall("", "f", said))),
        ToolMessage(name, name, said),
        ToolMessage("", "f", ""),
        AssistantMessage(),
        UserMessage((TextPart(""), ImagePart("https://x/y.png"))),
    ]
    sent = body(*history, system=said, session_id=said)
    assert len(chat_form(sent)["messages"]) == len(history) + bool(said)
