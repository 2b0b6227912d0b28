"""The connection to one client: updates and questions out, and calls that are answered exactly once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
import msgspec
from hermes_core.jsonrpc import Peer, Response, RpcError, error_line, notification_line, result_line

from hermes_acp.wire.shape import Out
from hermes_acp.wire.updates import CancelRequest, PermissionParams, Update, UpdateParams

if TYPE_CHECKING:
    from hermes_core.stdio import LineTransport

Answered = Callable[[Response], None]


class Connection:
    """Sends what we have to say, in the order in which it is said."""

    def __init__(self, transport: LineTransport) -> None:
        self.peer = Peer()
        self._transport = transport
        self._asked: dict[int, Answered] = {}

    def send(self, line: bytes) -> None:
        """Queue one line; never blocks."""
        self._transport.send(line)

    async def drain(self) -> None:
        """Wait while more is queued than a reading client would leave."""
        await self._transport.drain()

    def update(self, session_id: str, update: Update) -> None:
        """Tell the client of something that happened in a session."""
        self.send(notification_line("session/update", UpdateParams(session_id=session_id, update=update)))

    def ask_permission(self, params: PermissionParams, answered: Answered) -> int:
        """Ask the client for a permission; `answered` is called when its answer comes. Return the request's id."""
        number, line = self.peer.request("session/request_permission", params)
        self._asked[number] = answered
        self.send(line)
        return number

    def answered(self, answer: Response) -> None:
        """Hand an answer to whoever asked."""
        handler = self._asked.pop(answer.id, None)
        if handler is not None:
            handler(answer)

    def withdraw(self, number: int) -> None:
        """Wait for an answer no longer, and tell the client that it need not give one."""
        if self._asked.pop(number, None) is not None:
            self.peer.forget(number)
            self.send(notification_line("$/cancel_request", CancelRequest(request_id=number)))


class Call:
    """One request of the client. The first of `reply` and `fail` answers it; what comes later is dropped."""

    def __init__(self, identity: bytes, method: str, params: msgspec.Raw, connection: Connection) -> None:
        self.id = identity
        self.method = method
        self.params = params
        self.answered = anyio.Event()
        self.scope = anyio.CancelScope()
        self.interrupt: Callable[[], Awaitable[None]] | None = None
        """How the client's wish to cancel is carried out, where stopping our own work is not enough."""
        self.done: Callable[[Call], None] | None = None
        """Called once, when it is answered."""
        self._connection = connection

    def reply(self, result: Out) -> None:
        """Answer with `result`."""
        if not self.answered.is_set():
            self._answer(result_line(self.id, result))

    def fail(self, error: RpcError) -> None:
        """Answer with an error."""
        if not self.answered.is_set():
            self._answer(error_line(self.id, error))

    def _answer(self, line: bytes) -> None:
        self.answered.set()
        self._connection.send(line)
        if self.done is not None:
            self.done(self)
