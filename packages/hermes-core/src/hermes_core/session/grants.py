"""What a person has allowed: some of it for this session, some for ever."""

from __future__ import annotations

from hermes_core.store.protocol import Store


class SessionGrants:
    """The granted patterns as one session sees them. Grants for ever are read anew for each question, so that a
    grant given in one session holds in all of them, at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._session: set[str] = set()

    async def known(self) -> frozenset[str]:
        """Return every granted pattern."""
        return await self._store.grants() | self._session

    async def add(self, patterns: tuple[str, ...], *, always: bool) -> None:
        """Keep `patterns` for the session, or for ever."""
        if always:
            await self._store.add_grants(patterns)  # first: what could not be kept for ever is asked about again
        self._session.update(patterns)
