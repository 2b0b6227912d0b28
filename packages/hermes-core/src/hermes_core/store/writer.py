"""The one writer: callers that wait at the same time share one transaction.

The first caller of a batch leads it. While the batch before is being committed, others join; then the leader
commits all of them in a worker thread. So there is no task in the background, and nothing to start or to stop.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar, cast

import anyio
import anyio.to_thread

from hermes_core.errors import StoreError
from hermes_core.store.connection import store_error

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
ITS_OWN = (sqlite3.Error, OverflowError)
"""What SQLite and its module raise, the second for integers of more than 64 bits."""


class _Job(Generic[T]):
    """One caller's work, and what came of it."""

    def __init__(self, work: Work[T]) -> None:
        self.work = work
        self.value: T | None = None
        self.error: Exception | None = None


class _Batch:
    """Jobs of one transaction. Who finds it without a leader leads it; `changed` wakes those who wait for one."""

    def __init__(self) -> None:
        self.jobs: list[_Job[object]] = []
        self.led = False
        self.begun = False
        self.over = False
        self.changed = anyio.Event()


class Writer:
    """Owns the writing connection. A batch is as large as the number of callers that wait."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._turn = anyio.Lock()
        self._thread = anyio.CapacityLimiter(1)
        self._mutex = threading.Lock()
        self._open = _Batch()
        self._closed = False

    async def run(self, work: Work[T]) -> T:
        """Run `work` in the next transaction and return its result once that is committed.

        An error of `work` undoes only what `work` did and is raised here; sqlite3 errors come as StoreError or
        StoreBusy. A caller that is cancelled still waits for the outcome: what was begun is known to be done or not.
        """
        if self._closed:
            raise StoreError("The session store is closed.")
        job = _Job(work)
        batch = self._open
        batch.jobs.append(cast("_Job[object]", job))
        try:
            with anyio.CancelScope(shield=True):
                await self._see_through(batch)
        except BaseException:
            # Cancelled by other means than anyio's scopes, which a shield does not hold off.
            if not batch.begun:
                batch.jobs.remove(cast("_Job[object]", job))
            raise
        if job.error is not None:
            raise job.error
        return cast("T", job.value)

    async def close(self) -> None:
        """Commit what waits and close the connection. Later calls do nothing."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            async with self._turn:
                await anyio.to_thread.run_sync(self._close, limiter=self._thread)

    async def _see_through(self, batch: _Batch) -> None:
        """Return when `batch` is over. A leader that is torn away is followed by one of those who wait."""
        while not batch.over:
            if batch.led:
                await batch.changed.wait()
                continue
            batch.led = True
            try:
                await self._lead(batch)
            finally:
                batch.led = False
                batch.changed.set()
                batch.changed = anyio.Event()

    async def _lead(self, batch: _Batch) -> None:
        async with self._turn:
            batch.begun = True
            if self._open is batch:
                self._open = _Batch()
            await anyio.to_thread.run_sync(self._commit, batch, limiter=self._thread)

    def _commit(self, batch: _Batch) -> None:
        # A leader that was torn away leaves its commit running in the thread; the next one waits for it here.
        with self._mutex:
            if batch.over:
                return
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                for job in batch.jobs:
                    self._try(job)
                self._connection.execute("COMMIT")
            except sqlite3.Error as error:
                for job in batch.jobs:
                    job.error = store_error(error, self._path)
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            batch.over = True

    def _try(self, job: _Job[object]) -> None:
        """Run one job so that its failure, which its caller gets from `run`, leaves no trace and disturbs no other."""
        self._connection.execute("SAVEPOINT job")
        try:
            job.value = job.work(self._connection)
        except Exception as error:
            job.error = store_error(error, self._path) if isinstance(error, ITS_OWN) else error
            if not self._connection.in_transaction:
                # A full disk and its like end the whole transaction, and with it the work of the others.
                raise sqlite3.OperationalError(f"the transaction was given up: {error}") from error
            self._connection.execute("ROLLBACK TO job")
        self._connection.execute("RELEASE job")

    def _close(self) -> None:
        with self._mutex:
            self._connection.close()
