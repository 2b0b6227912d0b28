"""A process that is killed at any point of a turn leaves a transcript that the next request can be made of."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from typing import Any, Protocol

import anyio.to_thread
import killable
import pytest
from hermes_core.messages import AssistantMessage, StoredMessage, ToolMessage
from hermes_core.store.sqlite import SqliteStore
from hermes_core.testing import ScriptedModel

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

KILLS = 50
EVENTS_OF_A_TURN = 24
SESSION = "20260101_000000_aaaaaa"
FORKS = multiprocessing.get_context("forkserver")
# Loaded once, by the server that the processes are forked from: a kill then costs no import.
FORKS.set_forkserver_preload(
    [
        "hermes_core.runtime",
        "openai",
        "hermes_core.models.openai_chat",
        "hermes_core.store.sqlite",
        "hermes_core.tools.builtin",
    ]
)


def run_and_kill(home: Path, folder: Path, after: int) -> list[str]:
    """Run a turn in a process of its own; kill it after so many reports, or let it end. Return the reports."""
    ours, its = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=killable.run, args=(home, folder, SESSION, its))
    process.start()
    its.close()
    reports = list(received(ours, after))
    if len(reports) == after:
        process.kill()
    process.join()
    return reports


class Reports(Protocol):
    """The reading end of a pipe."""

    def recv(self) -> Any:
        """Return the next report. Raises EOFError."""
        ...


def received(connection: Reports, count: int) -> list[str]:
    """Return `count` reports, or fewer where the process ended."""
    reports: list[str] = []
    try:
        while len(reports) < count:
            reports.append(connection.recv())
    except EOFError:
        pass
    return reports


def assert_legal(rows: list[StoredMessage]) -> None:
    """Every call has exactly one result, directly after its answer and in call order; there is no other result."""
    waiting: list[str] = []
    for row in rows:
        if isinstance(row.message, ToolMessage):
            assert waiting, f"row {row.row_id} is a result that no call asked for"
            assert row.message.tool_call_id == waiting.pop(0)
        else:
            assert waiting == [], f"row {row.row_id} stands where results of {waiting} belong"
            if isinstance(row.message, AssistantMessage):
                waiting = [call.id for call in row.message.tool_calls]
    assert waiting == []


async def test_fifty_kills_at_every_point_of_a_turn_leave_a_legal_transcript(hermes_home: Path, tmp_path: Path) -> None:
    """HA-001 and law 5 of the house: what was told is stored, and a strict provider accepts the next request."""
    async with ScriptedModel() as model:
        hermes_home.mkdir()  # noqa: ASYNC240
        (hermes_home / "config.yaml").write_text(
            f"model: {{default: scripted-model, provider: custom, base_url: '{model.base_url}', api_key: k}}\n"
        )
        store = SqliteStore(hermes_home / "sessions.sqlite3")
        for kill in range(KILLS):
            await anyio.to_thread.run_sync(run_and_kill, hermes_home, tmp_path, 1 + kill % EVENTS_OF_A_TURN)
            await store.open()
            rows = await store.messages(SESSION)
            await store.close()
            assert_legal(rows)
            assert len({row.row_id for row in rows}) == len(rows) > 0
            assert model.violations == []
        reports = await anyio.to_thread.run_sync(run_and_kill, hermes_home, tmp_path, 1_000_000)
        assert reports[-1].startswith("complete")
        assert model.violations == []
