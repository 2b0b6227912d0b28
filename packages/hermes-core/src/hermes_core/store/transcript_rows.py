"""The SQL of what changes a transcript as a whole: replacing it, and copying the beginning of one."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from hermes_core.content import clean
from hermes_core.errors import StoreConflict
from hermes_core.messages import Message, NoteMessage
from hermes_core.store import session_rows
from hermes_core.store.codec import decoded, encoded
from hermes_core.store.message_rows import insert, keyed
from hermes_core.store.protocol import Archive, SessionRecord
from hermes_core.store.search import preview_of
from hermes_core.store.survivors import survivors

_COLUMNS = "session_id, role, created_at, body, text_id, key"


def replace(
    connection: sqlite3.Connection,
    session_id: str,
    rows: Sequence[tuple[float, Message]],
    *,
    expected: int,
    archive: bool,
    key: str,
    now: float,
) -> list[int]:
    """Make `rows` the transcript. Raises SessionNotFound, StoreConflict when the last row is not `expected`.

    A row that lives on is moved under a new id with its text and key, so that the index is touched only for what is
    really new.
    """
    session_rows.require(connection, session_id)
    old: list[tuple[Any, ...]] = connection.execute(
        f"SELECT id, {_COLUMNS} FROM messages WHERE session_id = ? AND generation = 0 ORDER BY id",
        (clean(session_id),),
    ).fetchall()
    if expected != (old[-1][0] if old else 0):
        raise StoreConflict(f"The session {session_id!r} was changed meanwhile; nothing was written.")
    if key and keyed(connection, session_id, key) is not None:
        raise StoreConflict(f"The session {session_id!r} has a message with the key {key!r} already.")
    new = [(created_at, *encoded(message)) for created_at, message in rows]
    kept = survivors([(row[3], row[4]) for row in old], [(created_at, body) for created_at, _, body in new])
    moved = {place for place in kept if place is not None}
    connection.executemany("DELETE FROM messages WHERE id = ?", [old[place][:1] for place in moved])
    _put_away(connection, session_id, [row for place, row in enumerate(old) if place not in moved], archive, now)
    row_ids: list[int] = []
    counted, preview = 0, ""
    for number, (place, (created_at, message, body)) in enumerate(zip(kept, new, strict=True), start=1):
        if place is None:
            its_key = key if number == len(new) else ""
            row_ids.append(insert(connection, session_id, message, body, created_at, its_key))
        else:
            row_ids.append(_move(connection, old[place][1:]))
        counted += not isinstance(message, NoteMessage)
        preview = preview or preview_of(message)
    session_rows.note_replaced(connection, session_id, counted=counted, preview=preview, now=now)
    return row_ids


def archives(connection: sqlite3.Connection, session_id: str) -> list[Archive]:
    """Return the archives of a session, oldest first."""
    rows = connection.execute(
        "SELECT generation, created_at, (SELECT count(*) FROM messages WHERE messages.session_id = archives.session_id"
        " AND messages.generation = archives.generation AND role <> 'note')"
        " FROM archives WHERE session_id = ? ORDER BY generation",
        (clean(session_id),),
    )
    return [Archive(generation=number, created_at=at, message_count=count) for number, at, count in rows]


def branch(connection: sqlite3.Connection, source_id: str, record: SessionRecord, through_row: int, now: float) -> int:
    """Add a session with copies of the rows of `source_id` up to `through_row`; return its message count.

    The copies share the texts of the index with the originals, so a long branch costs no more than its rows.
    """
    session_rows.require(connection, source_id)
    source = clean(source_id)
    if through_row and not _has(connection, source, through_row):
        raise StoreConflict(f"The session {source_id!r} has no row {through_row}.")
    session_rows.insert(connection, record, now)
    session_id = clean(record.id)
    connection.execute(
        "INSERT INTO messages (session_id, role, created_at, body, text_id) SELECT ?, role, created_at, body, text_id"
        " FROM messages WHERE session_id = ? AND generation = 0 AND id <= ? ORDER BY id",
        (session_id, source, through_row),
    )
    (counted,) = connection.execute(
        "SELECT count(*) FROM messages WHERE session_id = ? AND generation = 0 AND role <> 'note'", (session_id,)
    ).fetchone()
    users = connection.execute(
        "SELECT body FROM messages WHERE session_id = ? AND generation = 0 AND role = 'user' ORDER BY id", (session_id,)
    )
    preview = next(filter(None, (preview_of(decoded(body)) for (body,) in users)), "")
    users.close()
    session_rows.note_replaced(connection, session_id, counted=counted, preview=preview, now=now)
    return counted


def _has(connection: sqlite3.Connection, session_id: str, row_id: int) -> bool:
    if not 0 < row_id < 2**63:
        return False
    row = connection.execute(
        "SELECT 1 FROM messages WHERE id = ? AND session_id = ? AND generation = 0", (row_id, session_id)
    ).fetchone()
    return row is not None


def _move(connection: sqlite3.Connection, row: tuple[Any, ...]) -> int:
    row_id = connection.execute(f"INSERT INTO messages ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", row).lastrowid
    assert row_id is not None
    return row_id


def _put_away(
    connection: sqlite3.Connection, session_id: str, rows: list[tuple[Any, ...]], archive: bool, now: float
) -> None:
    """Archive rows under the next generation, or drop them."""
    if not rows:
        return
    row_ids = [row[:1] for row in rows]
    if not archive:
        texts = [(row[5],) for row in rows if row[5] is not None]
        connection.executemany("INSERT OR IGNORE INTO unindexed VALUES (?)", texts)
        connection.executemany("DELETE FROM messages WHERE id = ?", row_ids)
        return
    (generation,) = connection.execute(
        "SELECT coalesce(max(generation), 0) + 1 FROM archives WHERE session_id = ?", (clean(session_id),)
    ).fetchone()
    connection.execute("INSERT INTO archives VALUES (?, ?, ?)", (clean(session_id), generation, now))
    connection.executemany(f"UPDATE messages SET generation = {generation} WHERE id = ?", row_ids)
