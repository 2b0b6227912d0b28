"""A model request as the body of a Responses call: the whole transcript, as input items that refer to nothing stored.

It is as legal as that of `chat_request`. Items are sent without ids of their own and reasoning is not sent back, so
that no service looks for what it was told not to keep.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from hermes_core.content import ImagePart, Part, TextPart
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from hermes_core.models.chat_request import distinct_id, encoded, legal_name, object_of
from hermes_core.models.provider import Endpoint, ModelRequest, ToolSpec


class _Part(msgspec.Struct, omit_defaults=True):
    type: str
    text: str | None = None
    image_url: str | None = None
    detail: str | None = None


class _Item(msgspec.Struct):
    type: str


class _MessageItem(_Item):
    role: str
    content: str | list[_Part]


class _CallItem(_Item):
    call_id: str
    name: str
    arguments: str


class _ResultItem(_Item):
    call_id: str
    output: str


class _Tool(msgspec.Struct):
    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool = False
    """Said, because the services make every parameter required where it is not."""
    type: str = "function"


class _Reasoning(msgspec.Struct, omit_defaults=True):
    effort: str
    summary: str = ""


class _Body(msgspec.Struct, omit_defaults=True, kw_only=True):
    model: str
    input: list[_Item]
    store: bool | None = None
    """None only by default, so that `false` is sent."""
    instructions: str = ""
    tools: list[_Tool] = []
    stream: bool = False
    max_output_tokens: int = 0
    reasoning: _Reasoning | None = None
    text: dict[str, Any] = {}
    prompt_cache_key: str = ""


def responses_body(endpoint: Endpoint, request: ModelRequest, *, stream: bool = True, summary: bool = True) -> bytes:
    """Return the JSON body. `summary` asks for what may be told of the reasoning, where an effort is set."""
    effort = request.reasoning_effort
    told = "auto" if summary and effort != "none" else ""
    return encoded(
        _Body(
            model=request.model or endpoint.model,
            input=_items(request.messages),
            store=False,
            instructions=request.system,
            tools=[_tool(spec) for spec in request.tools],
            stream=stream,
            max_output_tokens=request.max_tokens,
            reasoning=_Reasoning(effort, told) if effort else None,
            text=_format(request.response_schema),
            prompt_cache_key=request.session_id,
        )
    )


def _items(messages: tuple[Message, ...]) -> list[_Item]:
    items: list[_Item] = []
    used: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        items += _items_of(message, used, waiting)
    return items


def _items_of(message: Message, used: set[str], waiting: list[str]) -> list[_Item]:
    """Return one message. `used` are the ids given so far, `waiting` those of the calls that have no result yet."""
    match message:
        case UserMessage():
            return [_MessageItem("message", "user", _content(message.parts))]
        case AssistantMessage():
            calls: list[_Item] = []
            waiting.clear()
            for call in message.tool_calls:
                waiting.append(distinct_id(call, used))
                calls.append(_CallItem("function_call", waiting[-1], legal_name(call), object_of(call.arguments)))
            if calls and not message.text:
                return calls
            return [_MessageItem("message", "assistant", message.text or "(no text)"), *calls]
        case ToolMessage():
            call_id = waiting.pop(0) if waiting else message.tool_call_id
            return [_ResultItem("function_call_output", call_id, message.text)]
        case NoteMessage():
            return []
        case _:
            assert_never(message)


def _content(parts: tuple[Part, ...]) -> str | list[_Part]:
    if all(isinstance(part, TextPart) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextPart)) or "(no text)"
    return [_part(part) for part in parts]


def _part(part: Part) -> _Part:
    match part:
        case TextPart():
            return _Part("input_text", text=part.text or " ")
        case ImagePart():
            return _Part("input_image", image_url=part.url, detail=part.detail or "auto")
        case _:
            assert_never(part)


def _format(schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None:
        return {}
    return {"format": {"type": "json_schema", "name": "answer", "schema": schema, "strict": True}}


def _tool(spec: ToolSpec) -> _Tool:
    return _Tool(spec.name, spec.description, spec.parameters)
