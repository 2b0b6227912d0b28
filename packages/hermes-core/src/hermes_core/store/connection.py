"""Connections to the file: how each is set up, and what SQLite's errors mean to us.

The database and its -wal and -shm files are opened by SQLite only. POSIX drops all locks of a process on a file as
soon as the process closes any descriptor of it, so a single `open()` of ours would undo SQLite's locking.
"""

from __future__ import annotations

import sqlite3
import stat
import time
from pathlib import Path

from hermes_core.errors import StoreBusy, StoreError
from hermes_core.store import schema

_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def connect(path: Path, patience: float) -> sqlite3.Connection:
    """Open a connection that waits `patience` seconds for locks; transactions are ours to begin and end.

    `synchronous` is NORMAL: a commit hands its pages to the operating system before it is acknowledged, so it
    survives any end of this process. Only a crash of the machine can take the last commits with it, and even then
    the file stays consistent; FULL would buy those at the price of a disk flush for every commit.
    """
    connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: Path, patience: float) -> sqlite3.Connection:
    """Open a connection that refuses to write."""
    connection = connect(path, patience)
    connection.execute("PRAGMA query_only = ON")
    return connection


def connect_writer(path: Path, patience: float) -> sqlite3.Connection:
    """Make the file and its folder where they are missing, bring its tables up to date, and open it for writing.

    Raises StoreError for a file that is not ours or newer than we are, StoreBusy when it stays locked.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = connect(path, patience)
    try:
        schema.check(connection)
        _close_to_others(path)
        _write_ahead(connection, patience)
        connection.execute("PRAGMA journal_size_limit = 67108864")
        schema.migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def store_error(error: Exception, path: Path) -> StoreError:
    """Return what an error of SQLite or of the file system means: StoreBusy for a lock that was not given up."""
    if is_busy(error):
        return StoreBusy(f"The session store {path} is locked by another process; try again.")
    if isinstance(error, StoreError):
        return StoreError(f"The session store {path} cannot be used. {error.message}")
    return StoreError(f"The session store {path} failed: {error}.")


def is_busy(error: Exception) -> bool:
    """Return whether `error` says that another connection holds a lock."""
    # The low byte of an extended code is its primary code. Errors of the Python module itself carry none.
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _LOCKED


def _close_to_others(path: Path) -> None:
    """Give the file mode 0600; SQLite makes -wal and -shm with the mode of the file."""
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        try:
            if stat.S_IMODE(name.stat().st_mode) & 0o077:
                name.chmod(0o600)
        except FileNotFoundError:
            continue


def _write_ahead(connection: sqlite3.Connection, patience: float) -> None:
    """Switch to the write-ahead log. SQLite does not wait for locks here, so we do."""
    deadline = time.monotonic() + patience
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreError(f"Its file system allows no write-ahead log (journal mode {mode}).")
        return
