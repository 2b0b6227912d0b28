"""The tool `todo`: the agent's plan for the session, kept whole and shown to those who watch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hermes_core.events import TodoItem
from hermes_core.tools.tool import ToolContext, ToolResult

MAX_ITEMS = 100
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


class TodoEntry(msgspec.Struct, frozen=True):
    """One step as the model writes it. Without an id, its place in the list is its id."""

    content: Annotated[str, Meta(max_length=500)] = ""
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    id: Annotated[str, Meta(max_length=64)] = ""


class TodoArgs(msgspec.Struct, frozen=True):
    """Arguments of `todo`."""

    todos: Annotated[list[TodoEntry], Meta(max_length=MAX_ITEMS)] | None = None
    merge: Annotated[bool, Meta(description="Update steps by id and keep the others, instead of replacing all.")] = (
        False
    )


async def todo(args: TodoArgs, ctx: ToolContext) -> ToolResult:
    """Run `todo`."""
    if args.todos is not None:
        items = planned(args.todos, ctx.todos if args.merge else [])
        nameless = next((item for item in items if not item.content.strip()), None)
        if nameless is not None:
            return ToolResult(f"Step {nameless.id!r} has no content; the plan is unchanged.", outcome="error")
        if len(items) > MAX_ITEMS:
            return ToolResult(f"A plan has at most {MAX_ITEMS} steps; it is unchanged.", outcome="error")
        ctx.todos[:] = items
    text = "\n".join(f"{_MARKS[item.status]} {item.id}: {item.content}" for item in ctx.todos)
    return ToolResult(text or "The plan is empty.", todos=tuple(ctx.todos) if args.todos is not None else None)


def planned(entries: Sequence[TodoEntry], kept: Sequence[TodoItem]) -> list[TodoItem]:
    """Return the new plan: the kept steps in their order, updated, then the new ones."""
    found = {item.id: item for item in kept}
    for number, entry in enumerate(entries, 1):
        key = entry.id or str(number)
        before = found.get(key)
        content = entry.content or (before.content if before else "")
        found[key] = TodoItem(id=key, content=content, status=entry.status)
    return list(found.values())
