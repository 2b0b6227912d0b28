"""The SQL of grants and of the surfaces' small values."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import islice, takewhile

from hermes_core.content import clean
from hermes_core.store.limits import SWEPT


def grants(connection: sqlite3.Connection) -> dict[str, float]:
    """Return every pattern and its time."""
    return dict(connection.execute("SELECT pattern, created_at FROM grants ORDER BY created_at, pattern"))


def add_grants(connection: sqlite3.Connection, patterns: Sequence[str], now: float) -> None:
    """Add patterns; those that are there already stay."""
    connection.executemany(
        "INSERT INTO grants (pattern, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(clean(pattern), now) for pattern in patterns],
    )


def revoke_grant(connection: sqlite3.Connection, pattern: str) -> bool:
    """Remove a pattern; return whether it was there."""
    return connection.execute("DELETE FROM grants WHERE pattern = ?", (clean(pattern),)).rowcount > 0


def put(connection: sqlite3.Connection, space: str, key: str, value: bytes, expires_at: float, now: float) -> None:
    """Keep a value, and remove some that have expired: as many as keep pace with what is put, and no more."""
    connection.execute(
        "DELETE FROM items WHERE rowid IN (SELECT rowid FROM items WHERE expires_at > 0 AND expires_at <= ? LIMIT ?)",
        (now, SWEPT),
    )
    connection.execute(
        "INSERT INTO items (space, key, value, expires_at) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
        (clean(space), clean(key), value, expires_at),
    )


def get(connection: sqlite3.Connection, space: str, key: str, now: float) -> bytes | None:
    """Return a value that has not expired."""
    row = connection.execute(
        "SELECT value FROM items WHERE space = ? AND key = ? AND (expires_at <= 0 OR expires_at > ?)",
        (clean(space), clean(key), now),
    ).fetchone()
    return row[0] if row else None


def drop(connection: sqlite3.Connection, space: str, key: str, now: float) -> bool:
    """Remove a value; return whether it was there and had not expired."""
    row = connection.execute(
        "DELETE FROM items WHERE space = ? AND key = ? RETURNING expires_at", (clean(space), clean(key))
    ).fetchone()
    return row is not None and (row[0] <= 0 or row[0] > now)


def keys(connection: sqlite3.Connection, space: str, prefix: str, limit: int, now: float) -> list[str]:
    """Return keys in the order of code points."""
    prefix = clean(prefix)
    rows = connection.execute(
        "SELECT key FROM items WHERE space = ? AND key >= ? AND (expires_at <= 0 OR expires_at > ?) ORDER BY key",
        (clean(space), prefix, now),
    )
    # Rows come one by one, so that reading stops at the first key beyond the prefix.
    with closing(rows):
        return list(islice(takewhile(lambda key: key.startswith(prefix), (key for (key,) in rows)), max(0, limit)))
