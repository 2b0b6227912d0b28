"""SqliteStore: sessions in one SQLite file that several processes may share."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from hermes_core.errors import StoreError
from hermes_core.messages import Message, StoredMessage, ToolMessage
from hermes_core.store import item_rows, message_rows, session_rows, transcript_rows
from hermes_core.store.connection import connect_writer, store_error
from hermes_core.store.limits import PATIENCE
from hermes_core.store.protocol import Archive, SearchHit, SessionPatch, SessionQuery, SessionRecord, SessionSummary
from hermes_core.store.readers import Readers
from hermes_core.store.writer import Work, Writer
from hermes_core.usage import Usage

T = TypeVar("T")


class SqliteStore:
    """A Store in the file `path`, which is made with mode 0600 (a missing folder with 0700).

    `patience` is how long to wait for another process's write lock, in seconds; then StoreBusy. `clock` tells the
    time in UNIX seconds. Belongs to the event loop that opened it.
    """

    def __init__(self, path: Path | str, *, patience: float = PATIENCE, clock: Callable[[], float] = time.time) -> None:
        self._path = Path(path)
        self._patience = patience
        self._clock = clock
        self._writer: Writer | None = None
        self._readers: Readers | None = None

    async def open(self) -> None:
        """See Store.open. Raises StoreError for a file of another program or of a newer version."""
        if self._writer is not None:
            raise StoreError("The session store is open already.")
        with anyio.CancelScope(shield=True):  # a connection that nobody took would never be closed
            try:
                connection = await anyio.to_thread.run_sync(connect_writer, self._path, self._patience)
            except (sqlite3.Error, OSError, StoreError) as error:
                raise store_error(error, self._path) from error
            self._writer = Writer(connection, self._path)
            self._readers = Readers(self._path, self._patience)

    async def close(self) -> None:
        """See Store.close."""
        writer, readers, self._writer, self._readers = self._writer, self._readers, None, None
        if readers is not None:
            await readers.close()
        if writer is not None:
            # Last, since the last connection of all brings the write-ahead log into the file.
            await writer.close()

    # -- sessions

    async def create_session(self, record: SessionRecord) -> None:
        """See Store.create_session."""
        await self._write(lambda connection: session_rows.insert(connection, record, self._clock()))

    async def session(self, session_id: str) -> SessionRecord | None:
        """See Store.session."""
        return await self._read(lambda connection: session_rows.record_of(connection, session_id))

    async def update_session(self, session_id: str, patch: SessionPatch) -> None:
        """See Store.update_session."""
        await self._write(lambda connection: session_rows.update(connection, session_id, patch))

    async def list_sessions(self, query: SessionQuery) -> list[SessionSummary]:
        """See Store.list_sessions; at most 1,000 rows. Raises InvalidInput when `after` is no session."""
        return await self._read(lambda connection: session_rows.page(connection, query))

    async def summary(self, session_id: str) -> SessionSummary | None:
        """See Store.summary."""
        return await self._read(lambda connection: session_rows.summary_of(connection, session_id))

    async def delete_session(self, session_id: str) -> bool:
        """See Store.delete_session."""
        there = await self._write(lambda connection: session_rows.delete(connection, session_id))
        await self._sweep()
        return there

    # -- messages

    async def append(
        self,
        session_id: str,
        messages: Sequence[Message],
        usage: Usage | None = None,
        *,
        at: float = 0.0,
        key: str = "",
    ) -> list[int]:
        """See Store.append."""
        rows = tuple(messages)
        return await self._write(
            lambda connection: message_rows.append(
                connection, session_id, rows, usage, key=key, now=at or self._clock()
            )
        )

    async def keyed(self, session_id: str, key: str) -> int | None:
        """See Store.keyed."""
        return await self._read(lambda connection: message_rows.keyed(connection, session_id, key))

    async def replace(
        self, session_id: str, rows: Sequence[tuple[float, Message]], *, expected: int, archive: bool, key: str = ""
    ) -> list[int]:
        """See Store.replace."""
        wanted = tuple(rows)
        row_ids = await self._write(
            lambda connection: transcript_rows.replace(
                connection, session_id, wanted, expected=expected, archive=archive, key=key, now=self._clock()
            )
        )
        if not archive:
            await self._sweep()
        return row_ids

    async def archives(self, session_id: str) -> list[Archive]:
        """See Store.archives."""
        return await self._read(lambda connection: transcript_rows.archives(connection, session_id))

    async def archived(self, session_id: str, generation: int) -> list[StoredMessage]:
        """See Store.archived."""
        if generation < 1:
            return []
        return await self._read(lambda connection: message_rows.read(connection, session_id, generation=generation))

    async def branch(self, source_id: str, record: SessionRecord, through_row: int) -> int:
        """See Store.branch."""
        return await self._write(
            lambda connection: transcript_rows.branch(connection, source_id, record, through_row, self._clock())
        )

    async def settle(self, session_id: str, row_id: int, result: ToolMessage) -> None:
        """See Store.settle. Raises SessionNotFound, and StoreError when the row is no result of that call."""
        await self._write(lambda connection: message_rows.settle(connection, session_id, row_id, result))

    async def messages(
        self, session_id: str, *, after: int = 0, before: int = 0, limit: int = 0, newest: bool = False
    ) -> list[StoredMessage]:
        """See Store.messages."""
        return await self._read(
            lambda connection: message_rows.read(
                connection, session_id, after=after, before=before, limit=limit, newest=newest
            )
        )

    async def search(
        self, query: str, *, limit: int = 20, source: str = "", owner: str | None = None, session: str = ""
    ) -> list[SearchHit]:
        """See Store.search; at most 1,000 hits. Raises InvalidInput for a query longer than 1,000 characters."""
        return await self._read(
            lambda connection: message_rows.search(
                connection, query, limit=limit, source=source, owner=owner, session=session
            )
        )

    # -- grants and small values

    async def grants(self) -> dict[str, float]:
        """See Store.grants."""
        return await self._read(item_rows.grants)

    async def add_grants(self, patterns: Sequence[str]) -> None:
        """See Store.add_grants."""
        wanted = tuple(patterns)
        await self._write(lambda connection: item_rows.add_grants(connection, wanted, self._clock()))

    async def revoke_grant(self, pattern: str) -> bool:
        """See Store.revoke_grant."""
        return await self._write(lambda connection: item_rows.revoke_grant(connection, pattern))

    async def put(self, space: str, key: str, value: bytes, *, expires_at: float = 0.0) -> None:
        """See Store.put."""
        await self._write(lambda connection: item_rows.put(connection, space, key, value, expires_at, self._clock()))

    async def get(self, space: str, key: str) -> bytes | None:
        """See Store.get."""
        return await self._read(lambda connection: item_rows.get(connection, space, key, self._clock()))

    async def drop(self, space: str, key: str) -> bool:
        """See Store.drop; a value that has expired was not there."""
        return await self._write(lambda connection: item_rows.drop(connection, space, key, self._clock()))

    async def keys(self, space: str, *, prefix: str = "", limit: int = 1000) -> list[str]:
        """See Store.keys: in the order of code points, without expired ones."""
        return await self._read(lambda connection: item_rows.keys(connection, space, prefix, limit, self._clock()))

    async def _sweep(self) -> None:
        # A caller that is cancelled here leaves the rest to the next deletion.
        while await self._write(message_rows.sweep):
            await anyio.lowlevel.checkpoint()

    async def _write(self, work: Work[T]) -> T:
        if self._writer is None:
            raise StoreError("The session store is not open.")
        return await self._writer.run(work)

    async def _read(self, work: Work[T]) -> T:
        if self._readers is None:
            raise StoreError("The session store is not open.")
        return await self._readers.run(work)
