"""MemoryStore: the store of tests and of programs that keep nothing. It grows with what is put into it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import msgspec

from hermes_core.content import clean
from hermes_core.errors import InvalidInput, SessionNotFound, StoreConflict, StoreError
from hermes_core.messages import Message, NoteMessage, StoredMessage, ToolMessage
from hermes_core.store.codec import encoded, role_of, sanitised
from hermes_core.store.limits import MAX_HITS, MAX_PAGE
from hermes_core.store.protocol import Archive, SearchHit, SessionPatch, SessionQuery, SessionRecord, SessionSummary
from hermes_core.store.search import fold, matches, preview_of, searchable, snippet_of, terms_of
from hermes_core.store.survivors import survivors
from hermes_core.usage import Usage


class _Rows:
    """The rows of one session: its transcript, what was taken out of it, and the rows that have a key."""

    def __init__(self) -> None:
        self.transcript: list[StoredMessage] = []
        self.archives: dict[int, tuple[float, list[StoredMessage]]] = {}
        self.keys: dict[str, int] = {}

    def everything(self) -> Iterator[tuple[StoredMessage, bool]]:
        """Yield each row, and whether it is archived."""
        for _, rows in self.archives.values():
            yield from ((row, True) for row in rows)
        yield from ((row, False) for row in self.transcript)


class MemoryStore:
    """A Store in this process's memory: everything is gone with it. `clock` tells the time in UNIX seconds."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._sessions: dict[str, SessionSummary] = {}
        self._rows: dict[str, _Rows] = {}
        self._last_row_id = 0
        self._texts: dict[int, int] = {}
        """Row id -> place of its text in the order of writing. Rows that were copied or moved share it."""
        self._last_text = 0
        self._grants: dict[str, float] = {}
        self._items: dict[tuple[str, str], tuple[bytes, float]] = {}

    async def open(self) -> None:
        """See Store.open."""

    async def close(self) -> None:
        """See Store.close."""

    # -- sessions

    async def create_session(self, record: SessionRecord) -> None:
        """See Store.create_session."""
        record = sanitised(record)
        if record.id in self._sessions:
            raise StoreError(f"There is a session {record.id!r} already.")
        record = msgspec.structs.replace(record, created_at=record.created_at or self._clock())
        self._sessions[record.id] = SessionSummary(record=record, updated_at=record.created_at)
        self._rows[record.id] = _Rows()

    async def session(self, session_id: str) -> SessionRecord | None:
        """See Store.session."""
        summary = await self.summary(session_id)
        return summary.record if summary else None

    async def update_session(self, session_id: str, patch: SessionPatch) -> None:
        """See Store.update_session."""
        summary = self._known(session_id)
        changes = msgspec.structs.asdict(sanitised(patch))
        changes = {name: value for name, value in changes.items() if value is not msgspec.UNSET}
        record = msgspec.structs.replace(summary.record, **changes)
        self._sessions[record.id] = msgspec.structs.replace(summary, record=record)

    async def list_sessions(self, query: SessionQuery) -> list[SessionSummary]:
        """See Store.list_sessions; at most 1,000 rows. Raises InvalidInput when `after` is no session."""
        found = [summary for summary in self._sessions.values() if _listed(summary, query)]
        if query.after:
            last = self._sessions.get(clean(query.after))
            if last is None:
                raise InvalidInput(f"There is no session {query.after!r} to go on after.", "after")
            found = [summary for summary in found if _place(summary) < _place(last)]
        found.sort(key=_place, reverse=True)
        return found[: max(0, min(query.limit, MAX_PAGE))]

    async def summary(self, session_id: str) -> SessionSummary | None:
        """See Store.summary."""
        return self._sessions.get(clean(session_id))

    async def delete_session(self, session_id: str) -> bool:
        """See Store.delete_session."""
        if clean(session_id) not in self._sessions:
            return False
        doomed = [clean(session_id)]
        for parent in doomed:  # grows while it is walked: children of children
            doomed += [
                summary.record.id
                for summary in self._sessions.values()
                if summary.record.kind == "subagent"
                and summary.record.parent_id == parent
                and summary.record.id not in doomed
            ]
        for gone in doomed:
            for row, _ in self._rows[gone].everything():
                self._texts.pop(row.row_id, None)
            del self._sessions[gone], self._rows[gone]
        for summary in list(self._sessions.values()):
            if summary.record.parent_id in doomed:
                record = msgspec.structs.replace(summary.record, parent_id="")
                self._sessions[record.id] = msgspec.structs.replace(summary, record=record)
        return True

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
        summary = self._known(session_id)
        if key and await self.keyed(session_id, key) is not None:
            raise StoreConflict(f"The session {session_id!r} has a message with the key {key!r} already.")
        now = at or self._clock()
        rows = self._rows[summary.record.id]
        added = [self._new_row(now, sanitised(message)) for message in messages]
        rows.transcript += added
        if added and key:
            rows.keys[clean(key)] = added[-1].row_id
        if added:
            summary = msgspec.structs.replace(
                summary,
                record=msgspec.structs.replace(summary.record, ended_at=0.0, end_reason=""),
                preview=summary.preview or next(filter(None, (preview_of(row.message) for row in added)), ""),
                message_count=summary.message_count + sum(not isinstance(row.message, NoteMessage) for row in added),
                updated_at=now,
            )
        if usage is not None:
            summary = msgspec.structs.replace(summary, usage=summary.usage + usage)
        self._sessions[summary.record.id] = summary
        return [row.row_id for row in added]

    async def settle(self, session_id: str, row_id: int, result: ToolMessage) -> None:
        """See Store.settle. Raises SessionNotFound, and StoreError when the row is no result of that call."""
        rows = self._rows[self._known(session_id).record.id].transcript
        result = sanitised(result)
        for place, row in enumerate(rows):
            if row.row_id != row_id:
                continue
            if isinstance(row.message, ToolMessage) and row.message.tool_call_id == result.tool_call_id:
                rows[place] = StoredMessage(row_id, row.created_at, result)
                text = self._texts.get(row_id)
                if list(self._texts.values()).count(text or 0) != 1 or not searchable(result):
                    self._texts.pop(row_id, None)
                    self._note_text(row_id, result)
                return
        raise StoreError(f"Row {row_id} of session {session_id!r} is not a result of call {result.tool_call_id!r}.")

    async def messages(
        self, session_id: str, *, after: int = 0, before: int = 0, limit: int = 0, newest: bool = False
    ) -> list[StoredMessage]:
        """See Store.messages."""
        rows = self._rows[clean(session_id)].transcript if clean(session_id) in self._rows else []
        found = [row for row in rows if row.row_id > after and (before <= 0 or row.row_id < before)]
        if limit <= 0:
            return found
        return found[-limit:] if newest else found[:limit]

    async def keyed(self, session_id: str, key: str) -> int | None:
        """See Store.keyed."""
        rows = self._rows.get(clean(session_id))
        row_id = rows.keys.get(clean(key)) if rows else None
        if rows is None or row_id is None:
            return None
        return row_id if any(row.row_id == row_id for row in rows.transcript) else 0

    async def replace(
        self, session_id: str, rows: Sequence[tuple[float, Message]], *, expected: int, archive: bool, key: str = ""
    ) -> list[int]:
        """See Store.replace."""
        summary = self._known(session_id)
        its = self._rows[summary.record.id]
        old = its.transcript
        if expected != (old[-1].row_id if old else 0):
            raise StoreConflict(f"The session {session_id!r} was changed meanwhile; nothing was written.")
        if key and await self.keyed(session_id, key) is not None:
            raise StoreConflict(f"The session {session_id!r} has a message with the key {key!r} already.")
        new = [(at, sanitised(message)) for at, message in rows]
        kept = survivors(
            [(row.created_at, encoded(row.message)[1]) for row in old], [(at, encoded(m)[1]) for at, m in new]
        )
        moved = {place for place in kept if place is not None}
        gone = [row for place, row in enumerate(old) if place not in moved]
        if gone and archive:
            its.archives[len(its.archives) + 1] = (self._clock(), gone)
        elif gone:
            self._forget(its, gone)
        its.transcript = [
            self._new_row(at, message) if place is None else self._moved(its, old[place])
            for place, (at, message) in zip(kept, new, strict=True)
        ]
        if key and kept and kept[-1] is None:
            its.keys[clean(key)] = its.transcript[-1].row_id
        self._sessions[summary.record.id] = _replaced(summary, its.transcript, self._clock())
        return [row.row_id for row in its.transcript]

    async def archives(self, session_id: str) -> list[Archive]:
        """See Store.archives."""
        rows = self._rows.get(clean(session_id))
        return [
            Archive(generation=number, created_at=at, message_count=_counted(gone))
            for number, (at, gone) in (rows.archives.items() if rows else ())
        ]

    async def archived(self, session_id: str, generation: int) -> list[StoredMessage]:
        """See Store.archived."""
        rows = self._rows.get(clean(session_id))
        return list(rows.archives[generation][1]) if rows and generation in rows.archives else []

    async def branch(self, source_id: str, record: SessionRecord, through_row: int) -> int:
        """See Store.branch."""
        source = self._rows[self._known(source_id).record.id].transcript
        if through_row and not any(row.row_id == through_row for row in source):
            raise StoreConflict(f"The session {source_id!r} has no row {through_row}.")
        await self.create_session(record)
        session_id = clean(record.id)
        copies = [self._copied(row) for row in source if row.row_id <= through_row]
        self._rows[session_id].transcript = copies
        self._sessions[session_id] = _replaced(self._sessions[session_id], copies, self._clock())
        return _counted(copies)

    async def search(
        self, query: str, *, limit: int = 20, source: str = "", owner: str | None = None, session: str = ""
    ) -> list[SearchHit]:
        """See Store.search; at most 1,000 hits. Raises InvalidInput for a query longer than 1,000 characters."""
        terms = terms_of(query)
        if not terms:
            return []
        found: list[SearchHit] = []
        for session_id, rows in self._rows.items():
            record = self._sessions[session_id].record
            if (
                (source and record.source != clean(source))
                or (session and session_id != clean(session))
                or (owner is not None and record.owner != clean(owner))
            ):
                continue
            for row, archived in rows.everything():
                text = searchable(row.message)
                if matches(fold(text), terms):
                    found.append(_hit(record, row, snippet_of(text, terms), archived))
        found.sort(key=lambda hit: (-self._texts[hit.row_id], hit.row_id))
        return found[: max(0, min(limit, MAX_HITS))]

    # -- grants and small values

    async def grants(self) -> dict[str, float]:
        """See Store.grants."""
        return dict(sorted(self._grants.items(), key=lambda grant: (grant[1], grant[0])))

    async def add_grants(self, patterns: Sequence[str]) -> None:
        """See Store.add_grants."""
        now = self._clock()
        for pattern in patterns:
            self._grants.setdefault(clean(pattern), now)

    async def revoke_grant(self, pattern: str) -> bool:
        """See Store.revoke_grant."""
        return self._grants.pop(clean(pattern), None) is not None

    async def put(self, space: str, key: str, value: bytes, *, expires_at: float = 0.0) -> None:
        """See Store.put."""
        now = self._clock()
        for place in [place for place, (_, end) in self._items.items() if 0 < end <= now]:
            del self._items[place]
        self._items[clean(space), clean(key)] = (bytes(value), expires_at)

    async def get(self, space: str, key: str) -> bytes | None:
        """See Store.get."""
        value, end = self._items.get((clean(space), clean(key)), (None, 0.0))
        return None if 0 < end <= self._clock() else value

    async def drop(self, space: str, key: str) -> bool:
        """See Store.drop; a value that has expired was not there."""
        there = await self.get(space, key) is not None
        self._items.pop((clean(space), clean(key)), None)
        return there

    async def keys(self, space: str, *, prefix: str = "", limit: int = 1000) -> list[str]:
        """See Store.keys: in the order of code points, without expired ones."""
        now, space, prefix = self._clock(), clean(space), clean(prefix)
        found = sorted(
            key
            for (its_space, key), (_, end) in self._items.items()
            if its_space == space and key.startswith(prefix) and not 0 < end <= now
        )
        return list(islice(found, max(0, limit)))

    def _new_row(self, at: float, message: Message) -> StoredMessage:
        self._last_row_id += 1
        self._note_text(self._last_row_id, message)
        return StoredMessage(self._last_row_id, at, message)

    def _note_text(self, row_id: int, message: Message) -> None:
        if searchable(message):
            self._last_text += 1
            self._texts[row_id] = self._last_text

    def _copied(self, row: StoredMessage) -> StoredMessage:
        self._last_row_id += 1
        if row.row_id in self._texts:
            self._texts[self._last_row_id] = self._texts[row.row_id]
        return StoredMessage(self._last_row_id, row.created_at, row.message)

    def _moved(self, its: _Rows, row: StoredMessage) -> StoredMessage:
        moved = self._copied(row)
        self._texts.pop(row.row_id, None)
        its.keys = {key: moved.row_id if row_id == row.row_id else row_id for key, row_id in its.keys.items()}
        return moved

    def _forget(self, its: _Rows, gone: Sequence[StoredMessage]) -> None:
        row_ids = {row.row_id for row in gone}
        its.keys = {key: row_id for key, row_id in its.keys.items() if row_id not in row_ids}
        for row_id in row_ids:
            self._texts.pop(row_id, None)

    def _known(self, session_id: str) -> SessionSummary:
        summary = self._sessions.get(clean(session_id))
        if summary is None:
            raise SessionNotFound(session_id)
        return summary


