"""The runtime: one per process. It owns the store, the live sessions, the models and the tools, and ends them all."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.abc import TaskGroup

from hermes_core import ids
from hermes_core.commands import EditMode
from hermes_core.config.config import load_config
from hermes_core.config.env import child_env
from hermes_core.config.redaction import begun, redact, secrets_of
from hermes_core.config.settings import Config
from hermes_core.errors import InvalidInput, SessionClosed, SessionNotFound
from hermes_core.messages import Message
from hermes_core.models.resolve import Models
from hermes_core.session.session import Session
from hermes_core.session.settings import patched
from hermes_core.session.toolbox import Toolbox
from hermes_core.store.protocol import SessionPatch, SessionRecord, Store
from hermes_core.tools.policy import Policy
from hermes_core.usage import Usage

if TYPE_CHECKING:
    from hermes_core.tools.tool import Tool

log = logging.getLogger(__name__)


class Runtime:
    """Owns everything that lives as long as the process. An async context manager.

    `config` defaults to the home's (`load_config`), `store` to the SQLite file `sessions.sqlite3` there, `tools`
    to the built-in ones. Leaving the block closes every session: turns are interrupted and written down, child
    processes end, the store is closed.
    """

    def __init__(
        self,
        config: Config | None = None,
        store: Store | None = None,
        *,
        tools: Sequence[Tool[Any]] | None = None,
    ) -> None:
        self.config = config or load_config()
        self.store = store or _default_store(self.config.home)
        self.models = Models(self.config)
        self.policy = Policy(self.config.approvals.mode, self.config.approvals.deny)
        self.child_env = child_env(self.config)
        self._secrets = secrets_of(self.config)
        self.tools = {tool.name: tool for tool in (_builtin(self.config) if tools is None else tools)}
        self._sessions: dict[str, Session] = {}
        self._resuming: dict[str, anyio.Event] = {}
        self._leaving = False
        self._tasks: TaskGroup = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self.store.open()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving = True
        with anyio.CancelScope(shield=True):
            await self.close_all("shutdown")
        try:
            # The body's own error is not given to the group: it reaches the caller as it is, not in a group.
            await self._tasks.__aexit__(None, None, None)
        finally:
            with anyio.CancelScope(shield=True):
                await self.models.aclose()
                await self.store.close()

    # -- sessions

    @property
    def sessions(self) -> Mapping[str, Session]:
        """The live sessions by runtime id, in the order in which they were made."""
        return self._sessions

    def live(self, session_id: str) -> Session:
        """Return the live session with this runtime id. Raises SessionNotFound."""
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFound(session_id)
        return session

    async def create(
        self,
        *,
        source: str,
        cwd: str = "",
        title: str = "",
        model: str = "",
        provider: str = "",
        edits: EditMode = "allow",
        answerable: bool = True,
        owner: str = "",
        stored_id: str = "",
        parent_id: str = "",
        seed: Sequence[Message] = (),
        ephemeral: bool = False,
        tools: Sequence[str] | None = None,
    ) -> Session:
        """Make a live session; its durable row comes with the first turn.

        `cwd` is an existing absolute folder (default: `terminal.cwd`, else the process's). `answerable` False
        means that nobody can answer questions. `seed` is history to begin with. `ephemeral` keeps it out of the
        store. `tools` names the tools offered, None all. Raises InvalidInput, and SessionClosed at shutdown.
        """
        folder = checked_cwd(cwd or self.config.terminal.cwd or ".")
        record = SessionRecord(
            id=ids.checked_session_id(stored_id) if stored_id else ids.stored_session_id(),
            source=source,
            cwd=folder,
            title=title,
            model=model,
            provider=provider,
            edits=edits,
            parent_id=parent_id,
            created_at=time.time(),
            owner=owner,
        )
        session = self._made(record, stored=False, answerable=answerable, ephemeral=ephemeral, tools=tools)
        session.seed(seed)
        return self._opened(session)

    async def resume(
        self,
        stored_id: str,
        *,
        cwd: str = "",
        edits: EditMode | None = None,
        answerable: bool = True,
        owner: str | None = None,
        tools: Sequence[str] | None = None,
    ) -> Session:
        """Return the live session of a stored one, loading it if need be. Two calls at once get the same session.

        `owner` given: a session of another owner is not found. One that is being closed is loaded anew, after its
        last row is written. Raises SessionNotFound, InvalidInput, and SessionClosed at shutdown.
        """
        while True:
            session = next((live for live in self._sessions.values() if live.stored_id == stored_id), None)
            if session is not None and session.closed:
                await self.close_session(session, "")  # waits for the end that is under way
            elif (loading := self._resuming.get(stored_id)) is not None:
                await loading.wait()
            else:
                break
        if session is None:
            loading = self._resuming[stored_id] = anyio.Event()
            try:
                return await self._load(stored_id, cwd, edits, answerable, owner, tools)
            finally:
                del self._resuming[stored_id]
                loading.set()
        if owner is not None and session.record.owner != owner:
            raise SessionNotFound(stored_id)
        return session

    def find(self, stored_id: str) -> Session | None:
        """Return the live session of a stored id, None when it is not live (or being closed)."""
        open_ones = (session for session in self._sessions.values() if not session.closed)
        return next((session for session in open_ones if session.stored_id == stored_id), None)

    async def close_session(self, session: Session, reason: str) -> None:
        """End a live session. Harmless when it is closed."""
        try:
            await session.close(reason)
        finally:
            if session.ended:
                self._sessions.pop(session.id, None)

    async def close_all(self, reason: str) -> None:
        """End every live session, side by side."""
        async with anyio.create_task_group() as closing:
            for session in list(self._sessions.values()):
                closing.start_soon(self._close_one, session, reason)

    def mask(self, text: str) -> str:
        """Return `text` with every secret that the configuration knows made unreadable."""
        return redact(text, self._secrets)

    def secret_begun(self, text: str) -> int:
        """Return how many characters at the end of `text` may be the beginning of a secret, with the rest to come."""
        return begun(text, self._secrets)

    async def warm(self) -> None:
        """Load what the first turn needs, so that its first answer is not late. Never fails: the turn will tell."""
        await self.models.warm()

    # -- how it is done

    async def _close_one(self, session: Session, reason: str) -> None:
        try:
            await self.close_session(session, reason)
        except Exception:
            log.exception("session %s could not be closed", session.stored_id)  # the others still can

    async def _load(
        self,
        stored_id: str,
        cwd: str,
        edits: EditMode | None,
        answerable: bool,
        owner: str | None,
        tools: Sequence[str] | None,
    ) -> Session:
        summary = await self.store.summary(stored_id)
        if summary is None or (owner is not None and summary.record.owner != owner):
            raise SessionNotFound(stored_id)
        patch = SessionPatch(
            cwd=checked_cwd(cwd) if cwd else summary.record.cwd,
            edits=edits or summary.record.edits,
            ended_at=0.0,
            end_reason="",
        )
        record = patched(summary.record, patch)
        if record != summary.record:
            await self.store.update_session(stored_id, patch)
        session = self._made(record, stored=True, answerable=answerable, tools=tools, usage=summary.usage)
        await session.transcript.load()
        return self._opened(session)

    def _opened(self, session: Session) -> Session:
        """Let everybody see a session that is ready."""
        if self._leaving:
            raise SessionClosed("Hermes is shutting down.")
        self._sessions[session.id] = session
        return session

    def _made(
        self,
        record: SessionRecord,
        *,
        stored: bool,
        answerable: bool,
        ephemeral: bool = False,
        tools: Sequence[str] | None = None,
        usage: Usage | None = None,
    ) -> Session:
        return Session(
            self,
            record,
            store=_memory_store() if ephemeral else self.store,
            stored=stored,
            answerable=answerable,
            usage=usage or Usage(),
            toolbox=Toolbox(lambda: self.tools, tools),
            tasks=self._tasks,
        )


def checked_cwd(cwd: str) -> str:
    """Return an absolute path of an existing folder. Raises InvalidInput naming what is wrong."""
    try:
        path = os.path.abspath(os.path.expanduser(cwd))  # noqa: PTH100, PTH111 - a text in, a text out
    except FileNotFoundError:
        raise InvalidInput("The folder that this process stands in is gone.", "cwd") from None
    if not os.path.isdir(path):  # noqa: PTH112
        raise InvalidInput(f"There is no folder {cwd!r}.", "cwd")
    return path


def _builtin(config: Config) -> Sequence[Tool[Any]]:
    from hermes_core.tools.builtin import builtin_tools

    return builtin_tools(timeout=config.terminal.timeout, patience=config.agent.clarify_timeout)


def _default_store(home: Path) -> Store:
    from hermes_core.store.sqlite import SqliteStore

    return SqliteStore(home / "sessions.sqlite3")


def _memory_store() -> Store:
    from hermes_core.store.memory import MemoryStore

    return MemoryStore()
