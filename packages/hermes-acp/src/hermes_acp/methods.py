"""The methods of the protocol, from the parameters to the reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from anyio.abc import TaskGroup
from hermes_core.content import bounded
from hermes_core.errors import HermesError, SessionNotFound
from hermes_core.store.protocol import SessionQuery, SessionSummary

from hermes_acp import limits, settings
from hermes_acp.capabilities import AUTH_METHODS
from hermes_acp.chunks import timestamp
from hermes_acp.connection import Call, Connection
from hermes_acp.decode import absolute, check_servers, prompt_parts
from hermes_acp.errors import InvalidParams
from hermes_acp.hosting import Hosting
from hermes_acp.session import AcpSession
from hermes_acp.settings import edits_of, model_id, offered_models
from hermes_acp.wire.params import (
    AuthenticateParams,
    ListSessionsParams,
    LoadSessionParams,
    NewSessionParams,
    PromptParams,
    SessionParams,
    SetConfigOptionParams,
    SetModelParams,
    SetModeParams,
)
from hermes_acp.wire.results import (
    Empty,
    ListSessionsResult,
    LoadSessionResult,
    NewSessionResult,
    SessionEntry,
    SetConfigOptionResult,
)

if TYPE_CHECKING:
    from hermes_core.models.provider import Endpoint
    from hermes_core.runtime import Runtime
    from hermes_core.session.session import Session

SOURCE = "acp"
PAGE = 50
MAX_SESSIONS = 256
"""Sessions that one connection may have open."""
_NOT_OFFERED = frozenset({"clarify"})
"""Tools that ask what this protocol has no question for."""


class Methods:
    """The sessions of one connection, and what can be asked of them. A method replies itself, when it is time."""

    def __init__(self, hosting: Hosting, connection: Connection, tasks: TaskGroup) -> None:
        self.notices = False
        self._hosting = hosting
        self._connection = connection
        self._tasks = tasks
        self._sessions: dict[str, AcpSession] = {}
        self._opening = 0

    # -- set-up

    async def authenticate(self, call: Call, params: AuthenticateParams) -> None:
        """Say whether a model can answer now; there is nothing to log in to but the settings."""
        if params.method_id not in {method.id for method in AUTH_METHODS}:
            raise InvalidParams("methodId", f"there is no way to log in called {params.method_id[:100]!r}")
        await self._hosting.endpoint()
        call.reply(Empty())

    # -- life of a session

    async def new(self, call: Call, params: NewSessionParams) -> None:
        """Begin a session; its durable row comes with its first prompt."""
        cwd = absolute(params.cwd, "cwd")
        check_servers(params.mcp_servers)
        with self._place():
            endpoint = await self._hosting.endpoint()
            runtime = await self._hosting.runtime()
            session = await runtime.create(source=SOURCE, cwd=cwd, edits="ask", tools=_offered_tools(runtime))
            attached = self._attach(runtime, session, endpoint)
        now = attached.settings
        call.reply(
            NewSessionResult(
                session_id=attached.id, modes=now.modes(), config_options=now.options(), models=now.model_list()
            )
        )
        self._begin(attached)

    async def load(self, call: Call, params: LoadSessionParams) -> None:
        """Attach to a stored session, telling its whole conversation before the reply."""
        attached, known = await self._resumed(params)
        attached.replay()
        call.reply(_loaded(attached))
        self._begin(attached, known=known)

    async def resume(self, call: Call, params: LoadSessionParams) -> None:
        """Attach to a stored session, telling nothing of what was said."""
        attached, known = await self._resumed(params)
        call.reply(_loaded(attached))
        self._begin(attached, known=known)

    async def list(self, call: Call, params: ListSessionsParams) -> None:
        """List a page of the editors' used sessions, newest first; the cursor is the last id of the page before."""
        runtime = await self._hosting.runtime()
        after = params.cursor or ""
        if after and await runtime.store.session(after) is None:
            raise InvalidParams("cursor", "this cursor is not one of ours, or its session was deleted")
        cwd = str(Path(absolute(params.cwd, "cwd"))) if params.cwd else ""
        rows = await runtime.store.list_sessions(SessionQuery(limit=PAGE, after=after, source=SOURCE, cwd=cwd))
        entries = _fitting([_entry(row) for row in rows])
        more = len(entries) < len(rows) or len(rows) == PAGE
        call.reply(ListSessionsResult(sessions=entries, next_cursor=entries[-1].session_id if more else None))

    async def close(self, call: Call, params: SessionParams) -> None:
        """Stop what a session does and let go of it; its history can be loaded again."""
        runtime = await self._hosting.runtime()
        attached = self._sessions.get(params.session_id)
        if attached is not None:
            await self._close(runtime, attached)
        elif await runtime.store.session(params.session_id) is None:
            raise SessionNotFound(params.session_id)
        call.reply(Empty())

    async def delete(self, call: Call, params: SessionParams) -> None:
        """Close a session and remove its history; one that is not there is as good as removed."""
        runtime = await self._hosting.runtime()
        attached = self._sessions.get(params.session_id)
        if attached is not None:
            await self._close(runtime, attached)
        await runtime.store.delete_session(params.session_id)
        call.reply(Empty())

    # -- turns

    async def prompt(self, call: Call, params: PromptParams) -> None:
        """Begin a turn, or queue it; the reply comes when it is over."""
        await self._attached(params.session_id).prompt(call, prompt_parts(params.prompt))

    async def cancel(self, session_id: str) -> None:
        """Stop the running turn of a session; one that is unknown or idle is left alone."""
        attached = self._sessions.get(session_id)
        if attached is not None:
            await attached.interrupt()

    # -- settings of a session

    async def set_mode(self, call: Call, params: SetModeParams) -> None:
        """Change how edits are approved, also during a turn."""
        attached = self._attached(params.session_id)
        await attached.set_edits(edits_of(params.mode_id, "modeId"))
        call.reply(Empty())
        attached.tell_settings()

    async def set_model(self, call: Call, params: SetModelParams) -> None:
        """Use another model from the next turn on: the way of clients older than options."""
        attached = self._attached(params.session_id)
        await attached.set_model(params.model_id)
        call.reply(Empty())
        attached.tell_settings()

    async def set_config_option(self, call: Call, params: SetConfigOptionParams) -> None:
        """Change one of the options; the reply holds them all."""
        attached = self._attached(params.session_id)
        match params.config_id:
            case settings.MODE_OPTION:
                await attached.set_edits(edits_of(params.value, "value"))
            case settings.MODEL_OPTION:
                if params.value not in attached.settings.models:
                    raise InvalidParams("value", f"the model {params.value[:100]!r} is not among those offered")
                await attached.set_model(params.value)
            case _:
                raise InvalidParams("configId", f"there is no option {params.config_id[:100]!r}")
        call.reply(SetConfigOptionResult(config_options=attached.settings.options()))
        attached.tell_settings()

    # -- how it is done

    def _attached(self, session_id: str) -> AcpSession:
        attached = self._sessions.get(session_id)
        if attached is None:
            raise SessionNotFound(session_id)
        return attached

    async def _resumed(self, params: LoadSessionParams) -> tuple[AcpSession, bool]:
        """Return the session attached, and whether it was so before."""
        cwd = absolute(params.cwd, "cwd")
        check_servers(params.mcp_servers)
        known = self._sessions.get(params.session_id)
        with self._place() if known is None else nullcontext():
            endpoint = await self._hosting.endpoint()
            runtime = await self._hosting.runtime()
            session = await runtime.resume(params.session_id, cwd=cwd, tools=_offered_tools(runtime))
            known = self._sessions.get(params.session_id)
            if known is not None and known.session is session:
                return known, True
            return self._attach(runtime, session, endpoint), False

    @contextmanager
    def _place(self) -> Generator[None]:
        """Hold the place of a session that is being opened: many may be under way at once."""
        if len(self._sessions) + self._opening >= MAX_SESSIONS:
            raise HermesError(f"{MAX_SESSIONS} sessions are open on this connection; close one first.")
        self._opening += 1
        try:
            yield
        finally:
            self._opening -= 1

    def _attach(self, runtime: Runtime, session: Session, endpoint: Endpoint) -> AcpSession:
        default = model_id(endpoint.provider, endpoint.model)
        attached = self._sessions[session.stored_id] = AcpSession(
            session,
            self._connection,
            self._tasks,
            models=offered_models(runtime.config, default),
            tools=runtime.tools,
            notices=self.notices,
        )
        return attached

    def _begin(self, attached: AcpSession, *, known: bool = False) -> None:
        """Tell what a client may only hear once it knows the session, and then everything that happens in it."""
        attached.greet()
        if not known:
            self._tasks.start_soon(self._pump, attached)
            self._tasks.start_soon(self._hosting.warm)

    async def _pump(self, attached: AcpSession) -> None:
        try:
            await attached.pump()
        finally:
            if self._sessions.get(attached.id) is attached:
                del self._sessions[attached.id]

    async def _close(self, runtime: Runtime, attached: AcpSession) -> None:
        await runtime.close_session(attached.session, "acp_close")
        await attached.over.wait()


