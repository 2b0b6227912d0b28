"""What the routes work with: one runtime, the settings of the surface, and the parts that requests share."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

import anyio
from hermes_core import ids
from hermes_core.config.redaction import secrets_of
from hermes_core.errors import InvalidInput, NoModelError
from hermes_core.runtime import Runtime
from starlette.types import Scope

from hermes_api.bookmarks import Bookmarks
from hermes_api.errors import ApiError, Refusals
from hermes_api.keys import checked_key
from hermes_api.limits import Gate
from hermes_api.runs.archive import Archive
from hermes_api.runs.book import RunBook
from hermes_api.sessions import Sessions
from hermes_api.turns import Turns

MAX_SESSION_KEY = 256


class Service:
    """The HTTP surface over one runtime. An async context manager: leaving it ends the runs it still has.

    Raises ConfigError when the configured key cannot protect a server.
    """

    def __init__(self, runtime: Runtime) -> None:
        config = runtime.config
        self.runtime = runtime
        self.settings = config.api_server
        self.key = checked_key(config.api_server.key)
        self.model_name = config.api_server.model_name
        self.show_reasoning = config.display.show_reasoning
        self.started_at = int(time.time())
        self.refusals = Refusals(secrets_of(config))
        self.gate = Gate(config.api_server.max_concurrent_runs)
        self.bookmarks = Bookmarks(runtime.store)
        self.sessions = Sessions(runtime, self.bookmarks)
        archive = Archive(runtime.store)
        self.turns = Turns()
        self.runs = RunBook(archive, self.sessions, self.turns, self.gate, self.refusals, reasoning=self.show_reasoning)
        self.tasks = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self.tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gate.draining = True
        with anyio.CancelScope(shield=True):
            await self.runs.stop_all("interrupted_by_system(shutdown)")
        await self.tasks.__aexit__(kind, error, trace)

    async def model_for(self, requested: str | None) -> str:
        """Return the model to use for a requested name: `provider:model`, empty for the session's own.

        The advertised name means the default, and so does a name that nothing here can serve: frontends send
        whatever their list says.
        """
        if not requested or not requested.strip() or requested == self.model_name:
            return ""
        try:
            endpoint = await self.runtime.models.resolve(requested)
        except (InvalidInput, NoModelError):
            return ""
        return f"{endpoint.provider}:{endpoint.model}"


def header(scope: Scope, name: bytes) -> str:
    """Return the value of a request header, empty when it is not there. UTF-8, which is what clients mean, or else
    Latin-1."""
    value = next((value for key, value in scope["headers"] if key == name), b"")
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def session_header(scope: Scope) -> str:
    """Return the session that X-Hermes-Session-Id names, empty for none. Raises ApiError 400."""
    value = header(scope, b"x-hermes-session-id")
    return checked_session(value, "X-Hermes-Session-Id") if value else ""


def checked_session(value: str, field: str) -> str:
    """Return a session id given by a client. Raises ApiError 400."""
    try:
        return ids.checked_session_id(value, field)
    except InvalidInput as error:
        raise ApiError(400, error.message, "invalid_session_id", param=field) from None


def session_key_headers(scope: Scope) -> list[tuple[bytes, bytes]]:
    """Return X-Hermes-Session-Key as response headers, checked. Raises ApiError 400."""
    value = header(scope, b"x-hermes-session-key").strip()
    if not value:
        return []
    if len(value) > MAX_SESSION_KEY or not value.isprintable():
        message = f"X-Hermes-Session-Key must be at most {MAX_SESSION_KEY} characters without control characters."
        raise ApiError(400, message, "invalid_session_key", param="X-Hermes-Session-Key")
    return [(b"x-hermes-session-key", value.encode())]
