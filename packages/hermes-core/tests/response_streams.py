"""Streams of the Responses API, made and read without a server: what the tests of its provider share."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

from hermes_core.errors import ProviderError
from hermes_core.messages import AssistantMessage
from hermes_core.models.provider import ModelDelta, ModelRequest
from hermes_core.models.responses_answer import ResponsesAnswer
from provider_streams import ENDPOINT, REQUEST

USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 800, "cache_write_tokens": 5},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 7},
    "total_tokens": 1020,
}


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}" if kind != "error" else kind, **fields}


def text(delta: str, index: int = 0, part: int = 0, item: str = "msg_1") -> dict[str, Any]:
    return event("output_text.delta", item_id=item, output_index=index, content_index=part, delta=delta)


def added(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    return event("output_item.added", output_index=index, item=item)


def done(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    return event("output_item.done", output_index=index, item=item)


def piece(delta: str, index: int | None = None, item: str | None = None) -> dict[str, Any]:
    return event("function_call_arguments.delta", item_id=item, output_index=index, delta=delta)


def function(
    name: str = "f", arguments: Any = "", call_id: str | None = "a", item: str | None = None
) -> dict[str, Any]:
    return {"type": "function_call", "id": item, "call_id": call_id, "name": name, "arguments": arguments}


def message(*texts: str) -> dict[str, Any]:
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": part, "annotations": []} for part in texts],
    }


def end(kind: str = "completed", **fields: Any) -> dict[str, Any]:
    return event(kind, response={"id": "resp_1", "object": "response", "status": kind, "output": [], **fields})


def sse(*events: Any) -> bytes:
    frames = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in events]
    return "".join(f"data: {frame}\n\n" for frame in frames).encode()


def read(
    stream: bytes, cuts: list[int] | None = None, request: ModelRequest = REQUEST, *, whole_body: bool = False
) -> tuple[ResponsesAnswer, list[Any]]:
    answer = ResponsesAnswer(ENDPOINT, request, whole_body=whole_body)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts or []), len(stream)]
    deltas: list[ModelDelta] = []
    for start, stop in pairwise(edges):
        if not answer.failure and not answer.done:
            deltas += answer.feed(stream[start:stop])
    return answer, deltas + answer.end()


def reply(*events: Any) -> AssistantMessage:
    answer, _ = read(sse(*events))
    assert answer.failure is None
    return answer.reply


def failure(*events: Any) -> ProviderError:
    answer, _ = read(sse(*events))
    assert answer.failure is not None
    return answer.failure
