"""A store whose methods fail or wait as a test says."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from hermes_core.messages import Message, StoredMessage, ToolMessage
from hermes_core.store.memory import MemoryStore
from hermes_core.store.protocol import SessionPatch, SessionRecord
from hermes_core.usage import Usage


class FaultyStore(MemoryStore):
    """`broken[method]` is raised by that method; a method in `gates` waits there first, and `reached` tells of it."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: dict[str, BaseException] = {}
        self.gates: dict[str, anyio.Event] = {}
        self.reached: dict[str, anyio.Event] = {}

    def hold(self, method: str) -> anyio.Event:
        """Make a method wait until the returned event is set; return at once."""
        self.reached[method] = anyio.Event()
        self.gates[method] = anyio.Event()
        return self.gates[method]

    async def _at(self, method: str) -> None:
        gate = self.gates.get(method)
        if gate is not None:
            self.reached[method].set()
            await gate.wait()
        if method in self.broken:
            raise self.broken[method]

    async def create_session(self, record: SessionRecord) -> None:
        await super().create_session(record)
        await self._at("create_session")

    async def update_session(self, session_id: str, patch: SessionPatch) -> None:
        await self._at("update_session")
        await super().update_session(session_id, patch)

    async def append(
        self,
        session_id: str,
        messages: Sequence[Message],
        usage: Usage | None = None,
        *,
        at: float = 0.0,
        key: str = "",
    ) -> list[int]:
        await self._at("append")
        return await super().append(session_id, messages, usage, at=at, key=key)

    async def replace(
        self, session_id: str, rows: Sequence[tuple[float, Message]], *, expected: int, archive: bool, key: str = ""
    ) -> list[int]:
        await self._at("replace")
        return await super().replace(session_id, rows, expected=expected, archive=archive, key=key)

    async def branch(self, source_id: str, record: SessionRecord, through_row: int) -> int:
        await self._at("branch")
        return await super().branch(source_id, record, through_row)

    async def settle(self, session_id: str, row_id: int, result: ToolMessage) -> None:
        await self._at("settle")
        await super().settle(session_id, row_id, result)

    async def messages(
        self, session_id: str, *, after: int = 0, before: int = 0, limit: int = 0, newest: bool = False
    ) -> list[StoredMessage]:
        await self._at("messages")
        return await super().messages(session_id, after=after, before=before, limit=limit, newest=newest)

    async def grants(self) -> dict[str, float]:
        await self._at("grants")
        return await super().grants()

    async def add_grants(self, patterns: Sequence[str]) -> None:
        await self._at("add_grants")
        await super().add_grants(patterns)

    async def revoke_grant(self, pattern: str) -> bool:
        await self._at("revoke_grant")
        return await super().revoke_grant(pattern)
