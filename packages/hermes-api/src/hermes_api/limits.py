"""The limits of the surface: turns at once, size and time of a body, and what becomes of a body nobody read."""

from __future__ import annotations

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hermes_api.errors import ApiError

MAX_BODY = 10_000_000
"""Bytes of a request body, however it is framed."""
BODY_SECONDS = 120.0
"""Time to send a whole body."""
DRAIN_BYTES = 3 * MAX_BODY
DRAIN_SECONDS = 5.0


class Disconnected(Exception):
    """The client left before its request was read; there is nobody to answer."""


class Gate:
    """Counts the turns at work and refuses more than `limit` (0 = no limit), and all of them while draining."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.active = 0
        self.draining = False
        self._idle = anyio.Event()

    def enter(self) -> None:
        """Take a place, to be given back with `leave`. Raises ApiError 503 or 429, both with Retry-After."""
        if self.draining:
            raise ApiError(503, "The server is shutting down.", "gateway_draining", retry_after=1)
        if self.limit and self.active >= self.limit:
            message = f"{self.limit} turns are running, the most that this server runs at once."
            raise ApiError(429, message, "too_many_runs", type="rate_limit_error", retry_after=1)
        self.active += 1

    def leave(self) -> None:
        """Give a place back."""
        self.active -= 1
        if not self.active:
            self._idle.set()

    async def idle(self) -> None:
        """Wait until no turn is at work."""
        while self.active:
            self._idle = anyio.Event()
            await self._idle.wait()


async def read_body(scope: Scope, receive: Receive) -> bytes:
    """Return the request's body. Raises ApiError 413 (too large) or 408 (too slow), and Disconnected."""
    if (declared := _content_length(scope)) is not None and declared > MAX_BODY:
        raise too_large()
    chunks: list[bytes] = []
    size = 0
    with anyio.move_on_after(BODY_SECONDS):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            chunk: bytes = message.get("body", b"")
            size += len(chunk)
            if size > MAX_BODY:
                raise too_large()
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)
    raise ApiError(408, f"The request body did not arrive within {BODY_SECONDS:g} seconds.", "request_timeout")


def too_large() -> ApiError:
    """Return the answer for a body above the limit."""
    return ApiError(413, f"The request body is larger than {MAX_BODY:,} bytes.", "body_too_large")


def _content_length(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length":
            if not value.isdigit():
                raise ApiError(400, "Content-Length is not a number.", "invalid_content_length")
            return int(value)
    return None


def _has_body(scope: Scope) -> bool:
    return any(
        (name == b"content-length" and value.strip() != b"0") or name == b"transfer-encoding"
        for name, value in scope["headers"]
    )


class UnreadBodies:
    """Lets a client that is refused early read its answer (middleware).

    A client that still sends gets a reset instead of the answer when the server just closes, and the server's
    own queue of body parts would hold the connection for ever. So the rest is read and dropped, within limits.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await self._app(scope, receive, send)
            return
        body = _Body(receive)

        async def draining(message: Message) -> None:
            if body.done:
                await send(message)
            elif message["type"] == "http.response.start":
                if scope["http_version"].startswith("1"):
                    message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
                await send(message)
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                await send({**message, "more_body": True})
                with anyio.move_on_after(DRAIN_SECONDS):
                    await body.drain(DRAIN_BYTES)
                await _send_last(send, body)
            else:
                await send(message)

        await self._app(scope, body.receive, draining)


async def _send_last(send: Send, body: _Body) -> None:
    """End the response. The server tells us of the end through the queue that we read, so go on reading."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(body.drain, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        tasks.cancel_scope.cancel()


class _Body:
    """The request's body as it comes; `done` once nothing more can come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.done = False

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.done = True
        return message

    async def drain(self, limit: int | None) -> None:
        """Read and drop what comes, at most `limit` bytes."""
        dropped = 0
        while not self.done and (limit is None or dropped < limit):
            dropped += len((await self.receive()).get("body", b""))
