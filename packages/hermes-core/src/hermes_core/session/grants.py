"""What a person has allowed: some of it for this session, some for ever."""

from __future__ import annotations

import time
from typing import assert_never

from hermes_core.commands import Grant, Grants, GrantsReply, PermissionCommand, PermissionReply, Revoke, RevokeReply
from hermes_core.store.protocol import Store


class SessionGrants:
    """The granted patterns as one session sees them. Grants for ever are read anew for each question, so that a
    grant given or taken back in one session counts in all of them, at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: dict[str, float] = {}

    async def known(self) -> frozenset[str]:
        """Return every granted pattern."""
        return frozenset(await self._store.grants()) | self._session.keys()

    async def add(self, patterns: tuple[str, ...], *, always: bool) -> None:
        """Keep `patterns` for the session, or for ever."""
        if always:
            await self._store.add_grants(patterns)
            return
        for pattern in patterns:
            self._session.setdefault(pattern, time.time())

    async def dispatch(self, command: PermissionCommand) -> PermissionReply:
        """Carry out `command`."""
        match command:
            case Grants():
                return GrantsReply(tuple(await self._all()))
            case Revoke():
                stored = await self._store.revoke_grant(command.pattern)
                here = self._session.pop(command.pattern, None) is not None
                return RevokeReply(stored + here)
            case _:
                assert_never(command)

    async def _all(self) -> list[Grant]:
        found = [Grant(pattern, at, always=True) for pattern, at in (await self._store.grants()).items()]
        found += [Grant(pattern, at, always=False) for pattern, at in self._session.items()]
        return sorted(found, key=lambda grant: grant.created_at)
