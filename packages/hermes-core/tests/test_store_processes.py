"""Several processes on one store, and processes that are killed. Real ones, each running the code below."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from hermes_core.errors import StoreBusy
from hermes_core.messages import user_text
from hermes_core.store.protocol import SessionQuery, SessionRecord
from hermes_core.store.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

HEAD = """
import sys, anyio
from hermes_core.errors import StoreError
from hermes_core.messages import ToolMessage, user_text
from hermes_core.store.protocol import SessionQuery, SessionRecord
from hermes_core.store.sqlite import SqliteStore
path, name = sys.argv[1:]
"""

WORKLOAD = """
async def main():
    store = SqliteStore(path)
    await store.open()
    try:
        await store.create_session(SessionRecord(id="shared", source="cli"))
    except StoreError:
        pass
    await store.create_session(SessionRecord(id=name, source="cli"))
    async def work(task):
        for number in range(15):
            text = f"{name} {task} {number}"
            row_ids = await store.append("shared", [user_text(text), ToolMessage("c", "t", "begun")])
            await store.settle("shared", row_ids[1], ToolMessage("c", "t", f"result of {text}"))
            await store.append(name, [user_text(text)])
            await store.list_sessions(SessionQuery())
            await store.search(text)
            print(row_ids[0], text, flush=True)
        await store.put(name, str(task), b"done")
    async with anyio.create_task_group() as group:
        for task in range(6):
            group.start_soon(work, task)
    await store.close()
anyio.run(main)
"""

ENDLESS = """
async def main():
    store = SqliteStore(path)
    await store.open()
    await store.create_session(SessionRecord(id=name, source="cli"))
    async def work(task):
        number = 0
        while True:
            text = f"{name}-{task}-{number}"
            (row_id,) = await store.append(name, [user_text(text)])
            sys.stdout.write(f"{row_id} {text}\\n")
            sys.stdout.flush()
            number += 1
    async with anyio.create_task_group() as group:
        for task in range(4):
            group.start_soon(work, task)
