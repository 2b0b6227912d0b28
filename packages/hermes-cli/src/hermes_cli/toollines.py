"""How tool calls are shown to people: a line with the result's state, then what changed, or the end of the output."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_core.events import TodoItem, ToolComplete
from hermes_core.messages import AssistantMessage, StoredMessage, ToolCall, ToolMessage
from hermes_core.questions import FileChange

from hermes_cli.diff import diff_lines
from hermes_cli.ink import Ink
from hermes_cli.printable import duration, last_lines, one_line

OUTPUT_LINES = 3
DIFF_LINES = 40
TODO_LINES = 20
_TODO_MARKS = {"pending": "○", "in_progress": "●", "completed": "✓", "cancelled": "–"}


def title(name: str, label: str) -> str:
    """Return what a call is called: its name, and what it works on."""
    label = one_line(label, 200)
    return label if not label or label.startswith(name) else f"{name}  {label}"


def head(event: ToolComplete, ink: Ink, width: int) -> str:
    """Return the one line of a call that has ended."""
    notes: list[str] = []
    if event.exit_code:
        notes.append(f"exit {event.exit_code}")
    if event.outcome not in ("ok", "error"):
        notes.append(event.outcome)
    if event.duration >= 0.1:
        notes.append(duration(event.duration))
    tail = " · ".join(notes)
    name = one_line(title(event.name, event.label) or event.name, max(20, width - len(tail) - 5))
    outcome = "error" if event.outcome == "ok" and event.exit_code else event.outcome
    return f"{ink.mark(outcome)} {_named(name, event.name, ink)}" + (f"  {ink.dim(tail)}" if tail else "")


def stored_heads(rows: Sequence[StoredMessage], ink: Ink, width: int) -> dict[int, str]:
    """Return, by the row id of its result, the one line of each stored call."""
    from hermes_core.tools.builtin import builtin_tools
    from hermes_core.turn.call import read_call

    tools = {tool.name: tool for tool in builtin_tools()}
    calls: dict[str, ToolCall] = {}
    heads: dict[int, str] = {}
    for row in rows:
        match row.message:
            case AssistantMessage() as message:
                calls = {call.id: call for call in message.tool_calls}
            case ToolMessage() as message:
                call = calls.get(message.tool_call_id)
                label = read_call(call, row.row_id, tools, "stop").label if call else ""
                name = one_line(title(message.name, label) or message.name, max(20, width - 2))
                heads[row.row_id] = f"{ink.mark(message.outcome)} {_named(name, message.name, ink)}"
            case _:
                pass
    return heads


def details(event: ToolComplete, ink: Ink, width: int) -> list[str]:
    """Return the lines below it: the plan, the edits, why it failed, or the end of a command's output."""
    if event.todos is not None:
        return todo_lines(event.todos, ink, width)
    if event.changes:
        return change_lines(event.changes, ink, width)
    if event.outcome in ("error", "denied"):
        return [f"  {ink.dim(one_line(line, width - 2))}" for line in last_lines(event.result, OUTPUT_LINES)]
    if event.name in ("terminal", "process") and event.outcome == "ok":
        return [f"  {ink.dim(_cut(line, width - 2))}" for line in last_lines(event.result, OUTPUT_LINES)]
    return []


def todo_lines(todos: tuple[TodoItem, ...], ink: Ink, width: int) -> list[str]:
    """Return the agent's plan, a line for each entry."""
    lines: list[str] = []
    for item in todos[:TODO_LINES]:
        text = one_line(item.content, width - 4)
        shown = {"in_progress": ink.bold, "pending": str}.get(item.status, ink.dim)(text)
        lines.append(f"  {_TODO_MARKS[item.status]} {shown}")
    if len(todos) > TODO_LINES:
        lines.append(ink.dim(f"  … {len(todos) - TODO_LINES} more"))
    return lines


def change_lines(changes: tuple[FileChange, ...], ink: Ink, width: int, limit: int = DIFF_LINES) -> list[str]:
    """Return edits as a diff, at most about `limit` lines in all."""
    lines: list[str] = []
    for change in changes:
        if len(changes) > 1:
            lines.append(f"  {ink.bold(one_line(change.path, width - 2))}")
        lines += diff_lines(change, ink, width, max(4, limit // len(changes)))
    return lines[: limit * 2]


def _named(line: str, name: str, ink: Ink) -> str:
    return ink.bold(line[: len(name)]) + line[len(name) :] if line.startswith(name) else line


def _cut(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: max(0, limit - 1)] + "…"
