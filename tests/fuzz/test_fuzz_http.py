"""The HTTP surface's decoding of any bodies."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from fuzz.generated import FUZZ, fields, lines, objects, values, words_of
from hermes_api.errors import ApiError, envelope
from hermes_api.wire import chat, runs
from hermes_api.wire.conversation import ClientMessage, Conversation, conversation_of
from hermes_api.wire.decode import decode
from hermes_core.messages import AssistantMessage, UserMessage
from hypothesis import given
from hypothesis import strategies as st

BODIES = (chat.ChatRequest, runs.RunRequest, runs.ApprovalBody, runs.SteerBody)
ROLES = ["user", "assistant", "system", "developer", "tool", "USER"]
KINDS = ["text", "input_text", "image_url", "input_image", "file"]
VALUES = values([*words_of(BODIES), *ROLES, *KINDS, "type", "url", "detail", "data:image/png;base64,AAAA", "http://a"])
PARTS = fields(type=st.sampled_from(KINDS), text=VALUES, image_url=VALUES)
MESSAGES = st.lists(fields(role=st.sampled_from(ROLES) | VALUES, content=VALUES | st.lists(PARTS | VALUES)), max_size=5)


def read_chat(body: bytes) -> Conversation:
    """Read the body of a chat completion as its route does."""
    return conversation_of(chat.checked(decode(body, chat.ChatRequest)).messages)


def read_run(body: bytes) -> Conversation:
    """Read the body of a run as its route does."""
    return runs.run_conversation(decode(body, runs.RunRequest))


def read_approval(body: bytes) -> tuple[str, str]:
    """Read the answer to an approval as its route does."""
    answer = decode(body, runs.ApprovalBody)
    return runs.approval_target(answer), runs.approval_choice(answer)


def read_steering(body: bytes) -> str:
    """Read steering text as its route does."""
    return runs.steer_text(decode(body, runs.SteerBody))


def meaningful() -> st.SearchStrategy[Any]:
    """Return values that are mostly bodies of one of the routes."""
    chats = fields(messages=MESSAGES | VALUES, stream=VALUES, n=VALUES)
    inputs = fields(input=MESSAGES | VALUES, conversation_history=MESSAGES, instructions=VALUES)
    return st.one_of(chats, inputs, *(objects(body, VALUES) for body in BODIES), VALUES)


@pytest.mark.parametrize("read", [read_chat, read_run, read_approval, read_steering])
@FUZZ
@given(lines(meaningful()))
def test_any_body_is_read_or_refused_with_an_error_of_the_api(read: Callable[[bytes], Any], body: bytes) -> None:
    try:
        found = read(body)
    except ApiError as error:
        assert error.status in (400, 404)
        assert msgspec.json.decode(envelope(error))
    else:
        assert found


@FUZZ
@given(MESSAGES)
def test_a_conversation_that_is_accepted_alternates_and_ends_in_something_said(messages: list[Any]) -> None:
    try:
        asked = conversation_of(msgspec.convert(messages, list[ClientMessage]))
    except (ApiError, msgspec.ValidationError) as error:
        assert str(error)
        return
    roles = [type(message) for message in asked.history]
    assert asked.turn
    assert all(left is not right for left, right in pairwise(roles))
    assert set(roles) <= {UserMessage, AssistantMessage}
    assert msgspec.json.encode((asked.system, asked.history, asked.turn))
