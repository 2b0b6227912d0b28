"""The SQL of messages and of the index that finds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from hermes_core.content import clean
from hermes_core.errors import StoreError
from hermes_core.messages import Message, NoteMessage, StoredMessage, ToolMessage
from hermes_core.store import session_rows
from hermes_core.store.codec import decoded, encoded, role_of
from hermes_core.store.limits import MAX_HITS, UNINDEXED
from hermes_core.store.protocol import SearchHit
from hermes_core.store.search import fold, preview_of, searchable, snippet_of, terms_of
from hermes_core.usage import Usage

_GRAM = 3
"""Characters of a token of the index; shorter terms are found by reading the texts."""
_LARGEST = 2**63 - 1
_MAX_GRAMS = 24
"""Tokens of a term that are looked up. They only narrow the rows down: the comparison of the text decides."""


def append(
    connection: sqlite3.Connection, session_id: str, messages: Sequence[Message], usage: Usage | None, now: float
) -> list[int]:
    """Add rows and usage to a session. Raises SessionNotFound."""
    session_rows.require(connection, session_id)
    row_ids: list[int] = []
    counted, preview = 0, ""
    for given in messages:
        message, body = encoded(given)
        row_id = connection.execute(
            "INSERT INTO messages (session_id, role, created_at, body) VALUES (?, ?, ?, ?)",
            (clean(session_id), role_of(message), now, body),
        ).lastrowid
        assert row_id is not None
        _index(connection, row_id, message)
        row_ids.append(row_id)
        counted += not isinstance(message, NoteMessage)
        preview = preview or preview_of(message)
    if row_ids:
        session_rows.note_rows(connection, session_id, counted=counted, preview=preview, now=now)
    if usage is not None:
        session_rows.add_usage(connection, session_id, usage)
    return row_ids


def settle(connection: sqlite3.Connection, session_id: str, row_id: int, result: ToolMessage) -> None:
    """Replace the result row of a call. Raises SessionNotFound, StoreError when the row is not of this call."""
    session_rows.require(connection, session_id)
    result, body = encoded(result)
    row = connection.execute(
        "SELECT body FROM messages WHERE id = ? AND session_id = ?", (_sized(row_id), clean(session_id))
    ).fetchone()
    before = decoded(row[0]) if row else None
    if not isinstance(before, ToolMessage) or before.tool_call_id != result.tool_call_id:
        raise StoreError(f"Row {row_id} of session {session_id!r} is not a result of call {result.tool_call_id!r}.")
    connection.execute("UPDATE messages SET body = ? WHERE id = ?", (body, row_id))
    connection.execute("DELETE FROM search WHERE rowid = ?", (row_id,))
    _index(connection, row_id, result)


def read(
    connection: sqlite3.Connection, session_id: str, *, after: int, before: int, limit: int, newest: bool
) -> list[StoredMessage]:
    """Return rows of a session, oldest first."""
    upper = "AND id < ?" if before > 0 else "AND ? <= 0"
    rows = connection.execute(
        f"SELECT id, created_at, body FROM messages WHERE session_id = ? AND id > ? {upper}"
        f" ORDER BY id {'DESC' if newest else 'ASC'} LIMIT ?",
        (clean(session_id), _sized(after), _sized(before), _sized(limit) if limit > 0 else -1),
    )
    found = [StoredMessage(row_id, created_at, decoded(body)) for row_id, created_at, body in rows]
    if newest:
        found.reverse()
    return found


def search(connection: sqlite3.Connection, query: str, *, limit: int, source: str) -> list[SearchHit]:
    """Return messages that hold every term, newest first. Raises InvalidInput for a query beyond bounds."""
    terms = terms_of(query)
    if not terms:
        return []
    conditions = ["instr(search.text, ?)"] * len(terms)
    values: list[object] = list(terms)
    if grams := _grams(terms):
        conditions.append("search MATCH ?")
        values.append(" AND ".join(grams))
    if source:
        conditions.append("sessions.source = ?")
        values.append(clean(source))
    # CROSS JOIN keeps the index in front, which yields rows newest first, so that the limit ends the search.
    rows = connection.execute(
        "SELECT sessions.id, sessions.title, messages.id, messages.role, messages.created_at, messages.body"
        " FROM search CROSS JOIN messages ON messages.id = search.rowid"
        " CROSS JOIN sessions ON sessions.id = messages.session_id"
        f" WHERE {' AND '.join(conditions)} ORDER BY search.rowid DESC LIMIT ?",
        (*values, max(0, min(limit, MAX_HITS))),
    )
    return [_hit(row, terms) for row in rows]


def sweep(connection: sqlite3.Connection) -> bool:
    """Take some texts of deleted rows out of the index; return whether any may be left.

    A text costs a third of a millisecond, so a long session in one transaction would keep others waiting for seconds.
    """
    rows = connection.execute("SELECT row_id FROM unindexed LIMIT ?", (UNINDEXED,)).fetchall()
    connection.executemany("DELETE FROM search WHERE rowid = ?", rows)
    connection.executemany("DELETE FROM unindexed WHERE row_id = ?", rows)
    return len(rows) == UNINDEXED


def _index(connection: sqlite3.Connection, row_id: int, message: Message) -> None:
    if text := searchable(message):
        connection.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (row_id, fold(text)))


def _sized(number: int) -> int:
    """Return `number` as near as an integer of SQLite comes to it: no row id lies beyond."""
    return max(-_LARGEST, min(number, _LARGEST))


def _grams(terms: tuple[str, ...]) -> list[str]:
    """Return the tokens that a row must hold to hold the terms, quoted so that each is taken literally."""
    found: dict[str, None] = {}
    for term in terms:
        starts = range(len(term) - _GRAM + 1)
        found.update(dict.fromkeys(term[at : at + _GRAM] for at in starts[:_MAX_GRAMS]))
    # Of many terms, enough to be selective: SQLite bounds the depth of an expression.
    return ['"' + gram.replace('"', '""') + '"' for gram in list(found)[:128]]


def _hit(row: Sequence[Any], terms: tuple[str, ...]) -> SearchHit:
    session_id, title, row_id, role, created_at, body = row
    return SearchHit(
        session_id=session_id,
        title=title,
        row_id=row_id,
        role=role,
        snippet=snippet_of(searchable(decoded(body)), terms),
        created_at=created_at,
    )
