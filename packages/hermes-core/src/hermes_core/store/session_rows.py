"""The SQL of sessions. Every function runs inside the caller's transaction or read."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from hermes_core.content import clean
from hermes_core.errors import InvalidInput, SessionNotFound, StoreError
from hermes_core.store.codec import sanitised
from hermes_core.store.limits import MAX_PAGE
from hermes_core.store.protocol import SessionPatch, SessionQuery, SessionRecord, SessionSummary
from hermes_core.usage import Usage

_RECORD = SessionRecord.__struct_fields__
_USAGE = Usage.__struct_fields__
_RECORD_COLUMNS = ", ".join(_RECORD)
_SUMMARY_COLUMNS = ", ".join([*_RECORD, "preview", "message_count", "updated_at", *(f"used_{name}" for name in _USAGE)])
_ADD_USAGE = ", ".join(
    "used_estimated = max(used_estimated, ?)" if name == "estimated" else f"used_{name} = used_{name} + ?"
    for name in _USAGE
)


def insert(connection: sqlite3.Connection, record: SessionRecord, now: float) -> None:
    """Add a session. Raises StoreError when the id is taken."""
    record = sanitised(record)
    record = msgspec.structs.replace(record, created_at=record.created_at or now)
    marks = ", ".join("?" * (len(_RECORD) + 1))
    try:
        connection.execute(
            f"INSERT INTO sessions ({_RECORD_COLUMNS}, updated_at) VALUES ({marks})",
            (*msgspec.structs.astuple(record), record.created_at),
        )
    except sqlite3.IntegrityError as error:
        raise StoreError(f"There is a session {record.id!r} already.") from error


def record_of(connection: sqlite3.Connection, session_id: str) -> SessionRecord | None:
    """Return the settings of a session."""
    row = connection.execute(f"SELECT {_RECORD_COLUMNS} FROM sessions WHERE id = ?", (clean(session_id),)).fetchone()
    return _record(row) if row else None


def summary_of(connection: sqlite3.Connection, session_id: str) -> SessionSummary | None:
    """Return the list row of a session."""
    row = connection.execute(f"SELECT {_SUMMARY_COLUMNS} FROM sessions WHERE id = ?", (clean(session_id),)).fetchone()
    return _summary(row) if row else None


def update(connection: sqlite3.Connection, session_id: str, patch: SessionPatch) -> None:
    """Change the fields that `patch` sets. Raises SessionNotFound."""
    require(connection, session_id)
    changes = {
        name: value for name, value in msgspec.structs.asdict(sanitised(patch)).items() if value is not msgspec.UNSET
    }
    if changes:
        assignments = ", ".join(f"{name} = ?" for name in changes)
        connection.execute(f"UPDATE sessions SET {assignments} WHERE id = ?", (*changes.values(), clean(session_id)))


def require(connection: sqlite3.Connection, session_id: str) -> None:
    """Raise SessionNotFound when there is no such session."""
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (clean(session_id),)).fetchone():
        raise SessionNotFound(session_id)


def note_rows(connection: sqlite3.Connection, session_id: str, *, counted: int, preview: str, now: float) -> None:
    """Tell the session about rows that were added to it."""
    connection.execute(
        "UPDATE sessions SET message_count = message_count + ?, updated_at = ?, ended_at = 0, end_reason = '',"
        " preview = CASE preview WHEN '' THEN ? ELSE preview END WHERE id = ?",
        (counted, now, preview, clean(session_id)),
    )


def note_replaced(connection: sqlite3.Connection, session_id: str, *, counted: int, preview: str, now: float) -> None:
    """Tell the session that its rows are others now. A preview that it has stays, unless no row is left."""
    connection.execute(
        "UPDATE sessions SET message_count = ?, updated_at = ?,"
        " preview = CASE WHEN preview = '' OR ? = '' THEN ? ELSE preview END WHERE id = ?",
        (counted, now, preview, preview, clean(session_id)),
    )


def add_usage(connection: sqlite3.Connection, session_id: str, usage: Usage) -> None:
    """Add to the totals of a session."""
    connection.execute(
        f"UPDATE sessions SET {_ADD_USAGE} WHERE id = ?", (*msgspec.structs.astuple(usage), clean(session_id))
    )


def page(connection: sqlite3.Connection, query: SessionQuery) -> list[SessionSummary]:
    """Return one page, newest activity first. Raises InvalidInput when `after` is no session."""
    wanted: list[tuple[str, tuple[object, ...]]] = [("1", ())]
    if not query.children:
        wanted.append(("kind <> 'subagent'", ()))  # literally the condition of the indexes
    if query.only_used:
        wanted.append(("message_count > 0", ()))
    if query.source:
        wanted.append(("source = ?", (clean(query.source),)))
    if query.cwd:
        wanted.append(("cwd = ?", (clean(query.cwd),)))
    if query.owner is not None:
        wanted.append(("owner = ?", (clean(query.owner),)))
    if query.parent:
        wanted.append(("parent_id <> '' AND parent_id = ?", (clean(query.parent),)))
    if query.after:
        wanted.append(("(updated_at, id) < (?, ?)", _place(connection, query.after)))
    conditions = " AND ".join(condition for condition, _ in wanted)
    values = [value for _, values in wanted for value in values]
    rows = connection.execute(
        f"SELECT {_SUMMARY_COLUMNS} FROM sessions WHERE {conditions} ORDER BY updated_at DESC, id DESC LIMIT ?",
        (*values, max(0, min(query.limit, MAX_PAGE))),
    )
    return [_summary(row) for row in rows]


def delete(connection: sqlite3.Connection, session_id: str) -> bool:
    """Remove a session and, down to the last generation, its sub-agents'; detach all other children.

    The search index is left to `message_rows.sweep`: a row without its message is never found.
    """
    rows = connection.execute(
        "WITH RECURSIVE doomed (id) AS (SELECT id FROM sessions WHERE id = ? UNION"
        " SELECT child.id FROM doomed CROSS JOIN sessions AS child INDEXED BY sessions_parent"
        " ON child.parent_id = doomed.id AND child.parent_id <> '' WHERE child.kind = 'subagent')"
        " SELECT id FROM doomed",
        (clean(session_id),),
    ).fetchall()
    for row in rows:
        connection.execute(
            "INSERT OR IGNORE INTO unindexed SELECT text_id FROM messages WHERE session_id = ? AND text_id IS NOT NULL",
            row,
        )
        connection.execute("DELETE FROM sessions WHERE id = ?", row)
        connection.execute("UPDATE sessions SET parent_id = '' WHERE parent_id = ? AND parent_id <> ''", row)
    return bool(rows)


def _place(connection: sqlite3.Connection, session_id: str) -> tuple[float, str]:
    row = connection.execute("SELECT updated_at, id FROM sessions WHERE id = ?", (clean(session_id),)).fetchone()
    if row is None:
        raise InvalidInput(f"There is no session {session_id!r} to go on after.", "after")
    return row


def _record(row: Sequence[Any]) -> SessionRecord:
    return SessionRecord(**dict(zip(_RECORD, row, strict=True)))


def _summary(row: Sequence[Any]) -> SessionSummary:
    preview, message_count, updated_at, *used = row[len(_RECORD) :]
    usage = dict(zip(_USAGE, used, strict=True))
    usage["estimated"] = bool(usage["estimated"])
    return SessionSummary(
        record=_record(row[: len(_RECORD)]),
        preview=preview,
        message_count=message_count,
        updated_at=updated_at,
        usage=Usage(**usage),
    )
