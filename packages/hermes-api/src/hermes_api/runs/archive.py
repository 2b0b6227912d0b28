"""Where runs are kept: their records and journals in the store, for as long as they can be asked for."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path

import msgspec
from hermes_core.store.protocol import Store

from hermes_api.runs.journal import Journal, restored
from hermes_api.wire.runs import RunStatus

RECORDS = "api.runs"
PAGES = "api.run_events"
LIVE_SECONDS = 24 * 3600.0
ENDED_SECONDS = 3600.0
"""How long an ended run can be asked for."""

_NONCE = secrets.token_hex(8)
_PROC = Path("/proc")


class RunRecord(msgspec.Struct, frozen=True):
    """A run as it is stored. `pid`, `nonce` and `begun` (when it began, empty where that is not known) name the
    process that runs it: numbers are given again, and a dead process that nobody waits for keeps its own."""

    owner: str
    pid: int
    nonce: str
    status: RunStatus
    begun: str = ""

    @property
    def abandoned(self) -> bool:
        """Whether the run has not ended and its process is gone."""
        if self.status.over or self.nonce == _NONCE:
            return False
        return self.pid == os.getpid() or not _alive(self.pid, self.begun)


class Archive:
    """Reads and writes the runs of this process and of those before it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def save(self, owner: str, status: RunStatus) -> None:
        """Keep the status of a run that this process runs."""
        record = RunRecord(owner, os.getpid(), _NONCE, status, _BEGUN)
        value = msgspec.json.encode(record)
        await self._store.put(RECORDS, status.run_id, value, expires_at=_expiry(status))

    async def load(self, run_id: str) -> RunRecord | None:
        """Return a run's record."""
        value = await self._store.get(RECORDS, run_id)
        return msgspec.json.decode(value, type=RunRecord) if value else None

    async def save_journal(self, journal: Journal, status: RunStatus) -> None:
        """Keep the frames that are not stored yet."""
        for number in journal.trim():
            await self._store.drop(PAGES, _key(journal.run_id, number))
        for number, page in journal.unsaved_pages().items():
            await self._store.put(PAGES, _key(journal.run_id, number), page, expires_at=_expiry(status))

    async def load_journal(self, run_id: str) -> Journal:
        """Return the journal of a run that is not live."""
        pages: dict[int, bytes] = {}
        for key in await self._store.keys(PAGES, prefix=run_id + ":"):
            if (page := await self._store.get(PAGES, key)) is not None:
                pages[int(key.rpartition(":")[2])] = page
        return restored(run_id, pages)


def _expiry(status: RunStatus) -> float:
    """Journals live a little longer than records, so that a status that is told has its events."""
    return time.time() + (ENDED_SECONDS if status.over else LIVE_SECONDS)


def _key(run_id: str, page: int) -> str:
    return f"{run_id}:{page:06d}"


def _alive(pid: int, begun: str) -> bool:
    if os.name == "nt":
        return False  # there is no harmless way to ask there, and two servers on one home are rare
    if _PROC.is_dir():
        now = beginning(pid)
        return bool(now) and now == (begun or now)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def beginning(pid: int) -> str:
    """Return when a process began, in ticks since the machine did; empty when it is dead, or cannot be known."""
    try:
        state, *fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else fields[18]


_BEGUN = beginning(os.getpid())
