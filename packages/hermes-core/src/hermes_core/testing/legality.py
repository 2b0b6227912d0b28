"""The rules that a strict provider holds a request's transcript to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

_ANY = {"system", "developer", "user", "assistant"}
_FOLLOWERS = {"system": _ANY, "developer": _ANY, "user": _ANY, "assistant": _ANY, "tool": {"tool", "assistant"}}
"""Role -> the roles that may stand directly behind it. An assistant message with calls is followed by `tool` only."""


class _Function(msgspec.Struct):
    name: str
    arguments: str = ""


class _Call(msgspec.Struct):
    id: str
    function: _Function


class _Row(msgspec.Struct):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[_Call] = []
    tool_call_id: str = ""


class _ToolName(msgspec.Struct):
    name: str


class _Tool(msgspec.Struct):
    function: _ToolName


class _Body(msgspec.Struct):
    model: str
    messages: list[_Row]
    tools: list[_Tool] = []


def violations(request: bytes) -> Iterator[str]:
    """Yield a sentence for each breach: shapes, roles, calls and results, arguments, empty messages, tool names.

    Directly behind an assistant message stand the results of all its calls, one each, in call order; no other
    result stands anywhere; arguments parse as JSON objects; ids are distinct within one message.
    """
    try:
        body = msgspec.json.decode(request, type=_Body)
    except msgspec.DecodeError as error:
        yield f"the request is malformed: {error}"
        return
    if not body.messages:
        yield "messages is empty"
    waiting: list[str] = []
    before = ""
    for at, row in enumerate(body.messages):
        if waiting:
            if row.role != "tool" or row.tool_call_id != waiting[0]:
                yield f"messages[{at}] should be the result of {waiting[0]!r}"
                return
            waiting.pop(0)
        elif row.role == "tool" or (before and row.role not in _FOLLOWERS[before]):
            yield f"messages[{at}]: {row.role!r} may not follow {before!r}"
            return
        if not row.content and row.role != "tool" and not row.tool_calls:
            yield f"messages[{at}] has no content"
        waiting = waiting or [call.id for call in row.tool_calls]
        yield from _calls(at, row)
        before = row.role
    if waiting:
        yield f"the call {waiting[0]!r} has no result"
    names = [tool.function.name for tool in body.tools]
    if len(set(names)) != len(names):
        yield "two tools have the same name"


def _calls(at: int, row: _Row) -> Iterator[str]:
    ids = {call.id for call in row.tool_calls}
    if len(ids) != len(row.tool_calls):
        yield f"messages[{at}] has two calls with the same id"
    for call in row.tool_calls:
        if not call.id or not call.function.name:
            yield f"messages[{at}] has a call without an id or a name"
        try:
            msgspec.json.decode(call.function.arguments, type=dict[str, Any])
        except msgspec.DecodeError:
            yield f"messages[{at}]: the arguments of {call.id!r} are not a JSON object"
