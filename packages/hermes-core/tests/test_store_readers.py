"""The readers: a bounded number of connections, also when tasks are torn away, and none left after closing."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
import pytest
from hermes_core.errors import StoreError
from hermes_core.store.limits import READERS
from hermes_core.store.readers import Readers

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "t.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (text)")
    connection.close()
    return path


@pytest.fixture
async def readers(path: Path) -> AsyncIterator[Readers]:
    readers = Readers(path, 5.0)
    try:
        yield readers
    finally:
        await readers.close()


def count(connection: sqlite3.Connection) -> int:
    return connection.execute("SELECT count(*) FROM t").fetchone()[0]


def open_files(path: Path) -> int:
    return sum(file.path == str(path) for file in psutil.Process().open_files())


async def test_many_reads_at_once_use_a_few_connections_that_cannot_write(readers: Readers, path: Path) -> None:
    used: set[int] = set()

    async def read() -> None:
        used.add(await readers.run(lambda connection: id(connection) + count(connection)))

    async with anyio.create_task_group() as group:
        for _ in range(60):
            group.start_soon(read)
    assert 1 <= len(used) <= READERS
    assert open_files(path) == len(used)
    with pytest.raises(StoreError, match="readonly"):
        await readers.run(lambda connection: connection.execute("INSERT INTO t VALUES (1)"))


async def test_read_of_a_torn_away_task_leaves_no_connection_after_closing(readers: Readers, path: Path) -> None:
    entered, go = threading.Event(), threading.Event()

    def read(connection: sqlite3.Connection) -> int:
        entered.set()
        assert go.wait(30)
        return count(connection)

    task = asyncio.create_task(readers.run(read))
    await anyio.to_thread.run_sync(entered.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await readers.close()
    assert open_files(path) == 1, "a connection in use is not closed under its user"
    go.set()
    with anyio.fail_after(30):
        while open_files(path):
            await anyio.to_thread.run_sync(threading.get_ident)
    with pytest.raises(StoreError, match="closed"):
        await readers.run(count)
