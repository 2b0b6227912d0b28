"""What the small local model is told, and what is made of its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hermes_core.content import ImagePart, TextPart
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage, user_text
from hermes_core.models.local_prompt import (
    MAX_CHARS,
    answer_request,
    decision_request,
    decision_schema,
    fresh_results,
    last_request,
    offers,
    quoted,
    read_decision,
)
from hermes_core.models.provider import ModelRequest, ToolSpec
from hermes_core.usage import estimate_tokens
from hypothesis import given
from hypothesis import strategies as st

TOOLS = tuple(
    ToolSpec(name, "", {"type": "object", "properties": {}, "required": []})
    for name in ("terminal", "read_file", "write_file", "search_files", "todo", "clarify")
)


def meant(text: str) -> list[str]:
    return [offer.name for offer in offers(text, TOOLS)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "Hi, who are you?",
        "What is the capital of France?",
        "Write a haiku about the sea",
        "thanks, that was helpful!",
        "How do I run a marathon?",
        "find me a nice recipe",
        "Explain recursion to me",
        "Make a plan for my day",
        "What are you doing?",
        "Say only the word PONG",
        "I opened the window this morning.",
        "what is the difference between a list and a tuple",
    ],
)
def test_talk_is_never_taken_for_the_use_of_a_tool(text: str) -> None:
    assert meant(text) == []


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("list the files in this folder", "terminal"),
        ("run `echo hi`", "terminal"),
        ("Please run the tests", "terminal"),
        ("ls -la", "terminal"),
        ("show git status", "terminal"),
        ("delete the file old.log", "terminal"),
        ("show me README.md", "read_file"),
        ("what does src/app.py contain?", "read_file"),
        ("create a file hello.txt with the text hello", "write_file"),
        ("search for TODO in the project", "search_files"),
        ("find all uses of load_config", "search_files"),
    ],
)
def test_a_clear_request_means_one_tool(text: str, tool: str) -> None:
    assert meant(text) == [tool]


def test_only_tools_that_the_agent_offers_are_meant() -> None:
    assert offers("run `ls`", ()) == ()
    assert offers("show me README.md", TOOLS[:1]) == ()


def test_another_tool_is_meant_when_it_is_called_by_its_name() -> None:
    spec = ToolSpec(
        "get_weather",
        "",
        {"type": "object", "properties": {"city": {"type": "string"}, "day": {"type": "string"}}, "required": ["city"]},
    )
    offered = offers("use get_weather for Rome", (*TOOLS, spec))
    assert [offer.name for offer in offered] == ["get_weather"]
    assert decision_schema(offered)["properties"] == {"tool": {"const": "get_weather"}, "city": {"type": "string"}}


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        ("run `echo hi` and `pwd`", "command", ["echo hi", "pwd"]),
        ("cat /etc/hostname", "command", ["cat /etc/hostname"]),
        ("read docs/a.md, then b.txt", "path", ["docs/a.md", "b.txt"]),
        ("search for 'two words' in the code", "pattern", ["two words"]),
        ("search for TODO in the project", "pattern", ["TODO"]),
        ("write x into notes/new.md", "path", ["notes/new.md"]),
        ("write good morning into notes/new.md", "content", ["good morning"]),
        ("create a.txt with the text hello there", "content", ["hello there"]),
        ("make a file b.md containing 'one two'", "content", ["one two"]),
    ],
)
def test_paths_and_commands_of_the_request_are_the_only_ones_allowed(text: str, field: str, values: list[str]) -> None:
    schema = decision_schema(offers(text, TOOLS))
    assert schema["properties"][field] == {"enum": values}
    assert schema["additionalProperties"] is False


def decision(text: str) -> ModelRequest:
    return decision_request(text, offers(text, TOOLS), "m")


def test_the_prompt_is_small_and_begins_with_the_same_bytes_for_every_request() -> None:
    one, two = decision("run `ls`"), decision("show me README.md")
    assert (one.system, one.messages[:-1]) == (two.system, two.messages[:-1])
    size = estimate_tokens(one.system) + sum(
        estimate_tokens(message.text) + 5
        for message in one.messages
        if isinstance(message, UserMessage | AssistantMessage)
    )
    assert size < 600
    assert one.tools == ()
    assert one.response_schema is not None


def test_every_example_is_a_call_that_the_schema_of_its_own_request_allows() -> None:
    import jsonschema

    messages = decision("run `ls`").messages[:-1]
    for asked, answer in zip(messages[::2], messages[1::2], strict=True):
        assert isinstance(asked, UserMessage)
        assert isinstance(answer, AssistantMessage)
        offered = offers(asked.text, TOOLS)
        if offered:
            jsonschema.validate(json.loads(answer.text), decision_schema(offered))


def call(text: str, asked: str) -> ToolCall | None:
    return read_decision(text, asked, offers(asked, TOOLS), "id")


def test_a_decision_becomes_an_ordinary_tool_call() -> None:
    assert call('{"tool": "terminal", "command": "ls -l"}', "list the files here") == ToolCall(
        "id", "terminal", '{"command":"ls -l"}'
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"tool": "terminal", "comm',
        '["terminal"]',
        '{"tool": "launch_rocket"}',
        '{"command": "ls"}',
        '{"tool": "terminal", "command": "rm -r *"}',
        '{"tool": "terminal", "command": "sudo ls"}',
        '{"tool": "terminal", "command": "ls > /etc/passwd"}',
        '{"tool": "terminal", "command": "ls -w -w -w -w -w"}',
    ],
)
def test_what_is_no_call_or_does_unasked_harm_is_dropped(text: str) -> None:
    assert call(text, "list the files here") is None


def test_a_harmful_command_that_was_asked_for_is_a_call_for_the_policy_to_judge() -> None:
    assert call('{"tool": "terminal", "command": "rm old.log"}', "delete the file old.log") is not None
    assert call('{"tool": "terminal", "command": "sudo ls"}', "run sudo ls") is not None


MESSAGES = st.lists(
    st.one_of(
        st.builds(user_text, st.text(max_size=300)),
        st.builds(AssistantMessage, text=st.text(max_size=300)),
        st.builds(ToolMessage, st.just("1"), st.just("terminal"), st.text(max_size=9000)),
        st.builds(NoteMessage, st.text(max_size=20)),
    ),
    max_size=30,
)


@given(before=MESSAGES, last=st.text(min_size=1, max_size=40_000), tiny=st.booleans())
def test_however_long_a_conversation_is_what_is_sent_stays_small(before: list[Message], last: str, tiny: bool) -> None:
    request = ModelRequest(model="big", system="s" * 50_000, messages=(*before, user_text(last)), tools=TOOLS)
    small = answer_request(request, "m", small=tiny)
    assert len(small.system) < 200
    assert small.tools == ()
    assert small.messages
    assert isinstance(small.messages[0], UserMessage)
    assert isinstance(small.messages[-1], UserMessage)
    texts = [message.text for message in small.messages if isinstance(message, UserMessage | AssistantMessage)]
    assert len(texts) == len(small.messages)
    assert sum(map(len, texts)) <= MAX_CHARS + 100


def test_the_results_of_tools_are_what_stands_at_the_end() -> None:
    one, two = ToolMessage("1", "terminal", "a"), ToolMessage("2", "terminal", "b\nc")
    messages: tuple[Message, ...] = (user_text("x"), AssistantMessage(), one, two, NoteMessage("n"))
    assert fresh_results(messages) == (one, two)
    assert last_request(messages) == ""
    assert fresh_results((*messages, user_text("next"))) == ()
    assert last_request((*messages, user_text(" next "), NoteMessage("n"))) == "next"
    assert quoted((one, two)) == "a\n\n```\nb\nc\n```"


def test_small_weights_are_shown_the_talk_and_not_the_work() -> None:
    work = (user_text("run ls"), AssistantMessage(tool_calls=(ToolCall("1", "terminal", "{}"),)))
    result = ToolMessage("1", "terminal", "a")
    talk = (user_text("hi"), AssistantMessage(text="Hello."))
    request = ModelRequest(
        model="m", messages=(*talk, *work, result, AssistantMessage(text="a"), user_text("and now?"))
    )
    assert [getattr(row, "text", "") for row in answer_request(request, "m", small=True).messages] == [
        "hi",
        "Hello.",
        "and now?",
    ]
    large = answer_request(request, "m", small=False).messages
    assert [getattr(row, "text", "") for row in large] == ["hi", "Hello.", "run ls", "a", "and now?"]
    fresh = answer_request(ModelRequest(model="m", messages=(*work, result)), "m", small=False).messages
    assert "The result is:\n\na" in getattr(fresh[-1], "text", "")


def test_a_long_result_is_quoted_from_its_beginning_and_says_what_is_missing() -> None:
    text = quoted((ToolMessage("1", "terminal", "\n".join(f"line {number}" for number in range(50))),))
    assert "line 0" in text
    assert "line 49" not in text
    assert "30 more lines" in text


def test_an_image_leaves_the_text_of_its_message() -> None:
    message: Any = UserMessage(parts=(TextPart("look"), ImagePart("data:image/png;base64,AA==")))
    assert last_request((message,)) == "look"
