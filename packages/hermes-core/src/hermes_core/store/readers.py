"""Readers: a few connections beside the writer, which never wait for it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from hermes_core.errors import StoreError
from hermes_core.store.connection import connect_reader, store_error
from hermes_core.store.limits import READERS
from hermes_core.store.writer import ITS_OWN, Work

T = TypeVar("T")


class Readers:
    """At most READERS connections, opened when first needed and kept until `close`."""

    def __init__(self, path: Path, patience: float) -> None:
        self._path = path
        self._patience = patience
        self._idle: list[sqlite3.Connection] = []
        self._threads = anyio.CapacityLimiter(READERS)
        self._closed = False

    async def run(self, work: Work[T]) -> T:
        """Run `work` in a worker thread and return its result; sqlite3 errors come as StoreError or StoreBusy."""
        if self._closed:
            raise StoreError("The session store is closed.")
        return await anyio.to_thread.run_sync(self._read, work, limiter=self._threads)

    async def close(self) -> None:
        """Let running reads end, then close every connection. Later calls do nothing."""
        if self._closed:
            return
        self._closed = True
        with anyio.CancelScope(shield=True):
            for _ in range(READERS):
                await self._threads.acquire_on_behalf_of(object())
            await anyio.to_thread.run_sync(self._close)

    def _read(self, work: Work[T]) -> T:
        # A connection is used by the thread that took it from the list and by no other: `pop` and `append` of a
        # list are atomic.
        try:
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = connect_reader(self._path, self._patience)
            try:
                result = work(connection)
            except BaseException:
                # A statement that was broken off would hold its old view of the data for as long as it lives.
                connection.close()
                raise
        except ITS_OWN as error:
            raise store_error(error, self._path) from error
        self._idle.append(connection)
        if self._closed:  # by a caller that did not wait for this read, because its task was torn away
            self._close()
        return result

    def _close(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()
