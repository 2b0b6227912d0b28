"""A stored conversation as updates: what a client that loads a session must be told before anything new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, assert_never

from hermes_core.events import TodoItem
from hermes_core.messages import AssistantMessage, NoteMessage, StoredMessage, ToolMessage, UserMessage
from hermes_core.questions import FileChange
from hermes_core.tools.todo import TodoArgs, planned
from hermes_core.tools.tool import Tool
from hermes_core.turn.call import Call, read_call

from hermes_acp import cards
from hermes_acp.chunks import asked, plan, said, thought
from hermes_acp.wire.updates import ToolCallUpdate, Update


def replayed(
    rows: Sequence[StoredMessage], tools: Mapping[str, Tool[Any]], cwd: str, *, running: bool
) -> Iterator[Update]:
    """Yield the conversation in its order. While a turn is `running`, calls of unknown outcome are still at work."""
    calls: dict[str, Call] = {}
    todos: list[TodoItem] = []
    for row in rows:
        match row.message:
            case UserMessage():
                yield from asked(row.message.parts)
            case AssistantMessage():
                yield from thought(row.message.reasoning)
                yield from said(row.message.text)
                for written in row.message.tool_calls:
                    call = calls[written.id] = read_call(written, row.row_id, tools, row.message.finish)
                    yield cards.begun(call.id, call.name, call.label, call.arguments, _path(call, cwd))
            case ToolMessage():
                call = calls.get(row.message.tool_call_id)
                yield _ended(row.message, call, cwd, running)
                if call and row.message.outcome == "ok" and isinstance(call.args, TodoArgs) and call.args.todos:
                    todos = planned(call.args.todos, todos if call.args.merge else [])
                    yield plan(todos)
            case NoteMessage():
                pass
            case _:
                assert_never(row.message)


def _ended(message: ToolMessage, call: Call | None, cwd: str, running: bool) -> ToolCallUpdate:
    if message.outcome == "unknown" and running:
        return ToolCallUpdate(tool_call_id=message.tool_call_id, status="in_progress")
    changes = _changes(call, cwd) if call and message.outcome == "ok" else ()
    return cards.ended(message.tool_call_id, message.name, message.outcome, message.text, changes=changes)


def _path(call: Call, cwd: str) -> str:
    if call.tool is None or call.tool.path is None or call.args is None:
        return ""
    given = call.tool.path(call.args)
    return str(Path(cwd) / given) if given else ""


def _changes(call: Call, cwd: str) -> tuple[FileChange, ...]:
    """Return the edit that a call's own arguments tell of; the files of that time are not kept."""
    match call.name, call.arguments:
        case "write_file", {"content": str(content)}:
            return (FileChange(_path(call, cwd), None, content),)
        case "patch", {"old_string": str(old), "new_string": str(new)}:
            return (FileChange(_path(call, cwd), old, new),)
        case _:
            return ()
