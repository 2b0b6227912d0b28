"""The tables, as numbered steps. A step that was released is never changed; a change of the tables is a new step.

`PRAGMA user_version` counts the steps that a file has seen, `PRAGMA application_id` marks the file as ours.
"""

from __future__ import annotations

import sqlite3

from hermes_core.errors import StoreError

APPLICATION_ID = 0x48524D53  # "HRMS"

_FIRST = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    # What a list shows stands on the session's own row, so that a list reads no message.
    """
    CREATE TABLE sessions (
        id TEXT NOT NULL PRIMARY KEY,
        source TEXT NOT NULL,
        cwd TEXT NOT NULL,
        title TEXT NOT NULL,
        model TEXT NOT NULL,
        provider TEXT NOT NULL,
        reasoning_effort TEXT NOT NULL,
        edits TEXT NOT NULL,
        parent_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        created_at REAL NOT NULL,
        ended_at REAL NOT NULL,
        end_reason TEXT NOT NULL,
        owner TEXT NOT NULL,
        preview TEXT NOT NULL DEFAULT '',
        message_count INTEGER NOT NULL DEFAULT 0,
        updated_at REAL NOT NULL,
        used_input INTEGER NOT NULL DEFAULT 0,
        used_output INTEGER NOT NULL DEFAULT 0,
        used_cached INTEGER NOT NULL DEFAULT 0,
        used_cache_write INTEGER NOT NULL DEFAULT 0,
        used_reasoning INTEGER NOT NULL DEFAULT 0,
        used_calls INTEGER NOT NULL DEFAULT 0,
        used_estimated INTEGER NOT NULL DEFAULT 0
    ) STRICT
    """,
    # One index per filter, each already in the order of a page. Sub-agents, by far the most rows of a busy
    # store, are only in the first.
    "CREATE INDEX sessions_all ON sessions (updated_at, id)",
    "CREATE INDEX sessions_top ON sessions (updated_at, id) WHERE kind <> 'subagent'",
    "CREATE INDEX sessions_source ON sessions (source, updated_at, id) WHERE kind <> 'subagent'",
    "CREATE INDEX sessions_cwd ON sessions (cwd, updated_at, id) WHERE kind <> 'subagent'",
    "CREATE INDEX sessions_owner ON sessions (owner, updated_at, id) WHERE kind <> 'subagent'",
    """
    CREATE INDEX sessions_owner_source ON sessions (owner, source, updated_at, id) WHERE kind <> 'subagent'
    """,
    "CREATE INDEX sessions_parent ON sessions (parent_id) WHERE parent_id <> ''",
    # AUTOINCREMENT: an id is never given twice, also not after its row was deleted.
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        role TEXT NOT NULL,
        created_at REAL NOT NULL,
        body BLOB NOT NULL
    ) STRICT
    """,
    "CREATE INDEX messages_session ON messages (session_id)",
    # Folded text by row id. Without positions (detail=none) the index takes half the room and time; it only
    # narrows the rows down, and the literal comparison with the text decides.
    """
    CREATE VIRTUAL TABLE search USING fts5 (
        text, tokenize = 'trigram case_sensitive 1', detail = none, columnsize = 0
    )
    """,
    # Deleted rows whose text is still in the index, from which they are taken in small transactions.
    "CREATE TABLE unindexed (row_id INTEGER PRIMARY KEY) STRICT",
    "CREATE TABLE grants (pattern TEXT NOT NULL PRIMARY KEY, created_at REAL NOT NULL) STRICT",
    """
    CREATE TABLE items (
        space TEXT NOT NULL,
        key TEXT NOT NULL,
        value BLOB NOT NULL,
        expires_at REAL NOT NULL,
        UNIQUE (space, key)
    ) STRICT
    """,
    "CREATE INDEX items_expiry ON items (expires_at) WHERE expires_at > 0",
)

_SECOND = (
    # Rows that were taken out of a transcript are kept under a generation (from 1 up); 0 is the transcript itself.
    # Several rows may share one text of the index: a branch begins with copies, and a row that is written anew under
    # another id says the same. `key` is the caller's own name of a submit, so that it is admitted once.
    "ALTER TABLE messages ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE messages ADD COLUMN text_id INTEGER",
    "ALTER TABLE messages ADD COLUMN key TEXT NOT NULL DEFAULT ''",
    "UPDATE messages SET text_id = id WHERE id IN (SELECT rowid FROM search)",
    "DROP INDEX messages_session",
    "CREATE INDEX messages_transcript ON messages (session_id, generation)",
    "CREATE INDEX messages_text ON messages (text_id) WHERE text_id IS NOT NULL",
    "CREATE UNIQUE INDEX messages_key ON messages (session_id, key) WHERE key <> ''",
    "ALTER TABLE unindexed RENAME COLUMN row_id TO text_id",
    """
    CREATE TABLE archives (
        session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        generation INTEGER NOT NULL,
        created_at REAL NOT NULL,
        UNIQUE (session_id, generation)
    ) STRICT
    """,
    # A page of one session's children, in its order.
    "DROP INDEX sessions_parent",
    "CREATE INDEX sessions_parent ON sessions (parent_id, updated_at, id) WHERE parent_id <> ''",
)

STEPS: tuple[tuple[str, ...], ...] = (_FIRST, _SECOND)


def check(connection: sqlite3.Connection) -> None:
    """Raise StoreError when the file is not ours or was written by a newer version; nothing is written."""
    ours = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    if not ours and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StoreError("The file is a database of another program.")
    version = _version(connection)
    if version > len(STEPS):
        raise StoreError(
            f"The file was written by a newer version of Hermes (tables {version}, this one knows {len(STEPS)})."
        )


def migrate(connection: sqlite3.Connection) -> None:
    """Take the steps that the file has not seen, all in one transaction. Raises StoreError as `check` does."""
    check(connection)
    if _version(connection) == len(STEPS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        check(connection)  # again, now that nobody else can write: another process may have been faster
        for statement in (statement for step in STEPS[_version(connection) :] for statement in step):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(STEPS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]
