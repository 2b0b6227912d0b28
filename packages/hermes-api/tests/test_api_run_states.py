"""The status of a run as a state machine, its journal, and what a dead process leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
import pytest
from hermes_api.encode.runs import RunEvent
from hermes_api.keys import owner_of
from hermes_api.runs import archive, state
from hermes_api.runs.archive import Archive, RunRecord
from hermes_api.runs.journal import MAX_BYTES, MAX_FRAMES, PAGE, Journal
from hermes_api.testing import KEY, api_server
from hermes_api.wire.runs import RunStatus
from hermes_core.events import MessageComplete
from hermes_core.store.memory import MemoryStore
from hypothesis import given
from hypothesis import strategies as st

RUN = "run_" + "0" * 32


def status(now: Any = "running") -> RunStatus:
    """Return a status object in some state."""
    return RunStatus(run_id=RUN, status=now, session_id="s", model="m", created_at=1.0, updated_at=1.0)


def event(name: str, **fields: Any) -> RunEvent:
    """Return one event of a run."""
    return RunEvent(name, fields, 2.0)


MOVES = ["running", "stopping", "approval.request", "approval.responded", "tool.started", "end", "lost"]


@given(st.lists(st.sampled_from(MOVES)))
def test_a_run_that_has_ended_stays_so_and_one_that_stops_only_ends(moves: list[str]) -> None:
    now = status("queued")
    for move in moves:
        before = now
        match move:
            case "running" | "stopping":
                now = state.moved(now, move)
            case "end":
                now = now if now.over else state.ended(now, MessageComplete(status="complete"), "", stopped="")
            case "lost":
                now = now if now.over else state.lost(now)
            case _:
                now = state.noted(now, event(move), b"{}" if move == "approval.request" else None)
        if before.over:
            assert now == before
        if before.status == "stopping":
            assert now.over or now.status == "stopping"
        if now.status != "waiting_for_approval":
            assert now.approval is msgspec.UNSET
        if now.over:
            assert now.last_event == f"run.{now.status}"
            assert (now.completed, now.partial, now.interrupted).count(True) <= 1


def test_the_wire_shape_leaves_out_what_has_no_value() -> None:
    assert set(msgspec.json.decode(msgspec.json.encode(status()))) == {
        "object",
        "run_id",
        "status",
        "session_id",
        "model",
        "created_at",
        "updated_at",
    }
    ended = state.ended(status(), MessageComplete(status="interrupted", pending_steer="x"), "", stopped="by_me")
    shown = msgspec.json.decode(msgspec.json.encode(ended))
    assert shown["status"] == "cancelled"
    assert (shown["completed"], shown["partial"], shown["interrupted"]) == (False, False, True)
    assert (shown["pending_steer"], shown["turn_exit_reason"]) == ("x", "by_me")
    assert state.last_event(ended).fields["pending_steer"] == "x"


def test_reading_a_journal_from_any_point_gives_the_frames_after_it() -> None:
    journal = Journal(RUN)
    for number in range(1, 601):
        journal.add(event("message.delta", delta=str(number)))
    assert journal.newest == 600
    assert journal.after(600) == []
    assert len(journal.after(590)) == 10
    assert journal.after(0, limit=2) == journal.after(0)[:2]
    assert journal.after(599)[0].startswith(b"id: 600\n")


@pytest.mark.parametrize(("number", "size"), [(MAX_FRAMES + PAGE, 1), (PAGE * 3, MAX_BYTES // PAGE)])
def test_a_journal_drops_its_oldest_pages_by_number_and_by_size(number: int, size: int) -> None:
    journal = Journal(RUN)
    dropped: list[int] = []
    for _ in range(number):
        journal.add(event("message.delta", delta="x" * size))
        dropped += journal.trim()
    assert dropped[0] == 0
    assert dropped == list(range(len(dropped)))
    assert journal.oldest == len(dropped) * PAGE + 1
    assert journal.newest == number
    assert journal.after(0)[0].startswith(b"id: %d\n" % journal.oldest)


@pytest.mark.anyio
@pytest.mark.parametrize("steps", [[10, 300, 1, 2000], [6000], [1], [256, 1], [255, 1, 1]])
async def test_a_stored_journal_comes_back_as_it_was(steps: list[int]) -> None:
    store = MemoryStore()
    await store.open()
    kept, journal = Archive(store), Journal(RUN)
    for step in steps:
        for _ in range(step):
            journal.add(event("message.delta", delta=f"text {journal.newest}"))
        await kept.save_journal(journal, status())
    back = await kept.load_journal(RUN)
    assert (back.oldest, back.newest, back.closed) == (journal.oldest, journal.newest, True)
    assert back.after(0, limit=10_000) == journal.after(0, limit=10_000)
    assert len(await store.keys(archive.PAGES)) == len(range(journal.oldest, journal.newest + 1, PAGE))


@pytest.mark.anyio
async def test_a_client_that_asks_for_frames_that_are_gone_is_told(hermes_home: Path) -> None:
    """DECISIONS rule 23: `replay.truncated` first, then what there is."""
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        kept, journal = Archive(api.runtime.store), Journal(RUN)
        ended = state.ended(status(), MessageComplete(status="complete", text="x"), "", stopped="")
        for _ in range(MAX_FRAMES + 1):
            journal.add(event("message.delta", delta="x"))
        await kept.save(owner_of(KEY), ended)
        await kept.save_journal(journal, ended)
        url = f"{api.url}/v1/runs/{RUN}/events"
        for query, requested in (("", None), ("?after=5", 5)):
            reply = await http.get(url + query)
            first = next(line for line in reply.text.splitlines() if line.startswith("data: "))
            told = msgspec.json.decode(first[6:])
            assert told["event"] == "replay.truncated"
            assert told["oldest_retained_seq"] == PAGE + 1
            assert told.get("requested_seq") == requested
            assert reply.text.count("\nid: ") == MAX_FRAMES + 1 - PAGE
        late = await http.get(f"{url}?after={MAX_FRAMES}")
        assert "replay.truncated" not in late.text


@pytest.mark.anyio
async def test_a_run_of_a_dead_process_is_interrupted_and_its_events_end(hermes_home: Path) -> None:
    """HA-122: told by its status, its events and every way to act on it; the session can be used."""
    gone = await anyio.open_process([sys.executable, "-c", ""])
    await gone.wait()
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        record = RunRecord(owner_of(KEY), gone.pid, "another", status("waiting_for_approval"))
        store, expiry = api.runtime.store, time.time() + 60
        await store.put(archive.RECORDS, RUN, msgspec.json.encode(record), expires_at=expiry)
        page = Journal(RUN)
        page.add(event("message.delta", delta="x"))
        await Archive(store).save_journal(page, status())
        url = f"{api.url}/v1/runs/{RUN}"
        shown = (await http.get(url)).json()
        events = (await http.get(f"{url}/events")).text
        stop = await http.post(f"{url}/stop")
        steer = await http.post(f"{url}/steer", json={"text": "x"})
        approval = await http.post(f"{url}/approval", json={"choice": "once"})
    assert (shown["status"], shown["last_event"]) == ("interrupted", "run.interrupted")
    assert shown["error"]
    assert "id: 1\nevent: message.delta" in events
    assert "id: 2\nevent: run.interrupted" in events
    assert events.endswith(": stream closed\n\n")
    assert stop.json() == shown
    assert (steer.status_code, steer.json()["error"]["code"]) == (409, "run_not_accepting_steer")
    assert (approval.status_code, approval.json()["error"]["code"]) == (409, "approval_not_active")


@pytest.mark.anyio
async def test_a_run_at_work_in_another_process_is_shown_and_cannot_be_stopped_here(hermes_home: Path) -> None:
    async with (
        await anyio.open_process([sys.executable, "-c", "input()"]) as other,
        api_server(hermes_home) as api,
        httpx2.AsyncClient(headers=api.headers) as http,
    ):
        record = RunRecord(owner_of(KEY), other.pid, "another", status())
        await api.runtime.store.put(archive.RECORDS, RUN, msgspec.json.encode(record))
        shown = await http.get(f"{api.url}/v1/runs/{RUN}")
        stop = await http.post(f"{api.url}/v1/runs/{RUN}/stop")
        other.kill()
    assert shown.json()["status"] == "running"
    assert (stop.status_code, stop.json()["error"]["code"]) == (409, "run_not_active")


def test_a_process_that_died_unnoticed_or_whose_number_was_given_again_runs_nothing() -> None:
    """HA-122: in a container nobody may wait for the dead, and numbers begin again with each start."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        record = RunRecord(owner_of(KEY), other.pid, "another", status(), archive.beginning(other.pid))
        assert not record.abandoned
        if sys.platform == "linux":
            assert msgspec.structs.replace(record, begun="1").abandoned
            other.kill()
            os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the table of processes
            assert record.abandoned
        else:
            other.kill()
    assert record.abandoned


@pytest.mark.anyio
async def test_a_run_of_another_key_is_not_there(hermes_home: Path) -> None:
    """DECISIONS rule 19"""
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        ended = state.ended(status(), MessageComplete(status="complete", text="private"), "", stopped="")
        await Archive(api.runtime.store).save("key:another", ended)
        for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/stop")):
            reply = await http.request(method, f"{api.url}/v1/runs/{RUN}{path}")
            assert reply.status_code == 404
            assert "private" not in reply.text