anyio.run(main)
"""

LOCK = """
import sqlite3
connection = sqlite3.connect(path, isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""

AUDITED = """
import json
opened = []
def audit(event, arguments):
    if event in ("open", "os.truncate", "shutil.copyfile") and "sessions.sqlite3" in str(arguments[0]):
        opened.append(str(arguments[0]))
sys.addaudithook(audit)
"""

PROBE = """
open(path + ".probe", "w").close()
print(json.dumps(opened))
"""


def start(code: str, path: Path, name: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


@contextmanager
def locked(path: Path) -> Generator[subprocess.Popen[str]]:
    """Another process that holds the write lock until a line is written to it."""
    with start(LOCK, path, "locker") as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        try:
            yield process
        finally:
            process.communicate("\n")


def assert_sound(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.execute("INSERT INTO search (search) VALUES ('integrity-check')")
    connection.close()


def acknowledged(output: str) -> dict[int, str]:
    """Return row id -> text of every whole line."""
    lines = [line.split(" ", 1) for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {int(row_id): text.rstrip("\n") for row_id, text in lines}


async def test_processes_that_open_and_write_one_store_at_once_lose_nothing(tmp_path: Path) -> None:
    """HA-017: no row is lost or doubled, nothing deadlocks, and the file is sound afterwards."""
    path = tmp_path / "sessions.sqlite3"
    names = ["one", "two", "three"]
    processes = [start(WORKLOAD, path, name) for name in names]
    outputs = [await anyio.to_thread.run_sync(process.communicate) for process in processes]
    assert [process.returncode for process in processes] == [0] * 3
    given = [acknowledged(output) for output, _ in outputs]
    wanted = {row_id: text for part in given for row_id, text in part.items()}
    assert len(wanted) == sum(len(part) for part in given) == 3 * 6 * 15, "no row id was given twice"
    store = SqliteStore(path)
    await store.open()
    rows = await store.messages("shared")
    assert {row.row_id: row.message for row in rows if row.row_id in wanted} == {
        row_id: user_text(text) for row_id, text in wanted.items()
    }
    counts = {summary.record.id: summary.message_count for summary in await store.list_sessions(SessionQuery())}
    assert counts == {"shared": 540, "one": 90, "two": 90, "three": 90}
    assert len(await store.search("result of two", limit=1000)) == 90
    assert await store.search("begun") == []
    await store.close()
    assert_sound(path)


@pytest.mark.parametrize("seed", range(4))
async def test_acknowledged_rows_survive_a_kill_at_any_point(tmp_path: Path, seed: int) -> None:
    """The store's law: what a writer was told is saved, is saved."""
    path = tmp_path / "sessions.sqlite3"
    chance = random.Random(seed)
    wanted: dict[int, str] = {}
    for round_ in range(3):
        with start(ENDLESS, path, f"r{round_}") as process:
            assert process.stdout is not None
            head = "".join(process.stdout.readline() for _ in range(chance.randrange(1, 60)))
            process.send_signal(signal.SIGKILL)
            rest, _ = process.communicate()
        assert process.returncode == -signal.SIGKILL
        wanted |= acknowledged(head + rest)
    store = SqliteStore(path)
    await store.open()
    found = {row.row_id: row.message for round_ in range(3) for row in await store.messages(f"r{round_}")}
    assert {row_id: found.get(row_id) for row_id in wanted} == {
        row_id: user_text(text) for row_id, text in wanted.items()
    }
    for summary in await store.list_sessions(SessionQuery()):
        assert summary.message_count == len(await store.messages(summary.record.id))
    await store.close()
    assert_sound(path)


async def test_lock_of_another_process_is_waited_for_within_the_budget(tmp_path: Path) -> None:
    """HA-005: a sibling that holds the lock for a while delays a write, and every row comes in order, once."""
    path = tmp_path / "sessions.sqlite3"
    store = SqliteStore(path, patience=60.0)
    await store.open()
    await store.create_session(SessionRecord(id="a", source="cli"))
    with locked(path) as process:
        async with anyio.create_task_group() as group:
            for text in ("first", "second", "third"):
                group.start_soon(store.append, "a", [user_text(text)])
                await anyio.wait_all_tasks_blocked()
            assert await store.messages("a") == [], "readers do not wait for writers"
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
    assert [row.message for row in await store.messages("a")] == [user_text(t) for t in ("first", "second", "third")]
    await store.close()


async def test_lock_held_beyond_the_budget_is_store_busy_and_nothing_is_written(tmp_path: Path) -> None:
    """HA-005: giving up is an error of its own, and the next attempt succeeds."""
    path = tmp_path / "sessions.sqlite3"
    store = SqliteStore(path, patience=0.02)
    await store.open()
    await store.create_session(SessionRecord(id="a", source="cli"))
    with locked(path), pytest.raises(StoreBusy, match="locked by another process"):
        await store.append("a", [user_text("lost")])
    await store.append("a", [user_text("kept")])
    assert [row.message for row in await store.messages("a")] == [user_text("kept")]
    await store.close()


async def test_lock_at_first_opening_is_waited_for_or_reported(tmp_path: Path) -> None:
    """HA-005 at start-up: switching to the write-ahead log does not fail at once where SQLite would."""
    path = tmp_path / "sessions.sqlite3"
    with locked(path), pytest.raises(StoreBusy):
        await SqliteStore(path, patience=0.02).open()
    store = SqliteStore(path)
    with locked(path) as process:
        async with anyio.create_task_group() as group:
            group.start_soon(store.open)
            await anyio.wait_all_tasks_blocked()
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
    assert await store.list_sessions(SessionQuery()) == []
    await store.close()


async def test_database_files_are_opened_by_sqlite_only(tmp_path: Path) -> None:
    """HA-017: no `open` of ours on the file, its log or its index, which would drop SQLite's locks."""
    path = tmp_path / "sessions.sqlite3"
    process = start(AUDITED + WORKLOAD + PROBE, path, "one")
    output, _ = process.communicate()
    assert process.returncode == 0
    assert json.loads(output.splitlines()[-1]) == [f"{path}.probe"], "only the opening that proves the audit"
