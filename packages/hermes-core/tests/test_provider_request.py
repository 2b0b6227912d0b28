"""The body of a request: whatever the transcript holds, a strict provider takes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hermes_core.content import ImagePart, TextPart
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage, user_text
from hermes_core.models.chat_request import body_of, estimated_input, object_of
from hermes_core.models.provider import Endpoint, ModelRequest, ToolSpec
from hermes_core.testing.legality import violations
from hypothesis import given
from hypothesis import strategies as st
from provider_streams import ENDPOINT


def body(*messages: Message, endpoint: Endpoint = ENDPOINT, **more: Any) -> dict[str, Any]:
    raw = body_of(endpoint, ModelRequest(model="m", messages=messages, **more))
    assert list(violations(raw)) == []
    return json.loads(raw)


def test_a_whole_conversation_in_the_providers_words() -> None:
    spec = ToolSpec("ls", "List files.", {"type": "object", "properties": {}})
    sent = body(
        UserMessage((TextPart("Look"), ImagePart("data:image/png;base64,AA", "low"))),
        NoteMessage("The model was changed."),
        AssistantMessage(text="Yes", reasoning="not sent", tool_calls=(ToolCall("a", "ls", '{"x": 1}'),)),
        ToolMessage("a", "ls", "file"),
        AssistantMessage(text="Done"),
        UserMessage((TextPart("one"), TextPart("two"))),
        system="Be kind.",
        tools=(spec,),
        max_tokens=9,
        reasoning_effort="low",
        session_id="s",
    )
    call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"x": 1}'}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}}
    function = {"name": "ls", "description": "List files.", "parameters": spec.parameters}
    assert sent == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
            {"role": "assistant", "content": "Yes", "tool_calls": [call]},
            {"role": "tool", "content": "file", "tool_call_id": "a"},
            {"role": "assistant", "content": "Done"},
            {"role": "user", "content": "one\ntwo"},
        ],
        "tools": [{"type": "function", "function": function}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 9,
        "reasoning_effort": "low",
    }


def test_the_service_of_openai_gets_its_own_names() -> None:
    openai = Endpoint(provider="openai", model="gpt", base_url="https://api.openai.com/v1")
    sent = body(user_text("hi"), endpoint=openai, max_tokens=9, session_id="s")
    assert (sent["max_completion_tokens"], sent["prompt_cache_key"], sent.get("max_tokens")) == (9, "s", None)


def test_streaming_and_counting_are_left_out_where_they_are_refused() -> None:
    request = ModelRequest(model="", messages=(user_text("hi"),))
    uncounted = json.loads(body_of(ENDPOINT, request, usage=False))
    whole = json.loads(body_of(ENDPOINT, request, stream=False))
    assert uncounted == {"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": True}
    assert whole == {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_a_schema_binds_the_answer() -> None:
    schema = {"type": "object"}
    sent = body(user_text("hi"), response_schema=schema)["response_format"]
    assert (sent["type"], sent["json_schema"]["schema"]) == ("json_schema", schema)


def turn(*calls: ToolCall) -> list[Message]:
    results = [ToolMessage(call.id, call.name, f"result {at}") for at, call in enumerate(calls)]
    return [user_text("?"), AssistantMessage(tool_calls=calls), *results]


def test_calls_that_share_an_id_are_sent_with_distinct_ones_that_stay_the_same() -> None:
    """HA-035."""
    first = turn(ToolCall("same", "f", '{"n":1}'), ToolCall("same", "f", '{"n":2}'))
    later = [*first, AssistantMessage(text="Hm"), *turn(ToolCall("same", "f", "{}"), ToolCall("", "f", "{}"))]
    short, long = body(*first)["messages"], body(*later)["messages"]
    assert long[: len(short)] == short
    ids = [call["id"] for row in long for call in row.get("tool_calls", [])]
    assert len(set(ids)) == 4
    assert [row["tool_call_id"] for row in long if row["role"] == "tool"] == ids


@pytest.mark.parametrize(
    "arguments", ["", "  ", '{"path":"a","content":"xx', "[1]", "null", "text", "NaN", '{"a":NaN}']
)
def test_arguments_that_are_no_object_are_sent_as_one(arguments: str) -> None:
    """HA-006: a transcript with broken arguments is not refused for ever."""
    [call] = body(*turn(ToolCall("a", "f", arguments)))["messages"][1]["tool_calls"]
    value = json.loads(call["function"]["arguments"])
    assert isinstance(value, dict)


def test_the_model_still_sees_what_it_wrote_when_that_could_not_be_read() -> None:
    assert json.loads(object_of('{"path": "a')) == {"unreadable_arguments": '{"path": "a'}
    assert json.loads(object_of('{"a": "tab\there"}')) == {"a": "tab\there"}
    assert object_of('{"a":  1}') == '{"a":  1}'


def test_lone_surrogates_are_sent_as_replacement_characters() -> None:
    """HA-011."""
    calls = (ToolCall("a", "f", '{"p": "\\ud800"}'), ToolCall("b", "f", '{"p": "\ud800"}'))
    sent = body(
        user_text("a\ud800b"),
        AssistantMessage(tool_calls=calls),
        ToolMessage("a", "f", "name-\udcff"),
        ToolMessage("b", "f", ""),
    )["messages"]
    assert (sent[0]["content"], sent[2]["content"]) == ("a\ufffdb", "name-\ufffd")
    assert [json.loads(call["function"]["arguments"]) for call in sent[1]["tool_calls"]] == [{"p": "\ufffd"}] * 2


def test_names_that_providers_refuse_and_empty_messages_are_made_good() -> None:
    sent = body(*turn(ToolCall("a", "functions.read file", "{}")), AssistantMessage(reasoning="only"), user_text(""))
    assert sent["messages"][1]["tool_calls"][0]["function"]["name"] == "functions_read_file"
    assert (sent["messages"][3]["content"], sent["messages"][4]["content"]) == ("(no text)", "(no text)")


def test_the_estimate_of_a_request_counts_texts_tools_calls_and_images() -> None:
    """HA-014."""
    request = ModelRequest(
        model="m",
        system="s" * 40,
        messages=(
            UserMessage((TextPart("u" * 40), ImagePart("data:image/png;base64," + "A" * 9_000))),
            AssistantMessage(text="a" * 40, tool_calls=(ToolCall("i", "name", "x" * 40),)),
            ToolMessage("i", "name", "r" * 40),
            NoteMessage("n" * 4_000),
        ),
        tools=(ToolSpec("t", "d" * 40, {}),),
    )
    assert estimated_input(request) == 10 * 4 + 11 + 11 + 1_000


TEXTS = st.text(st.characters(), max_size=20)  # with lone surrogates
CALLS = st.lists(
    st.builds(ToolCall, id=st.sampled_from(["", "a", "b", "x" * 60]), name=TEXTS, arguments=TEXTS), max_size=3
)


@given(st.lists(st.tuples(TEXTS, TEXTS, CALLS), min_size=1, max_size=4))
def test_every_valid_transcript_makes_a_legal_body(turns: list[tuple[str, str, list[ToolCall]]]) -> None:
    """HA-006, HA-011, HA-035."""
    messages: list[Message] = []
    for question, text, calls in turns:
        messages += [user_text(question), AssistantMessage(text=text, tool_calls=tuple(calls))]
        messages += [ToolMessage(call.id, call.name, text) for call in calls]
        messages += [AssistantMessage(text=text)] if calls else []
    sent = body(*messages)
    assert len(sent["messages"]) == len(messages)
