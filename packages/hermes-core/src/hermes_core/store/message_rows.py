"""The SQL of messages and of the index that finds them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from hermes_core.content import clean
from hermes_core.errors import StoreConflict, StoreError
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
    connection: sqlite3.Connection,
    session_id: str,
    messages: Sequence[Message],
    usage: Usage | None,
    *,
    key: str,
    now: float,
) -> list[int]:
    """Add rows and usage to a session. Raises SessionNotFound, StoreConflict when it has a row of this key."""
    session_rows.require(connection, session_id)
    if key and keyed(connection, session_id, key) is not None:
        raise StoreConflict(f"The session {session_id!r} has a message with the key {key!r} already.")
    row_ids: list[int] = []
    counted, preview = 0, ""
    for number, given in enumerate(messages, start=1):
        message, body = encoded(given)
        row_ids.append(insert(connection, session_id, message, body, now, key if number == len(messages) else ""))
        counted += not isinstance(message, NoteMessage)
        preview = preview or preview_of(message)
    if row_ids:
        session_rows.note_rows(connection, session_id, counted=counted, preview=preview, now=now)
    if usage is not None:
        session_rows.add_usage(connection, session_id, usage)
    return row_ids


def insert(
    connection: sqlite3.Connection, session_id: str, message: Message, body: bytes, created_at: float, key: str = ""
) -> int:
    """Add one row and its text; return the row id. What the session tells of its rows is the caller's to change."""
    row_id = connection.execute(
        "INSERT INTO messages (session_id, role, created_at, body, text_id, key) VALUES (?, ?, ?, ?, ?, ?)",
        (clean(session_id), role_of(message), created_at, body, _indexed(connection, message), clean(key)),
    ).lastrowid
    assert row_id is not None
    return row_id


def keyed(connection: sqlite3.Connection, session_id: str, key: str) -> int | None:
    """Return the row with this key, 0 when it is archived."""
    row = connection.execute(
        "SELECT CASE generation WHEN 0 THEN id ELSE 0 END FROM messages WHERE session_id = ? AND key = ? AND key <> ''",
        (clean(session_id), clean(key)),
    ).fetchone()
    return row[0] if row else None


def settle(connection: sqlite3.Connection, session_id: str, row_id: int, result: ToolMessage) -> None:
    """Replace the result row of a call. Raises SessionNotFound, StoreError when the row is not of this call."""
    session_rows.require(connection, session_id)
    result, body = encoded(result)
    row = connection.execute(
        "SELECT body, text_id FROM messages WHERE id = ? AND session_id = ? AND generation = 0",
        (_sized(row_id), clean(session_id)),
    ).fetchone()
    before, text_id = (decoded(row[0]), row[1]) if row else (None, None)
    if not isinstance(before, ToolMessage) or before.tool_call_id != result.tool_call_id:
        raise StoreError(f"Row {row_id} of session {session_id!r} is not a result of call {result.tool_call_id!r}.")
    sharing = connection.execute("SELECT id FROM messages WHERE text_id = ? LIMIT 2", (text_id,)).fetchall()
    if len(sharing) == 1:  # else it is the text of a branch too, where the call is as it was
        connection.execute("DELETE FROM search WHERE rowid = ?", (text_id,))
    else:
        text_id = None
    text_id = _indexed(connection, result, text_id)
    connection.execute("UPDATE messages SET body = ?, text_id = ? WHERE id = ?", (body, text_id, row_id))


def read(
    connection: sqlite3.Connection,
    session_id: str,
    *,
    after: int = 0,
    before: int = 0,
    limit: int = 0,
    newest: bool = False,
    generation: int = 0,
) -> list[StoredMessage]:
    """Return rows of a session, oldest first: of its transcript, or of the archive `generation`."""
    upper = "AND id < ?" if before > 0 else "AND ? <= 0"
    rows = connection.execute(
        f"SELECT id, created_at, body FROM messages WHERE session_id = ? AND generation = ? AND id > ? {upper}"
        f" ORDER BY id {'DESC' if newest else 'ASC'} LIMIT ?",
        (
            clean(session_id),
            _sized(generation),
            _sized(after),
            _sized(before),
            _sized(limit) if limit > 0 else -1,
        ),
    )
    found = [StoredMessage(row_id, created_at, decoded(body)) for row_id, created_at, body in rows]
    if newest:
        found.reverse()
    return found


def search(
    connection: sqlite3.Connection, query: str, *, limit: int, source: str, owner: str | None, session: str
) -> list[SearchHit]:
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
    if owner is not None:
        conditions.append("sessions.owner = ?")
        values.append(clean(owner))
    if session:
        conditions.append("sessions.id = ?")
        values.append(clean(session))
    # CROSS JOIN keeps the index in front, which yields texts newest first, so that the limit ends the search. Rows
    # that share a text come in the order of the second index, oldest first.
    rows = connection.execute(
        "SELECT sessions.id, sessions.title, messages.id, messages.role, messages.created_at, messages.body,"
        " messages.generation"
        " FROM search CROSS JOIN messages ON messages.text_id = search.rowid"
        " CROSS JOIN sessions ON sessions.id = messages.session_id"
        f" WHERE {' AND '.join(conditions)} ORDER BY search.rowid DESC LIMIT ?",
        (*values, max(0, min(limit, MAX_HITS))),
    )
    return [_hit(row, terms) for row in rows]


def sweep(connection: sqlite3.Connection) -> bool:
    """Take some texts of deleted rows out of the index; return whether any may be left.

    A text costs a third of a millisecond, so a long session in one transaction would keep others waiting for seconds.
    """
    rows = connection.execute("SELECT text_id FROM unindexed LIMIT ?", (UNINDEXED,)).fetchall()
    for row in rows:
        if not connection.execute("SELECT 1 FROM messages WHERE text_id = ? LIMIT 1", row).fetchone():
            connection.execute("DELETE FROM search WHERE rowid = ?", row)
    connection.executemany("DELETE FROM unindexed WHERE text_id = ?", rows)
    return len(rows) == UNINDEXED


def _indexed(connection: sqlite3.Connection, message: Message, text_id: int | None = None) -> int | None:
    """Add the text of a message to the index, as `text_id` or as the newest; return its id, None without a text."""
    text = searchable(message)
    if not text:
        return None
    return connection.execute("INSERT INTO search (rowid, text) VALUES (?, ?)", (text_id, fold(text))).lastrowid


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
    session_id, title, row_id, role, created_at, body, generation = row
    return SearchHit(
        session_id=session_id,
        title=title,
        row_id=row_id,
        role=role,
        snippet=snippet_of(searchable(decoded(body)), terms),
        created_at=created_at,
        archived=generation > 0,
    )
