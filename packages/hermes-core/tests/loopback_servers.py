"""Model servers on loopback for tests: real sockets, canned answers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
from anyio.abc import SocketAttribute, SocketStream
from hermes_core.models.catalog import KnownProvider


class Server:
    """A server on loopback that answers every request with what `answer` returns, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.port = 0
        self.answer: Callable[[str], bytes] = lambda path: b""
        self.hang = False

    def known(self, name: str = "ollama") -> KnownProvider:
        return KnownProvider(name=name, title=name.title(), base_url=f"http://127.0.0.1:{self.port}/v1", loopback=True)

    async def serve(self, stream: SocketStream) -> None:
        async with stream:
            request = (await stream.receive()).decode()
            self.asked.append(request)
            if self.hang:
                await anyio.sleep_forever()
            with suppress(anyio.BrokenResourceError):  # the other side may have left
                await stream.send(self.answer(request.split()[1]))


def http(body: object, status: str = "200 OK") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def models(*rows: object) -> bytes:
    return http({"object": "list", "data": [{"id": row} if isinstance(row, str) else row for row in rows]})


MakeServer = Callable[[bytes], Awaitable[Server]]


@asynccontextmanager
async def model_servers() -> AsyncGenerator[MakeServer]:
    """Give a function that starts servers; all end with the block."""
    async with AsyncExitStack() as open_listeners, anyio.create_task_group() as tasks:

        async def make(answer: bytes) -> Server:
            server = Server()
            server.answer = lambda path: answer
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
            await open_listeners.enter_async_context(listener)
            server.port = listener.extra(SocketAttribute.local_port)
            tasks.start_soon(listener.serve, server.serve)
            return server

        yield make
        tasks.cancel_scope.cancel()
