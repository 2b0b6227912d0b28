"""A stored conversation as the rows that a host shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from hermes_core.messages import (
    AssistantMessage,
    NoteMessage,
    StoredMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from hermes_core.tools.tool import Tool
from hermes_core.turn.call import read_call

from hermes_tui_gateway.wire.sessions import TranscriptRow
from hermes_tui_gateway.wire.shapes import UNSET

MAX_ROWS = 10_000
"""Stored rows that one answer shows at most: the newest ones."""


def newest(
    stored: Sequence[StoredMessage], limit: int = MAX_ROWS, before: int = 0
) -> tuple[Sequence[StoredMessage], bool]:
    """Return the last rows below row id `before` (0: of all), about `limit`, and whether there are earlier ones.

    Results are not parted from the answer that called for them, so there may be a few more than `limit`.
    """
    end = bisect_left(stored, before, key=_row_id) if before else len(stored)
    start = max(0, end - max(1, min(limit, MAX_ROWS)))
    while start > 0 and isinstance(stored[start].message, ToolMessage):
        start -= 1
    return stored[start:end], start > 0


def _row_id(row: StoredMessage) -> int:
    return row.row_id


def rows_of(stored: Sequence[StoredMessage], tools: Mapping[str, Tool[Any]]) -> list[TranscriptRow]:
    """Return the rows to show. Answers that only call tools have none of their own: the calls stand for them.

    Messages that are not stored yet have row id 0, and their rows none.
    """
    calls: dict[str, ToolCall] = {}
    rows: list[TranscriptRow] = []
    for row in stored:
        message = row.message
        match message:
            case UserMessage():
                rows.append(_user(row, message))
            case AssistantMessage():
                calls = {call.id: call for call in message.tool_calls}
                if message.text:
                    rows.append(_assistant(row, message))
            case ToolMessage():
                rows.append(_tool(row, message, calls.get(message.tool_call_id), tools))
            case NoteMessage():
                rows.append(_note(row, message))
            case _:
                assert_never(message)
    return rows


def _user(row: StoredMessage, message: UserMessage) -> TranscriptRow:
    return TranscriptRow(
        role="user",
        text=message.text,
        row_id=row.row_id or UNSET,
        timestamp=row.created_at,
        images=len(message.images) or UNSET,
    )


def _assistant(row: StoredMessage, message: AssistantMessage) -> TranscriptRow:
    return TranscriptRow(
        role="assistant",
        text=message.text,
        row_id=row.row_id or UNSET,
        timestamp=row.created_at,
        reasoning=message.reasoning or UNSET,
    )


def _note(row: StoredMessage, message: NoteMessage) -> TranscriptRow:
    return TranscriptRow(
        role="system",
        text=message.text,
        row_id=row.row_id or UNSET,
        timestamp=row.created_at,
        display_kind=message.display_kind,
    )


def _tool(
    row: StoredMessage, message: ToolMessage, call: ToolCall | None, tools: Mapping[str, Tool[Any]]
) -> TranscriptRow:
    read = read_call(call, row.row_id, tools, "stop") if call else None
    return TranscriptRow(
        role="tool",
        name=message.name,
        context=read.label if read else message.name,
        args=read.arguments if read else {},
        tool_call_id=message.tool_call_id,
        outcome=message.outcome,
        timestamp=row.created_at,
    )
