"""The file of the SQLite store: modes, versions, strangers, and a disk that fills up."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from hermes_core.errors import SessionNotFound, StoreError
from hermes_core.messages import ToolMessage, user_text
from hermes_core.store import schema
from hermes_core.store.protocol import SessionPatch, SessionQuery, SessionRecord
from hermes_core.store.sqlite import SqliteStore

pytestmark = pytest.mark.anyio


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "sessions.sqlite3"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def make(path: Path, text: str = "", *, mode: int = 0o600) -> None:
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    path.touch(mode)
    path.write_text(text)


def contents(path: Path) -> bytes:
    return path.read_bytes()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_store_files_are_readable_by_their_owner_only(store: SqliteStore, path: Path) -> None:
    """The store's part of HA-145."""
    await store.create_session(SessionRecord(id="a", source="cli"))
    assert await store.session("a")
    assert mode(path.parent) == 0o700
    files = {entry.name: oct(mode(entry)) for entry in path.parent.iterdir()}
    assert files == {path.name: "0o600", f"{path.name}-wal": "0o600", f"{path.name}-shm": "0o600"}


async def test_store_tightens_a_file_that_others_could_read_and_leaves_the_folder(path: Path) -> None:
    make(path, mode=0o644)
    store = SqliteStore(path)
    await store.open()
    assert (mode(path), mode(path.parent)) == (0o600, 0o755)
    await store.close()


async def test_stored_sessions_are_there_after_reopening(path: Path) -> None:
    first = SqliteStore(path)
    await first.open()
    await first.create_session(SessionRecord(id="a", source="cli", title="kept"))
    row_ids = await first.append("a", [user_text("hello there")])
    await first.add_grants(["ls"])
    await first.put("s", "k", b"v")
    before = await first.list_sessions(SessionQuery())
    await first.close()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name], "the log was brought into the file"
    second = SqliteStore(path)
    await second.open()
    assert await second.list_sessions(SessionQuery()) == before
    assert [hit.row_id for hit in await second.search("hello")] == row_ids
    assert (set(await second.grants()), await second.get("s", "k")) == ({"ls"}, b"v")
    await second.close()


async def test_store_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await store.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(schema.STEPS) + 1}")
    connection.close()
    before = contents(path)
    with pytest.raises(StoreError, match="newer version of Hermes"):
        await store.open()
    assert contents(path) == before


async def test_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE sessions (id)")
    connection.close()
    before = contents(path)
    with pytest.raises(StoreError, match="another program"):
        await SqliteStore(path).open()
    assert contents(path) == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("obstacle", ["text", "folder", "file above"])
async def test_store_that_cannot_be_opened_says_which_file_is_at_fault(path: Path, obstacle: str) -> None:
    match obstacle:
        case "text":
            make(path, "no database " * 1000)
        case "folder":
            make(path / "file")
        case _:
            make(path.parent)
    with pytest.raises(StoreError, match=path.name):
        await SqliteStore(path).open()


async def test_older_tables_are_brought_up_to_date_with_what_they_hold(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    await store.close()
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, ("CREATE TABLE extra (x)", "INSERT INTO extra VALUES (1)")))
    for _ in range(2):
        await store.open()
        assert await store.session("a")
        await store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM extra").fetchone() == (1,)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(schema.STEPS),)
    connection.close()


async def test_step_that_fails_leaves_the_tables_as_they_were(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.close()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, ("CREATE TABLE extra (x)", "INSERT INTO nowhere VALUES (1)")))
        with pytest.raises(StoreError, match="nowhere"):
            await store.open()
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'extra'").fetchall() == []
    connection.close()
    await store.open()
    assert await store.list_sessions(SessionQuery()) == []


async def test_full_disk_fails_the_change_as_a_whole_and_later_changes_work(store: SqliteStore) -> None:
    """The store's part of HA-086: after a failed write both sides are as before, and a retry succeeds."""
    await store.create_session(SessionRecord(id="a", source="cli"))
    await store.append("a", [user_text("small")])
    before = (await store.messages("a"), await store.summary("a"))
    assert store._writer is not None
    connection = store._writer._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="full"):
        await store.append("a", [user_text("x"), user_text("word " * 50_000)])
    assert (await store.messages("a"), await store.summary("a")) == before
    connection.execute("PRAGMA max_page_count = 1000000")
    await store.append("a", [user_text("word " * 50_000)])
    assert len(await store.messages("a")) == 2