def _listed(summary: SessionSummary, query: SessionQuery) -> bool:
    record = summary.record
    return (
        (query.children or record.kind != "subagent")
        and (not query.only_used or summary.message_count > 0)
        and (not query.source or record.source == clean(query.source))
        and (not query.cwd or record.cwd == clean(query.cwd))
        and (query.owner is None or record.owner == clean(query.owner))
        and (not query.parent or record.parent_id == clean(query.parent))
    )


def _counted(rows: Sequence[StoredMessage]) -> int:
    return sum(not isinstance(row.message, NoteMessage) for row in rows)


def _replaced(summary: SessionSummary, rows: Sequence[StoredMessage], now: float) -> SessionSummary:
    preview = next(filter(None, (preview_of(row.message) for row in rows)), "")
    return msgspec.structs.replace(
        summary,
        message_count=_counted(rows),
        preview=summary.preview if summary.preview and preview else preview,
        updated_at=now,
    )


def _place(summary: SessionSummary) -> tuple[float, str]:
    return summary.updated_at, summary.record.id


def _hit(record: SessionRecord, row: StoredMessage, snippet: str, archived: bool) -> SearchHit:
    return SearchHit(
        session_id=record.id,
        title=record.title,
        row_id=row.row_id,
        role=role_of(row.message),
        snippet=snippet,
        created_at=row.created_at,
        archived=archived,
    )
