"""The writer: groups, isolation of callers, cancellation."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hermes_core.errors import StoreError
from hermes_core.store.connection import connect
from hermes_core.store.writer import Writer

pytestmark = pytest.mark.anyio


class Gate:
    """Work that holds the writer's thread until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.go = threading.Event()

    def __call__(self, connection: sqlite3.Connection) -> str:
        self.entered.set()
        assert self.go.wait(30)
        return add(connection, "gate")

    async def is_entered(self) -> None:
        await anyio.to_thread.run_sync(self.entered.wait, 30)


def add(connection: sqlite3.Connection, text: str) -> str:
    connection.execute("INSERT INTO t VALUES (?)", (text,))
    return text


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
async def writer(path: Path) -> AsyncIterator[Writer]:
    connection = connect(path, 5.0)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (text)")
    writer = Writer(connection, path)
    try:
        yield writer
    finally:
        await writer.close()


def stored(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    rows = [text for (text,) in connection.execute("SELECT text FROM t ORDER BY rowid")]
    connection.close()
    return rows


async def test_callers_that_wait_together_share_one_transaction(writer: Writer, path: Path) -> None:
    statements: list[str] = []
    writer._connection.set_trace_callback(statements.append)
    gate = Gate()
    results: list[str] = []

    async def call(number: int) -> None:
        results.append(await writer.run(lambda connection: add(connection, str(number))))

    async with anyio.create_task_group() as group:
        group.start_soon(writer.run, gate)
        await gate.is_entered()
        for number in range(200):
            group.start_soon(call, number)
        await anyio.wait_all_tasks_blocked()
        gate.go.set()
    assert results == stored(path)[1:] == [str(number) for number in range(200)]
    assert statements.count("BEGIN IMMEDIATE") == statements.count("COMMIT") == 2


async def test_error_of_one_caller_undoes_its_own_work_only(writer: Writer, path: Path) -> None:
    outcomes: dict[int, str] = {}

    def work(number: int, connection: sqlite3.Connection) -> str:
        add(connection, str(number))
        if number % 3 == 1:
            raise ValueError(f"mine: {number}")
        if number % 3 == 2:
            connection.execute("SELECT * FROM nowhere")
        return str(number)

    async def call(number: int) -> None:
        try:
            outcomes[number] = await writer.run(lambda connection: work(number, connection))
        except (ValueError, StoreError) as error:
            outcomes[number] = type(error).__name__

    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(call, number)
    assert outcomes == {number: (str(number), "ValueError", "StoreError")[number % 3] for number in range(30)}
    assert stored(path) == [str(number) for number in range(0, 30, 3)]


async def test_cancelled_callers_still_learn_that_their_work_was_saved(writer: Writer, path: Path) -> None:
    gate = Gate()
    learned: list[str] = []

    async def call(text: str) -> None:
        learned.append(await writer.run(lambda connection: add(connection, text)))

    async with anyio.create_task_group() as group:
        group.start_soon(writer.run, gate)
        await gate.is_entered()
        group.start_soon(call, "leader")
        group.start_soon(call, "follower")
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
        gate.go.set()
    assert learned == ["leader", "follower"]
    assert stored(path) == ["gate", "leader", "follower"]


async def test_native_cancellation_of_a_leader_leaves_the_others_their_outcome(writer: Writer, path: Path) -> None:
    """A task that is cancelled through asyncio itself, which no shield holds off, takes nobody along."""
    gate = Gate()
    first = asyncio.create_task(writer.run(gate))
    await gate.is_entered()
    waiting = [asyncio.create_task(writer.run(lambda connection, text=text: add(connection, text))) for text in "abcd"]
    await anyio.wait_all_tasks_blocked()
    first.cancel()  # it leads the transaction that runs in the thread
    waiting[0].cancel()  # it leads the batch that waits
    waiting[2].cancel()
    await checkpoint()
    gate.go.set()
    outcomes = await asyncio.gather(first, *waiting, return_exceptions=True)
    assert [type(outcome) for outcome in (outcomes[0], outcomes[1], outcomes[3])] == [asyncio.CancelledError] * 3
    assert [outcomes[2], outcomes[4]] == ["b", "d"]
    assert await writer.run(lambda connection: add(connection, "later")) == "later"
    assert stored(path) == ["gate", "b", "d", "later"], "what had begun was finished, what had not was dropped"


async def test_followers_of_a_leader_torn_away_in_its_commit_have_their_work_saved_once(
    writer: Writer, path: Path
) -> None:
    first, second = Gate(), Gate()
    tasks = [asyncio.create_task(writer.run(first))]
    await first.is_entered()
    tasks.append(asyncio.create_task(writer.run(second)))
    tasks += [asyncio.create_task(writer.run(lambda connection, text=text: add(connection, text))) for text in "ab"]
    await anyio.wait_all_tasks_blocked()
    first.go.set()
    await second.is_entered()
    tasks[1].cancel()  # it leads the transaction that the two others are part of
    await anyio.wait_all_tasks_blocked()
    second.go.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [outcomes[0], *outcomes[2:]] == ["gate", "a", "b"]
    assert isinstance(outcomes[1], asyncio.CancelledError)
    assert stored(path) == ["gate", "gate", "a", "b"]


async def test_closing_lets_waiting_work_be_saved_and_refuses_more(writer: Writer, path: Path) -> None:
    gate = Gate()

    async def save_waiting() -> None:
        await writer.run(lambda connection: add(connection, "waiting"))

    async with anyio.create_task_group() as group:
        group.start_soon(writer.run, gate)
        await gate.is_entered()
        group.start_soon(save_waiting)
        await anyio.wait_all_tasks_blocked()
        group.start_soon(writer.close)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(StoreError, match="closed"):
            await writer.run(lambda connection: add(connection, "late"))
        gate.go.set()
    assert stored(path) == ["gate", "waiting"]
