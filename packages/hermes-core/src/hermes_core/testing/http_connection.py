"""One connection of the scripted server: just enough HTTP/1.1 for the requests that API clients make."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable

import anyio
import msgspec

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class HttpRequest(msgspec.Struct, frozen=True):
    """One request. Header names are in lower case; `path` is without the query."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HttpConnection(asyncio.Protocol):
    """Reads requests one after another and hands each to `handle`, in the task that calls `run`.

    The running `handle` is cancelled when the client hangs up.
    """

    def __init__(self, opened: Callable[[HttpConnection], None]) -> None:
        self._opened = opened
        self._buffer = bytearray()
        self._scope = anyio.CancelScope()
        self._arrival = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self.lost = False
        self.busy = False

    # -- the loop's callbacks ------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._scope.cancel()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._arrival.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # -- the connection's task -----------------------------------------------------------------

    async def run(self, handle: Callable[[HttpConnection, HttpRequest], Awaitable[None]]) -> None:
        """Serve until the client hangs up or `close` is called."""
        with self._scope:
            while not self.transport.is_closing():
                request = await self._next_request()
                if request is None:
                    break
                self.busy = True
                await handle(self, request)
                self.busy = False
        self.transport.close()

    async def _next_request(self) -> HttpRequest | None:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > MAX_HEAD:
                return None
            await self._more()
        first, *lines = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", "0"))
        if length > MAX_BODY:
            return None
        total = end + 4 + length
        while len(self._buffer) < total:
            await self._more()
        body = bytes(self._buffer[end + 4 : total])
        del self._buffer[:total]
        method, _, target = first.partition(" ")
        return HttpRequest(method, target.split(" ")[0].split("?")[0], headers, body)

    async def _more(self) -> None:
        self._arrival.clear()
        await self._arrival.wait()

    # -- answering -----------------------------------------------------------------------------

    async def write(self, data: bytes) -> None:
        """Send, waiting while the client does not read."""
        self.transport.write(data)
        await self._writable.wait()

    async def reply(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, kind: str = "application/json"
    ) -> None:
        """Send a whole response."""
        await self.write(
            head(status, {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}) + body
        )

    def close(self, *, reset: bool = False) -> None:
        """Close when what was written is sent; `reset` drops it and resets the connection."""
        if reset:
            linger = struct.pack("ii", 1, 0)
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.transport.abort()
        else:
            self.transport.close()


def head(status: int, headers: dict[str, str]) -> bytes:
    """Return a response head."""
    lines = [
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk(data: bytes) -> bytes:
    """Return `data` as one chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)
