"""The sessions that HTTP turns work in: one turn at a time in each, opened for the turn and closed after it."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from hashlib import sha256

import anyio
import msgspec
from hermes_core.errors import SessionNotFound
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session

from hermes_api.bookmarks import Bookmarks
from hermes_api.wire.conversation import Conversation

CLOSE_SECONDS = 10.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Which session a turn wants. `stored_id` names one, which need not exist; else the conversation decides.

    The conversation's history begins a session that has no messages; one that has goes on with its own.
    """

    owner: str
    conversation: Conversation
    stored_id: str = ""
    answerable: bool = False
    ephemeral: bool = False


class _Door:
    """Lets one turn into a session at a time, in the order in which they came."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.users = 0
        self.working = False


class Sessions:
    """Opens sessions for turns over HTTP."""

    def __init__(self, runtime: Runtime, bookmarks: Bookmarks) -> None:
        self._runtime = runtime
        self._bookmarks = bookmarks
        self._doors: dict[str, _Door] = {}

    def working(self, stored_id: str) -> bool:
        """Say whether a turn over HTTP is at work in a session, so that another one would have to wait."""
        door = self._doors.get(stored_id)
        return door is not None and door.working

    @contextlib.asynccontextmanager
    async def opened(self, asked: Asked) -> AsyncGenerator[Session]:
        """Open the session that is asked for, alone; close it afterwards, unless other surfaces use it.

        Raises SessionNotFound for a session of another owner, InvalidInput.
        """
        async with AsyncExitStack() as stack:
            session = await self._continued(asked, stack) or await self._begun(asked, stack)
            door = self._doors[session.stored_id]
            door.working = True
            try:
                yield session
            finally:
                door.working = False

    # -- how it is done

    async def _continued(self, asked: Asked, stack: AsyncExitStack) -> Session | None:
        """Return the session that was named, or that the history has a bookmark of; None to begin a new one."""
        if asked.stored_id:
            await stack.enter_async_context(self._door(asked.stored_id))
            session = await self._existing(asked.stored_id, asked, stack)
            if session is not None and not session.rows:
                session.seed(asked.conversation.history)
            return session
        if asked.ephemeral or not asked.conversation.history:
            return None
        mark = await self._bookmarks.find(asked.owner, asked.conversation.history)
        if mark is None or self.working(mark.session_id):
            return None
        trial = AsyncExitStack()
        try:
            await trial.enter_async_context(self._door(mark.session_id))
            session = await self._existing(mark.session_id, asked, trial)
            if session is not None and session.rows and session.rows[-1].row_id == mark.row_id and not session.turn_id:
                await stack.enter_async_context(trial.pop_all())
                return session
        finally:
            await trial.aclose()
        return None

    async def _existing(self, stored_id: str, asked: Asked, stack: AsyncExitStack) -> Session | None:
        """Return a session that is live or stored, None where there is none."""
        live = self._runtime.find(stored_id)
        if live is None:
            record = await self._runtime.store.session(stored_id)
            if record is None:
                return None
            _check_owner(record.owner, asked.owner, stored_id)
            session = await self._runtime.resume(stored_id, answerable=asked.answerable)
            stack.push_async_callback(self._close, session)
            return session
        _check_owner(live.record.owner, asked.owner, stored_id)
        return live

    async def _begun(self, asked: Asked, stack: AsyncExitStack) -> Session:
        """Return a new session that begins with the history."""
        stored_id = asked.stored_id
        if not stored_id:
            stored_id = _new_id(asked.conversation)
            await stack.enter_async_context(self._door(stored_id))
        session = await self._runtime.create(
            source="api",
            stored_id=stored_id,
            owner=asked.owner,
            answerable=asked.answerable,
            seed=asked.conversation.history,
            ephemeral=asked.ephemeral,
        )
        stack.push_async_callback(self._close, session)
        return session

    @contextlib.asynccontextmanager
    async def _door(self, stored_id: str) -> AsyncGenerator[None]:
        door = self._doors.setdefault(stored_id, _Door())
        door.users += 1
        try:
            async with door.lock:
                yield
        finally:
            door.users -= 1
            if not door.users:
                del self._doors[stored_id]

    async def _close(self, session: Session) -> None:
        """Close a session that we opened, unless somebody else listens to it or works in it by now."""
        with anyio.move_on_after(CLOSE_SECONDS, shield=True):
            if session.log.readers == 0 and session.state == "idle":
                await self._runtime.close_session(session, "api_turn_done")


def _new_id(conversation: Conversation) -> str:
    """Return an id for a new session: told by its first words, so that a person sees what belongs together, and by
    chance, so that it is free without asking the store."""
    said = f"{conversation.system}\n{conversation.first_text}"
    return f"api-{sha256(said.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}-{secrets.token_hex(4)}"


def _check_owner(owner: str, asking: str, stored_id: str) -> None:
    """Raise SessionNotFound for what belongs to another key. What has no owner is everybody's."""
    if owner not in ("", asking):
        raise SessionNotFound(stored_id)