async def test_deleting_a_long_session_leaves_no_text_of_it_in_the_file(store: SqliteStore, path: Path) -> None:
    """More rows than one step of the clean-up takes."""
    for session_id, count in (("a", 250), ("b", 1)):
        await store.create_session(SessionRecord(id=session_id, source="cli"))
        await store.append(session_id, [user_text(f"wombat {number}") for number in range(count)])
    await store.delete_session("a")
    assert len(await store.search("wombat")) == 1
    await store.close()
    connection = sqlite3.connect(path)
    left = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("search", "unindexed")]
    connection.close()
    assert left == [1, 0]


async def test_store_that_is_not_open_says_so(path: Path) -> None:
    store = SqliteStore(path)
    for _ in range(2):
        with pytest.raises(StoreError, match="not open"):
            await store.session("a")
        with pytest.raises(StoreError, match="not open"):
            await store.add_grants(["x"])
        await store.close()
    await store.open()
    with pytest.raises(StoreError, match="open already"):
        await store.open()
    await store.close()
    await store.close()
    assert not path.with_name(path.name + "-wal").exists()


async def test_open_files_stay_flat_over_many_mixed_calls(store: SqliteStore, path: Path) -> None:
    """HA-158: neither calls nor failures nor reopening leak a descriptor."""
    process = psutil.Process()

    async def calls(number: int) -> None:
        await store.create_session(SessionRecord(id=f"s{number}", source="cli"))
        row_ids = await store.append(f"s{number}", [user_text(f"text {number}"), ToolMessage("c", "t", "")])
        await store.settle(f"s{number}", row_ids[1], ToolMessage("c", "t", "done"))
        await store.search(f"text {number}")
        await store.update_session(f"s{number}", SessionPatch(title="t"))
        with pytest.raises(SessionNotFound):
            await store.append("nobody", [user_text("x")])
        await store.put("s", f"{number}", b"")
        await store.delete_session(f"s{number}")
        await store.close()
        with pytest.raises(StoreError):
            await SqliteStore(path.parent).open()
        await store.open()

    for number in range(5):
        await calls(number)
    before = process.num_fds()
    for number in range(5, 60):
        await calls(number)
    assert process.num_fds() <= before + 2
    files = [file.path for file in process.open_files() if file.path.startswith(str(path))]
    assert len(files) <= 3 * 5


async def test_stored_row_that_cannot_be_read_is_an_error_of_its_session_alone(store: SqliteStore, path: Path) -> None:
    for session_id in "ab":
        await store.create_session(SessionRecord(id=session_id, source="cli"))
        await store.append(session_id, [user_text("x")])
    connection = sqlite3.connect(path)
    connection.execute("UPDATE messages SET body = ? WHERE session_id = 'a'", (b'{"role": "king"}',))
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="cannot be read") as caught:
        await store.messages("a")
    await store.append("b", [user_text("y")])
    assert len(await store.messages("b")) == 2, "later reads see the present, although the error is still held"
    assert caught.value.code == "store"


async def test_stored_figures_beyond_64_bits_are_refused_or_find_nothing(store: SqliteStore) -> None:
    """HA-087's kind: a row id that no store can hold is one that is not there."""
    await store.create_session(SessionRecord(id="a", source="cli"))
    await store.append("a", [user_text("x")])
    huge = 10**30
    assert await store.messages("a", after=huge) == []
    assert len(await store.messages("a", after=-huge, before=huge, limit=huge)) == 1
    with pytest.raises(StoreError, match="not a result"):
        await store.settle("a", huge, ToolMessage("c", "t", ""))


def test_import_of_the_core_and_of_the_twin_needs_neither_sqlite_nor_pytest() -> None:
    code = (
        "import sys, hermes_core, hermes_core.store.memory, hermes_core.testing.store_contract;"
        "print(sorted({'sqlite3', 'pytest', '_pytest'} & set(sys.modules)))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.strip() == "[]"


async def test_texts_of_the_first_tables_are_found_after_the_second_step(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", schema.STEPS[:1])
        connection = sqlite3.connect(path, isolation_level=None)
        schema.migrate(connection)
    connection.execute(
        "INSERT INTO sessions VALUES ('a','cli','','','','','','allow','','root',1,0,'','','hi',1,1,0,0,0,0,0,0,0)"
    )
    rows = [("user", b'{"role":"user","parts":[{"type":"text","text":"hi"}]}'), ("note", b'{"role":"note","text":"n"}')]
    connection.executemany("INSERT INTO messages VALUES (NULL, 'a', ?, 1.0, ?)", rows)
    connection.execute("INSERT INTO search (rowid, text) VALUES (1, 'hi')")
    connection.close()
    store = SqliteStore(path)
    await store.open()
    added = await store.append("a", [user_text("hi again")])
    assert [hit.row_id for hit in await store.search("hi")] == [*added, 1]
    assert [row.row_id for row in await store.messages("a")] == [1, 2, *added]
    await store.close()
