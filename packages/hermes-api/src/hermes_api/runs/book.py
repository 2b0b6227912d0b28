"""The book of runs: begins them, finds them, and ends those that a dead process left behind."""

from __future__ import annotations

import secrets
import time

from anyio.abc import TaskGroup
from hermes_core.commands import Submit

from hermes_api.errors import ApiError, Refusals
from hermes_api.limits import Gate
from hermes_api.runs import state
from hermes_api.runs.archive import Archive
from hermes_api.runs.journal import Journal
from hermes_api.runs.run import Run
from hermes_api.sessions import Asked, Sessions
from hermes_api.turns import Turns
from hermes_api.wire.runs import RunStatus


class RunBook:
    """The runs of one server. Live ones are in memory, ended ones in the archive only."""

    def __init__(
        self, archive: Archive, sessions: Sessions, turns: Turns, gate: Gate, refusals: Refusals, *, reasoning: bool
    ) -> None:
        self._archive = archive
        self._sessions = sessions
        self._turns = turns
        self._gate = gate
        self._refusals = refusals
        self._reasoning = reasoning
        self._live: dict[str, Run] = {}

    async def begin(self, run_id: str, asked: Asked, submit: Submit, model: str, tasks: TaskGroup) -> RunStatus:
        """Store a new run as queued and let it work in `tasks`. The caller holds a place of the gate for it."""
        now = time.time()
        status = RunStatus(
            run_id=run_id,
            status="queued",
            session_id=asked.stored_id,
            model=model,
            created_at=now,
            updated_at=now,
        )
        await self._archive.save(asked.owner, status)
        run = Run(status, asked, submit, self._archive, self._refusals, reasoning=self._reasoning)
        self._live[run_id] = run
        tasks.start_soon(self._work, run)
        return status

    async def find(self, run_id: str, owner: str) -> Run | RunStatus:
        """Return a live run, or the status of one that is not live here. Raises ApiError 404."""
        run = self._live.get(run_id)
        if run is not None:
            if run.owner != owner:
                raise unknown(run_id)
            return run
        record = await self._archive.load(run_id) if _is_run_id(run_id) else None
        if record is None or record.owner != owner:
            raise unknown(run_id)
        if not record.abandoned:
            return record.status
        status = state.lost(record.status)
        journal = await self._archive.load_journal(run_id)
        journal.add(state.last_event(status))
        await self._archive.save(owner, status)
        await self._archive.save_journal(journal, status)
        return status

    async def journal(self, run_id: str, owner: str) -> Journal:
        """Return the journal of a run. Raises ApiError 404."""
        found = await self.find(run_id, owner)
        return found.journal if isinstance(found, Run) else await self._archive.load_journal(run_id)

    async def stop_all(self, reason: str) -> None:
        """Stop every live run; each ends as cancelled."""
        for run in list(self._live.values()):
            await run.stop(reason)
            await run.interrupt()

    async def _work(self, run: Run) -> None:
        try:
            await run.work(self._sessions, self._turns)
        finally:
            del self._live[run.status.run_id]
            self._gate.leave()


def new_run_id() -> str:
    """Return a new run id: `run_` and 32 hex digits."""
    return "run_" + secrets.token_hex(16)


def unknown(run_id: str) -> ApiError:
    """Return the answer for a run that is not there, or belongs to another key."""
    return ApiError(404, f"There is no run {run_id[:80]!r}.", "run_not_found")


def _is_run_id(run_id: str) -> bool:
    return len(run_id) <= 80 and run_id.isascii() and run_id.isprintable()


def status_of(found: Run | RunStatus) -> RunStatus:
    """Return the status of what `find` returned."""
    return found.status if isinstance(found, Run) else found
