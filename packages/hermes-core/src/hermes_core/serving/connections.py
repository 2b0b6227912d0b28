"""Connections: hypercorn's protocol on sockets whose tasks and number are ours.

Hypercorn's own server keeps the socket of a client that has left until the keep-alive time is over, has no limit
of connections, and cannot let go of a client that does not read. So it gives us the protocol, and here is the rest.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.asyncio.tcp_server import TCPServer
from hypercorn.asyncio.worker_context import WorkerContext
from hypercorn.config import Config
from hypercorn.events import Closed
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.typing import LifespanState

if TYPE_CHECKING:
    import h11

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application; its messages are typed by the framework it is written with."""
BACKLOG = 1024
KEEP_ALIVE_SECONDS = 65.0
"""Longer than clients keep unused connections, so that none sends a request into one that is just being closed."""
MAX_CONNECTIONS = 8192
LEFT_SECONDS = 0.5
"""How long a client that has left is still listened to for what it sent before."""
LAST_READ_SECONDS = 60.0
"""How long a client may take to read the rest when its connection is to close."""
CLOSE_SECONDS = 1.0
"""How long connections may take to close at the end."""
MAX_MESSAGE = 16 * 1024 * 1024
"""Characters of one message of a WebSocket; a longer one closes it with 1009."""
ABORT = "hermes.abort"
"""The extension of a WebSocket's scope that cuts its connection off, with what was not sent: for a client that does
not read, which would never see a close frame either."""
log = logging.getLogger(__name__)


class _Reader(asyncio.StreamReader):
    """What a client sends; that it has ended is told at once, whether or not anybody reads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._ended = loop.create_future()

    def when_ended(self, call: Callable[[], object]) -> None:
        """Call `call` when there is no more to come."""
        self._ended.add_done_callback(lambda _: call())

    def feed_eof(self) -> None:
        super().feed_eof()
        self._end()

    def set_exception(self, exc: Exception) -> None:
        super().set_exception(exc)
        self._end()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


class _Http1(H11Protocol):
    """HTTP/1.1 only: who asks for HTTP/2 is answered as if it had not.

    Hypercorn's HTTP/2 loses a connection with all of its requests when one that was refused still sends its body.
    """

    async def _check_protocol(self, event: h11.Request) -> None:
        """Look for no other protocol."""


class _Connection(TCPServer):
    """One connection, which ends when its client has left.

    While a request is at work, hypercorn does not read on when another one waits behind it, so it would not see
    that the client leaves. What has not come to its turn shortly after that never will.
    """

    async def _read_data(self) -> None:
        reader, offered = self.reader, self.protocol
        assert isinstance(reader, _Reader)
        self.protocol.protocol = _Http1(
            self.app,
            self.config,
            self.context,
            self._task_group,
            offered.state,
            offered.ssl,
            offered.client,
            offered.server,
            self.protocol_send,
        )
        with anyio.CancelScope() as reading:
            reader.when_ended(lambda: self.loop.call_later(LEFT_SECONDS, reading.cancel))
            await super()._read_data()
        await self.protocol.handle(Closed())
        await self.idle_task.stop()

    async def _close(self) -> None:
        """Close it when what was sent is read; cut it off from a client that does not read."""
        with anyio.move_on_after(LAST_READ_SECONDS) as patience:
            await super()._close()  # takes cancellation for an end
        if patience.cancel_called:
            self.abort()

    def abort(self) -> None:
        """Cut it off, with what was not sent."""
        self.writer.transport.abort()


class Connections:
    """Serves an ASGI application on a listening socket; more connections than `limit` are closed at once.

    WebSockets get a ping every `ping_seconds`, 0 = never. What goes wrong in hypercorn is logged under `name`.
    """

    def __init__(self, app: Application, *, name: str, limit: int | None = None, ping_seconds: float = 0.0) -> None:
        self._app = app
        self._config = _config(name, ping_seconds)
        self._context = WorkerContext(None)
        self._limit = limit or most_connections()
        self._open: set[_Connection] = set()
        self._full = False
        self._closed = anyio.Event()

    async def serve(self, sock: socket.socket, stopped: anyio.Event) -> None:
        """Serve until `stopped`, or cancelled; then close: idle connections now, others within a second."""
        async with anyio.create_task_group() as tasks:
            loop = asyncio.get_running_loop()

            def protocol() -> asyncio.StreamReaderProtocol:
                reader = _Reader(loop)
                return asyncio.StreamReaderProtocol(reader, partial(self._accept, tasks), loop=loop)

            server = await loop.create_server(protocol, sock=sock, backlog=BACKLOG)
            try:
                await stopped.wait()
            finally:
                with anyio.CancelScope(shield=True):
                    server.close()
                    await self._context.terminated.set()
                    await self._let_go()
                tasks.cancel_scope.cancel()

    def _accept(self, tasks: TaskGroup, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) < self._limit:
            self._full = False
            accepted: socket.socket = writer.get_extra_info("socket")
            if accepted.family in (socket.AF_INET, socket.AF_INET6):
                # asyncio does this only where the listening socket was made with the number of the protocol.
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tasks.start_soon(self._run, reader, writer)
            return
        if not self._full:
            self._full = True
            log.warning("%d connections are open, the most there may be; further ones are refused", self._limit)
        writer.transport.abort()

    async def _run(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop, state = asyncio.get_running_loop(), LifespanState()

        async def application(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "websocket":
                scope["extensions"][ABORT] = connection.abort
            await self._app(scope, receive, send)

        app = ASGIWrapper(application)
        connection = _Connection(app, loop, self._config, self._context, state, reader, writer)
        self._open.add(connection)
        try:
            await connection
        except Exception:
            log.exception("a connection failed")
        finally:
            self._open.discard(connection)
            self._closed.set()

    async def _let_go(self) -> None:
        with anyio.move_on_after(CLOSE_SECONDS):
            while self._open:
                self._closed = anyio.Event()
                await self._closed.wait()
        for connection in self._open:
            connection.abort()


def most_connections() -> int:
    """Return how many connections there may be: half of the process's descriptors, the other half for its work."""
    try:
        import resource
    except ImportError:  # Windows
        return 512
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else max(16, min(MAX_CONNECTIONS, soft // 2))


def _config(name: str, ping_seconds: float) -> Config:
    config = Config()
    config.include_server_header = False
    config.keep_alive_timeout = KEEP_ALIVE_SECONDS
    config.h11_max_incomplete_size = 64 * 1024
    config.errorlog = logging.getLogger(f"{name}.hypercorn")
    config.accesslog = None
    config.websocket_max_message_size = MAX_MESSAGE
    config.websocket_ping_interval = ping_seconds or None
    return config
