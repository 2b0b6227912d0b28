"""Streams as providers send them, made and read without a server: what the provider's tests share."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hermes_core.errors import ProviderError
from hermes_core.messages import AssistantMessage, user_text
from hermes_core.models.chat_answer import ChatAnswer
from hermes_core.models.provider import Endpoint, ModelDelta, ModelRequest

ENDPOINT = Endpoint(provider="custom", model="m", base_url="http://127.0.0.1:1/v1", api_key="sk-very-secret-key")
REQUEST = ModelRequest(model="m", messages=(user_text("What is in there?"),))
USAGE = {"prompt_tokens": 1000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 800}}


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": "x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def sse(*values: Any, done: bool = True) -> bytes:
    frames = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values]
    return "".join(f"data: {frame}\n\n" for frame in [*frames, *(["[DONE]"] if done else [])]).encode()


def read(stream: bytes, cuts: list[int] | None = None, request: ModelRequest = REQUEST) -> tuple[ChatAnswer, list[Any]]:
    answer = ChatAnswer(ENDPOINT, request)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts or []), len(stream)]
    deltas: list[ModelDelta] = []
    for start, end in pairwise(edges):
        if not answer.failure and not answer.done:
            deltas += answer.feed(stream[start:end])
    return answer, deltas + answer.end()


def reply(*values: Any, done: bool = True) -> AssistantMessage:
    answer, _ = read(sse(*values, done=done))
    assert answer.failure is None
    return answer.reply


def failure(*values: Any, done: bool = True) -> ProviderError:
    answer, _ = read(sse(*values, done=done))
    assert answer.failure is not None
    return answer.failure


def pieces(*items: dict[str, Any]) -> list[Any]:
    return [chunk({"tool_calls": [item]}) for item in items]


def function(arguments: Any = None, name: str | None = None) -> dict[str, Any]:
    return {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
