"""Conversations in OpenAI's form: what is handed over is read whole, or refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from hermes_core.agent_history import from_openai, to_openai
from hermes_core.errors import InvalidInput

CALL = {"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}
ASKED = {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "2"}]}


def result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "r"}


def test_a_conversation_survives_the_way_there_and_back() -> None:
    messages = [
        {"role": "user", "content": "hi"},
        ASKED,
        result("1"),
        result("2"),
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
    ]
    assert to_openai(from_openai(messages)) == messages


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([result("1")], r"conversation_history[0]"),
        ([ASKED, result("1"), {"role": "user", "content": "x"}], "conversation_history[2]"),
        ([ASKED, result("2"), result("1")], "conversation_history[1]"),
        ([ASKED, result("1")], "conversation_history[1]"),
        ([ASKED], "conversation_history[0]"),
        ([{"role": "user", "content": [{"type": "text"}]}], "conversation_history[0].content"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": "u"}]}], "conversation_history[0].content"),
        ([{"role": "user", "content": ["x"]}], "conversation_history[0].content"),
        ([{"role": "user", "content": None}], "conversation_history[0].content"),
        ([{"role": "assistant", "tool_calls": "abc"}], "conversation_history[0].tool_calls"),
        ([{"role": "robot", "content": "x"}], "conversation_history[0].role"),
        (["x"], "conversation_history[0]"),
    ],
)
def test_a_history_that_no_provider_would_take_is_refused_by_name(messages: list[Any], field: str) -> None:
    """HA-001 kind: what is stored as history can be sent for ever after."""
    with pytest.raises(InvalidInput) as refused:
        from_openai(messages)
    assert refused.value.field == field
