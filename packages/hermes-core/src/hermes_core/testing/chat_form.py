"""Requests of the Responses API in the form of Chat Completions, so that the same rules and directives serve both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from hermes_core.testing.legality import violations

Json = dict[str, Any]

_PARTS = {"user": {"input_text", "input_image", "input_file"}, "assistant": {"output_text", "refusal"}}
"""Role -> the kinds of content parts that its messages may have."""


def chat_form(body: Json) -> Json:
    """Return the request with messages in place of instructions and input items.

    The calls behind an assistant message, or behind each other, are those of one message. Reasoning is left out. An
    item of any other kind becomes a message of that role, which no rule allows.
    """
    rows: list[Json] = []
    if body.get("instructions"):
        rows.append({"role": "system", "content": body["instructions"]})
    given = body.get("input")
    if isinstance(given, str):
        rows.append({"role": "user", "content": given})
    for item in _objects(given):
        match item.get("type", "message"):
            case "message":
                rows.append({"role": item.get("role"), "content": item.get("content")})
            case "function_call":
                if not rows or rows[-1]["role"] != "assistant":
                    rows.append({"role": "assistant", "content": None})
                function = {"name": item.get("name"), "arguments": item.get("arguments")}
                rows[-1].setdefault("tool_calls", []).append({"id": item.get("call_id"), "function": function})
            case "function_call_output":
                rows.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")})
            case "reasoning":
                pass
            case kind:
                rows.append({"role": kind})
    tools = [{"function": {"name": tool.get("name")}} for tool in _objects(body.get("tools"))]
    return {"model": body.get("model"), "messages": rows, "tools": tools}


def response_violations(request: bytes) -> Iterator[str]:
    """Yield a sentence for each breach: those of `legality.violations`, and the kinds of content parts.

    `messages[N]` counts the messages of the chat form.
    """
    try:
        body = msgspec.json.decode(request, type=dict[str, Any])
    except msgspec.DecodeError as error:
        yield f"the request is malformed: {error}"
        return
    for at, item in enumerate(_objects(body.get("input"))):
        allowed = _PARTS.get(str(item.get("role")))
        for part in _objects(item.get("content")):
            if allowed is not None and part.get("type") not in allowed:
                yield f"input[{at}]: a part of kind {part.get('type')!r} may not stand there"
    yield from violations(msgspec.json.encode(chat_form(body)))


def _objects(value: Any) -> list[Json]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast(Json, item) for item in items if isinstance(item, dict)]
