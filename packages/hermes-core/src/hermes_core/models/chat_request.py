"""A model request as the body of a Chat Completions call.

Whatever the transcript holds, the body is legal: the ids of calls are distinct, their arguments are JSON objects,
names have the letters that providers accept, no message but a result is empty, and the text is valid UTF-8.
"""

from __future__ import annotations

import json
import re
from typing import Any, assert_never

import msgspec

from hermes_core.content import ImagePart, Part, TextPart, clean
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage
from hermes_core.models.provider import Endpoint, ModelRequest, ToolSpec
from hermes_core.usage import estimate_tokens

IMAGE_TOKENS = 1_000
"""What an image counts in our own estimates."""
MAX_UNREADABLE = 2_000
"""Characters kept of arguments that are not a JSON object."""
_NAME = re.compile(r"[^A-Za-z0-9_-]")
_OPENAI = "://api.openai.com"


class _Function(msgspec.Struct):
    name: str
    arguments: str


class _Call(msgspec.Struct):
    id: str
    function: _Function
    type: str = "function"


class _Image(msgspec.Struct, omit_defaults=True):
    url: str
    detail: str = ""


class _Part(msgspec.Struct, omit_defaults=True):
    type: str
    text: str | None = None
    image_url: _Image | None = None


class _Row(msgspec.Struct):
    role: str
    content: str | list[_Part] | None


class _AssistantRow(_Row):
    tool_calls: list[_Call]


class _ResultRow(_Row):
    tool_call_id: str


class _ToolFunction(msgspec.Struct):
    name: str
    description: str
    parameters: dict[str, Any]


class _Tool(msgspec.Struct):
    function: _ToolFunction
    type: str = "function"


class _Body(msgspec.Struct, omit_defaults=True):
    model: str
    messages: list[_Row]
    tools: list[_Tool] = []
    stream: bool = False
    stream_options: dict[str, bool] = {}
    max_tokens: int = 0
    max_completion_tokens: int = 0
    reasoning_effort: str = ""
    prompt_cache_key: str = ""
    response_format: dict[str, Any] = {}


def body_of(endpoint: Endpoint, request: ModelRequest, *, stream: bool = True, usage: bool = True) -> bytes:
    """Return the JSON body. `usage` asks for token counts at the end of the stream.

    OpenAI's own service gets its newer name of the token limit, and the session as cache key.
    """
    openai = _OPENAI in endpoint.base_url
    body = _Body(
        model=request.model or endpoint.model,
        messages=_rows(request),
        tools=[_tool(spec) for spec in request.tools],
        stream=stream,
        stream_options={"include_usage": True} if stream and usage else {},
        max_tokens=0 if openai else request.max_tokens,
        max_completion_tokens=request.max_tokens if openai else 0,
        reasoning_effort=request.reasoning_effort,
        prompt_cache_key=request.session_id if openai else "",
        response_format=_format(request.response_schema),
    )
    return encoded(body)


def encoded(body: msgspec.Struct) -> bytes:
    """Return a body as JSON, in valid UTF-8."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        # A lone surrogate somewhere: rare enough to look for it in the whole text.
        return clean(json.dumps(msgspec.to_builtins(body), ensure_ascii=False)).encode()


def estimated_input(request: ModelRequest) -> int:
    """Return about how many tokens a request has."""
    texts = [request.system, *(spec.name + spec.description + str(spec.parameters) for spec in request.tools)]
    images = 0
    for message in request.messages:
        match message:
            case UserMessage():
                texts.append(message.text)
                images += len(message.images)
            case AssistantMessage():
                texts.append(message.text)
                texts += [call.name + call.arguments for call in message.tool_calls]
            case ToolMessage():
                texts.append(message.text)
            case NoteMessage():
                pass
            case _:
                assert_never(message)
    return sum(map(estimate_tokens, texts)) + images * IMAGE_TOKENS


def _rows(request: ModelRequest) -> list[_Row]:
    rows: list[_Row] = []
    if request.system:
        rows.append(_Row("system", request.system))
    used: set[str] = set()
    waiting: list[str] = []
    for message in request.messages:
        row = _row(message, used, waiting)
        if row is not None:
            rows.append(row)
    return rows


def _row(message: Message, used: set[str], waiting: list[str]) -> _Row | None:
    """Return one message. `used` are the ids given so far, `waiting` those of the calls that have no result yet."""
    match message:
        case UserMessage():
            return _Row("user", _content(message.parts))
        case AssistantMessage():
            calls = [_call(call, used) for call in message.tool_calls]
            waiting[:] = [call.id for call in calls]
            if calls:
                return _AssistantRow("assistant", message.text or None, calls)
            return _Row("assistant", message.text or "(no text)")
        case ToolMessage():
            return _ResultRow("tool", message.text, waiting.pop(0) if waiting else message.tool_call_id)
        case NoteMessage():
            return None
        case _:
            assert_never(message)


def _content(parts: tuple[Part, ...]) -> str | list[_Part]:
    if all(isinstance(part, TextPart) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextPart)) or "(no text)"
    return [_part(part) for part in parts]


def _part(part: Part) -> _Part:
    match part:
        case TextPart():
            return _Part("text", text=part.text or " ")
        case ImagePart():
            return _Part("image_url", image_url=_Image(part.url, part.detail))
        case _:
            assert_never(part)


def _call(call: ToolCall, used: set[str]) -> _Call:
    return _Call(distinct_id(call, used), _Function(legal_name(call), object_of(call.arguments)))


def distinct_id(call: ToolCall, used: set[str]) -> str:
    """Return the id to send for a call: its own if none of `used` is the same. It is one of `used` afterwards."""
    call_id, copy = call.id or "call", 1
    while call_id in used:
        copy += 1
        call_id = f"{call.id or 'call'}_{copy}"
    used.add(call_id)
    return call_id


def legal_name(call: ToolCall) -> str:
    """Return the name of a call in the letters that providers accept."""
    return _NAME.sub("_", call.name)[:64] or "unnamed_tool"


def object_of(arguments: str) -> str:
    """Return `arguments` if they are a JSON object, else an object that holds as much of them as can be kept."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        pass
    else:
        return arguments
    try:
        value = json.loads(arguments, strict=False)
        if isinstance(value, dict):
            return clean(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (ValueError, RecursionError):
        pass
    kept = {"unreadable_arguments": arguments[:MAX_UNREADABLE]} if arguments.strip() else {}
    return clean(json.dumps(kept, ensure_ascii=False))


def _format(schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None:
        return {}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


def _tool(spec: ToolSpec) -> _Tool:
    return _Tool(_ToolFunction(spec.name, spec.description, spec.parameters))
