"""Server-sent events over ASGI: one send for many frames, keepalive, a reader that stalls, a client that leaves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
from hermes_core.errors import HermesError
from starlette.types import Receive, Send

from hermes_api.errors import ApiError

KEEPALIVE_SECONDS = 10.0
"""Common proxies cut a stream after 20 s without a byte."""
STALL_SECONDS = 60.0
"""A client that takes no byte for this long has left."""
KEEPALIVE = b": keepalive\n\n"

_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
)


class ClientGone(Exception):
    """The client takes no more bytes."""


class EventStream:
    """One response of server-sent events."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._written = anyio.current_time()
        self._sending = False
        self.started = False

    async def start(self, headers: Sequence[tuple[bytes, bytes]], first: bytes) -> None:
        """Send the headers and the first frames."""
        self.started = True
        await self._deliver({"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *headers]})
        await self.write(first)

    async def write(self, data: bytes) -> None:
        """Send whole frames, and give other tasks a turn."""
        await self._deliver({"type": "http.response.body", "body": data, "more_body": True})
        # After a disconnect the server's send is an empty call that never yields: without this, a loop that
        # always has something to write would hold the whole process.
        await anyio.lowlevel.checkpoint()

    async def close(self) -> None:
        """End the response."""
        await self._deliver({"type": "http.response.body", "body": b"", "more_body": False})

    async def tend(self) -> None:
        """Write a comment whenever nothing was sent for a while. Raises ClientGone when the client stalls."""
        while True:
            quiet = anyio.current_time() - self._written
            if self._sending and quiet >= STALL_SECONDS:
                raise ClientGone
            if self.started and not self._sending and quiet >= KEEPALIVE_SECONDS:
                with anyio.move_on_after(STALL_SECONDS) as patience:
                    await self.write(KEEPALIVE)
                if patience.cancelled_caught:
                    raise ClientGone
            else:
                await anyio.sleep(max(KEEPALIVE_SECONDS - quiet, KEEPALIVE_SECONDS / 10))

    async def _deliver(self, message: dict[str, Any]) -> None:
        self._written = anyio.current_time()
        self._sending = True
        await self._send(message)
        self._sending = False


async def while_connected(
    receive: Receive, work: Callable[[], Awaitable[None]], stream: EventStream | None = None
) -> None:
    """Do `work`, tending `stream`; cancel it as soon as the client has left. Errors for the client come out bare."""
    failure: ApiError | HermesError | None = None

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        tasks.cancel_scope.cancel()

    async def tend(stream: EventStream) -> None:
        try:
            await stream.tend()
        except ClientGone:
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        if stream is not None:
            tasks.start_soon(tend, stream)
        try:
            await work()
        except (ApiError, HermesError) as error:
            failure = error  # raised below, where no group wraps it
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
