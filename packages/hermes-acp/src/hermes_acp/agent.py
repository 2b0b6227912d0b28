"""What a client asks: each request is served by a task of its own, begun in the order of arrival."""

from __future__ import annotations

import logging
from typing import assert_never

import anyio
from anyio.abc import TaskGroup
from hermes_core.errors import HermesError
from hermes_core.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Malformed,
    Notification,
    Request,
    Response,
    TooLong,
    error_line,
)

from hermes_acp.capabilities import INITIALIZED
from hermes_acp.connection import Call, Connection
from hermes_acp.decode import decode
from hermes_acp.errors import InvalidParams, described, rpc_error
from hermes_acp.hosting import Hosting
from hermes_acp.methods import METHODS, Methods
from hermes_acp.wire.params import CancelRequestParams, InitializeParams, SessionParams
from hermes_acp.wire.shape import REQUEST_CANCELLED

log = logging.getLogger(__name__)

MAX_CALLS = 512
"""Requests that may be under way at once, prompts included."""
PATIENCE = 0.5
"""Seconds that requests under way may still take when the connection ends."""


class Agent:
    """Serves one client. `tasks` runs its requests; `client` is what an `initialize` that was answered before said."""

    def __init__(self, connection: Connection, tasks: TaskGroup, client: InitializeParams | None) -> None:
        self._connection = connection
        self._tasks = tasks
        self._hosting = Hosting(tasks)
        self._client = client
        self._methods = Methods(self._hosting, connection, tasks)
        self._methods.notices = client is not None and client.notices
        self._calls: dict[bytes, Call] = {}

    def receive(self, line: bytes | TooLong) -> None:
        """Take one line. Nothing here waits: a request that takes its time never holds up the next line."""
        if isinstance(line, TooLong):
            error = described(INVALID_REQUEST, f"A line may have at most {line.limit:,} bytes.")
            self._connection.send(error_line(b"null", error))
            return
        message = self._connection.peer.receive(line)
        match message:
            case Request():
                self._requested(Call(message.id, message.method, message.params, self._connection))
            case Notification():
                self._tasks.start_soon(self._notified, message)
            case Response():
                self._connection.answered(message)
            case Malformed():
                self._connection.send(error_line(message.id, message.error))
            case None:
                pass
            case _:
                assert_never(message)

    async def close(self) -> None:
        """End every session, with what their turns have done written down, and leave no request without an answer."""
        await self._settle(turns=False)
        await self._hosting.end()
        await self._settle(turns=True)
        for call in list(self._calls.values()):
            call.fail(described(REQUEST_CANCELLED, "The agent ended before this was done."))

    async def _settle(self, *, turns: bool) -> None:
        """Wait a little for the answers that are due, with `turns` also for those of prompts."""
        with anyio.move_on_after(PATIENCE):
            while due := next((call for call in self._calls.values() if turns or call.interrupt is None), None):
                await due.answered.wait()

    # -- requests

    def _requested(self, call: Call) -> None:
        if call.method == "initialize":
            self._initialize(call)
        elif call.method not in METHODS:
            call.fail(
                described(METHOD_NOT_FOUND, f"There is no method {call.method[:200]!r}.", method=call.method[:200])
            )
        elif self._client is None:
            call.fail(described(INVALID_REQUEST, "The first request must be initialize."))
        elif len(self._calls) >= MAX_CALLS:
            call.fail(described(INTERNAL_ERROR, f"More than {MAX_CALLS} requests wait for an answer already."))
        else:
            self._calls[call.id] = call
            call.done = self._done
            self._tasks.start_soon(self._serve, call)

    def _initialize(self, call: Call) -> None:
        try:
            self._client = decode(call.params, InitializeParams, strict=False)
        except InvalidParams as error:
            call.fail(rpc_error(error))
            return
        self._methods.notices = self._client.notices
        call.reply(INITIALIZED)

    async def _serve(self, call: Call) -> None:
        with call.scope:
            try:
                shape, method = METHODS[call.method]
                await method(self._methods, call, decode(call.params, shape))
            except (HermesError, InvalidParams) as error:
                call.fail(rpc_error(error))
            except Exception as error:
                log.exception("%s failed", call.method)
                call.fail(
                    described(INTERNAL_ERROR, f"An internal error ({type(error).__name__}); see the agent's log.")
                )
        if call.scope.cancelled_caught:
            call.fail(described(REQUEST_CANCELLED, "The request was cancelled."))

    def _done(self, call: Call) -> None:
        if self._calls.get(call.id) is call:
            del self._calls[call.id]

    # -- notifications

    async def _notified(self, message: Notification) -> None:
        """Carry out a notification. One that is unknown or makes no sense is passed over, as the protocol wants."""
        try:
            match message.method:
                case "session/cancel":
                    await self._methods.cancel(decode(message.params, SessionParams).session_id)
                case "$/cancel_request":
                    await self._cancel(bytes(decode(message.params, CancelRequestParams).request_id))
                case _:
                    log.debug("passed over the notification %s", message.method)
        except InvalidParams as error:
            log.warning("passed over %s: %s", message.method, error)
        except Exception:
            log.exception("%s failed", message.method)

    async def _cancel(self, request_id: bytes) -> None:
        call = self._calls.get(request_id)
        if call is None:
            return
        if call.interrupt is not None:
            await call.interrupt()
        else:
            call.scope.cancel()