def _offered_tools(runtime: Runtime) -> tuple[str, ...]:
    return tuple(name for name in runtime.tools if name not in _NOT_OFFERED)


def _loaded(attached: AcpSession) -> LoadSessionResult:
    now = attached.settings
    return LoadSessionResult(modes=now.modes(), config_options=now.options(), models=now.model_list())


def _entry(row: SessionSummary) -> SessionEntry:
    title = bounded(row.record.title or row.preview, limits.TITLE_TEXT)
    return SessionEntry(
        session_id=row.record.id, cwd=row.record.cwd, title=title or None, updated_at=timestamp(row.updated_at)
    )


def _fitting(entries: list[SessionEntry]) -> tuple[SessionEntry, ...]:
    """Return as many entries as fit a frame, at least one if there is one."""
    room = limits.LIST_BYTES
    for count, entry in enumerate(entries):
        room -= limits.size_of(entry)
        if room < 0 and count:
            return tuple(entries[:count])
    return tuple(entries)


Method = Callable[[Methods, Call, Any], Awaitable[None]]

METHODS: dict[str, tuple[type[msgspec.Struct], Method]] = {
    "authenticate": (AuthenticateParams, Methods.authenticate),
    "session/new": (NewSessionParams, Methods.new),
    "session/load": (LoadSessionParams, Methods.load),
    "session/resume": (LoadSessionParams, Methods.resume),
    "session/list": (ListSessionsParams, Methods.list),
    "session/close": (SessionParams, Methods.close),
    "session/delete": (SessionParams, Methods.delete),
    "session/prompt": (PromptParams, Methods.prompt),
    "session/set_mode": (SetModeParams, Methods.set_mode),
    "session/set_model": (SetModelParams, Methods.set_model),
    "session/set_config_option": (SetConfigOptionParams, Methods.set_config_option),
}
