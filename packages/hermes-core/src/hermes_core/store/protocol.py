"""What the core asks of a session store. `sqlite.py` is the real one, `memory.py` its twin; one contract test
(`hermes_core.testing.store_contract`) holds for both.

When a method that writes has returned, what it wrote survives a kill of the process. Every method may raise
StoreError, and StoreBusy when another process held the write lock for longer than the store waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from hermes_core.commands import EditMode
from hermes_core.messages import Message, StoredMessage, ToolMessage
from hermes_core.usage import Usage

SessionKind = Literal["root", "branch", "subagent"]


class SessionRecord(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The durable settings of one session. `id` is the stored id; times are UNIX seconds."""

    id: str
    source: str
    """The surface that made it: `cli`, `acp`, `tui`, `api`, `embed`, ..."""
    cwd: str = ""
    title: str = ""
    model: str = ""
    provider: str = ""
    reasoning_effort: str = ""
    edits: EditMode = "allow"
    parent_id: str = ""
    kind: SessionKind = "root"
    created_at: float = 0.0
    ended_at: float = 0.0
    """0 while it is open; ended sessions can be resumed."""
    end_reason: str = ""
    owner: str = ""
    """What the session belongs to, where a surface keeps its callers apart; empty = everybody's."""


class SessionPatch(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The fields to change; UNSET leaves one as it is."""

    cwd: str | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType = msgspec.UNSET
    model: str | msgspec.UnsetType = msgspec.UNSET
    provider: str | msgspec.UnsetType = msgspec.UNSET
    reasoning_effort: str | msgspec.UnsetType = msgspec.UNSET
    edits: EditMode | msgspec.UnsetType = msgspec.UNSET
    ended_at: float | msgspec.UnsetType = msgspec.UNSET
    end_reason: str | msgspec.UnsetType = msgspec.UNSET


class SessionSummary(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One row of a list. `preview` is the first user text, at most 160 characters on one line.

    `message_count` counts user, assistant and tool rows; `updated_at` is when rows were last added or replaced.
    """

    record: SessionRecord
    preview: str = ""
    message_count: int = 0
    updated_at: float = 0.0
    usage: Usage = Usage()


class SessionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to list: newest activity first, ties by id descending.

    Empty filters match everything; sub-agent sessions are listed only with `children`. `parent` is the session that
    those wanted came from. `after` is the id of the last row of the page before. `only_used` leaves out sessions
    without messages.
    """

    limit: int = 50
    after: str = ""
    source: str = ""
    cwd: str = ""
    owner: str | None = None
    parent: str = ""
    children: bool = False
    only_used: bool = True


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A message that holds all terms of a query; `snippet` is some 160 characters around the first match."""

    session_id: str
    title: str
    row_id: int
    role: str
    snippet: str
    created_at: float
    archived: bool = False
    """Whether the row was taken out of the transcript: `row_id` then names nothing that can be acted on."""


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that one replacement took out of a transcript. `generation` counts from 1; `created_at` is UNIX seconds."""

    generation: int
    created_at: float
    message_count: int
    """Its user, assistant and tool rows."""


class Store(Protocol):
    """Durable sessions, messages, approvals and small values."""

    async def open(self) -> None:
        """Make the store ready; called once, before anything else."""
        ...

    async def close(self) -> None:
        """Write what is pending and release everything. Calling it twice is harmless."""
        ...

    # -- sessions

    async def create_session(self, record: SessionRecord) -> None:
        """Add a session. Raises StoreError when the id is taken. `created_at` 0 means now."""
        ...

    async def session(self, session_id: str) -> SessionRecord | None:
        """Return the settings of a session, None where there is none."""
        ...

    async def update_session(self, session_id: str, patch: SessionPatch) -> None:
        """Change settings. Raises SessionNotFound."""
        ...

    async def list_sessions(self, query: SessionQuery) -> list[SessionSummary]:
        """Return one page. Its cost does not grow with the number of stored sessions or messages."""
        ...

    async def summary(self, session_id: str) -> SessionSummary | None:
        """Return the row that a list would show of this session."""
        ...

    async def delete_session(self, session_id: str) -> bool:
        """Remove a session with its messages and its sub-agents' sessions; branches are detached and stay.

        Return whether it was there.
        """
        ...

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
        """Add rows in one transaction, and `usage` to the session's totals; return the new row ids.

        Row ids grow and are never given twice, also not after deletion. `at` is their time, 0 = now. `key` names the
        last of them for `keyed`. A session that was ended is open again. Raises SessionNotFound, and StoreConflict
        when the session has a row of that key.
        """
        ...

    async def keyed(self, session_id: str, key: str) -> int | None:
        """Return the row that was stored with `key`, None where there is none; 0 when it was archived since."""
        ...

    async def replace(
        self, session_id: str, rows: Sequence[tuple[float, Message]], *, expected: int, archive: bool, key: str = ""
    ) -> list[int]:
        """Make `rows` (time, message) the whole transcript, in one transaction; return their row ids, all of them new.

        `expected` is the last row id that the caller knows, 0 for none. Old rows that are not among the new ones are
        archived, so that they are still found and can be read with `archived`, or gone for ever. Session totals of
        usage stay. `key` names the last row, if that is a new one, as in `append`. Raises SessionNotFound, and
        StoreConflict when the last row is another one or the key is taken.
        """
        ...

    async def archives(self, session_id: str) -> list[Archive]:
        """Return what was taken out of the transcript by replacements, oldest first."""
        ...

    async def archived(self, session_id: str, generation: int) -> list[StoredMessage]:
        """Return the rows of one archive in order, under the row ids that they had."""
        ...

    async def branch(self, source_id: str, record: SessionRecord, through_row: int) -> int:
        """Add a session that begins with copies of the rows of another one, up to and with `through_row` (0 = none).

        Returns its message count. Raises SessionNotFound, StoreConflict when the source has no such row, and StoreError
        when the id is taken; then there is no new session, and the source is as it was in any case.
        """
        ...

    async def settle(self, session_id: str, row_id: int, result: ToolMessage) -> None:
        """Put the real result of a tool call in the place of the row that was stored when the call began."""
        ...

    async def messages(
        self, session_id: str, *, after: int = 0, before: int = 0, limit: int = 0, newest: bool = False
    ) -> list[StoredMessage]:
        """Return rows in order, with row ids above `after` and below `before` (0 = no bound), at most `limit`
        (0 = all). With `newest` the last `limit` rows of those are taken, still returned oldest first."""
        ...

    async def search(
        self, query: str, *, limit: int = 20, source: str = "", owner: str | None = None, session: str = ""
    ) -> list[SearchHit]:
        """Return messages in which every blank-separated term of `query` occurs literally, newest first.

        Case is ignored; terms may be CJK, parts of words or punctuation (`%` and `_` stand for themselves). Filters
        narrow it to sessions of a source, of an owner (None = any), or to one session.
        """
        ...

    # -- approvals that were granted for ever

    async def grants(self) -> dict[str, float]:
        """Return the patterns a person has granted with `always`, each with its time (UNIX seconds), oldest first."""
        ...

    async def add_grants(self, patterns: Sequence[str]) -> None:
        """Keep patterns granted with `always`; those that are there keep their time."""
        ...

    async def revoke_grant(self, pattern: str) -> bool:
        """Forget a pattern granted with `always`; return whether it was there."""
        ...

    # -- small values of the surfaces (run journals, stored responses)

    async def put(self, space: str, key: str, value: bytes, *, expires_at: float = 0.0) -> None:
        """Keep a value; `expires_at` in UNIX seconds, 0 = never."""
        ...

    async def get(self, space: str, key: str) -> bytes | None:
        """Return a value that has not expired."""
        ...

    async def drop(self, space: str, key: str) -> bool:
        """Remove a value; return whether it was there."""
        ...

    async def keys(self, space: str, *, prefix: str = "", limit: int = 1000) -> list[str]:
        """Return the keys of a space in order."""
        ...
