"""The stream of one call: a task that reads the body, and an iterator that hands on what has come since."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
import httpx2

from hermes_core.errors import ProviderError
from hermes_core.messages import AssistantMessage
from hermes_core.models.answer import ModelAnswer
from hermes_core.models.http_failures import broken
from hermes_core.models.provider import Endpoint, ModelDelta, ModelRequest

DRAIN = 0.1
"""Seconds that the body may end after the last event, so that its connection can be used again."""
CLOSE = 1.0
"""Seconds that closing a connection may take."""
HIGH = 1024 * 1024
"""Bytes that wait for a slow reader before no more are read."""


class Reader(Protocol):
    """Makes the answer of one wire: ChatAnswer or ResponsesAnswer."""

    def __call__(self, endpoint: Endpoint, request: ModelRequest, *, whole_body: bool) -> ModelAnswer: ...


@asynccontextmanager
async def open_stream(
    reader: Reader,
    endpoint: Endpoint,
    request: ModelRequest,
    response: httpx2.Response,
    *,
    silence: float,
    linger: float,
) -> AsyncGenerator[AnswerStream]:
    """Give the stream of a response; leaving the block closes the connection, unless the answer is all read.

    `reader` makes the answer of the endpoint's wire. `silence` is the client's time-out, for error texts; `linger` the
    seconds that usage and `[DONE]` may come after the finish reason.
    """
    try:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/html":
            raise ProviderError(f"{endpoint.provider} answers with a web page: its base URL is wrong.")
        answer = reader(endpoint, request, whole_body=kind == "application/json")
        stream = AnswerStream(endpoint, response, answer, silence=silence, linger=linger)
        error: BaseException | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(stream.read)
                yield stream
                await stream.drain()
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            # The reader raises nothing, so this is the one exception of the caller's block.
            error = group.exceptions[0]
        if error is not None:
            raise error  # bare, with the cause it had
    finally:
        with anyio.move_on_after(CLOSE, shield=True):
            await response.aclose()


class AnswerStream:
    """One call's stream. Implements `provider.ModelStream`."""

    def __init__(
        self, endpoint: Endpoint, response: httpx2.Response, answer: ModelAnswer, *, silence: float, linger: float
    ) -> None:
        self._endpoint = endpoint
        self._response = response
        self._answer = answer
        self._silence = silence
        self._linger = linger
        self._arrived: list[bytes] = []
        self.waiting = 0
        """Bytes that have come and wait for the iterator."""
        self._error: httpx2.HTTPError | None = None
        self._over = anyio.Event()
        self._news = anyio.Event()
        self._room = anyio.Event()
        self._ended = False

    # -- the reading task ----------------------------------------------------------------------

    async def read(self) -> None:
        """Read the body to its end.

        The HTTP library hands on each of the provider's chunks alone, however many one network read brought; this
        task takes all of them before the iterator runs, and so they become one list of deltas.
        """
        try:
            async for data in self._response.aiter_bytes():
                self._arrived.append(data)
                self.waiting += len(data)
                self._news.set()
                if self.waiting > HIGH:
                    self._room = anyio.Event()
                    await self._room.wait()
        except httpx2.HTTPError as error:
            self._error = error
        finally:
            self._over.set()
            self._news.set()

    async def drain(self) -> None:
        """After the last event, wait shortly for the end of the body."""
        if self._answer.done:
            with anyio.move_on_after(DRAIN):
                await self._over.wait()

    # -- the iterator --------------------------------------------------------------------------

    def __aiter__(self) -> AnswerStream:
        return self

    async def __anext__(self) -> list[ModelDelta]:
        """Return what has come since; see ModelStream."""
        answer = self._answer
        while not self._ended:
            if not self._arrived and not self._over.is_set():
                await self._wait()
            if self._arrived:
                data = b"".join(self._arrived)
                self._arrived.clear()
                self.waiting = 0
                self._room.set()
                deltas = answer.feed(data)
                if answer.done or answer.failure:
                    deltas += self._end()
            else:
                deltas = self._end()
            if deltas:
                return deltas
        if answer.failure is not None:
            raise answer.failure
        raise StopAsyncIteration

    async def _wait(self) -> None:
        """Wait for bytes, or the end of the body; not long, when only usage can follow."""
        self._news = anyio.Event()
        if not self._answer.finished:
            await self._news.wait()
            return
        with anyio.move_on_after(self._linger):
            await self._news.wait()

    def _end(self) -> list[ModelDelta]:
        self._ended = True
        if self._error is not None and not self._answer.finished:
            error = broken(self._endpoint, self._error, started=self._answer.started, silence=self._silence)
            self._answer.fail(error)
        return self._answer.end()

    @property
    def reply(self) -> AssistantMessage:
        """See ModelStream.reply."""
        return self._answer.reply

    @property
    def partial(self) -> AssistantMessage:
        """See ModelStream.partial."""
        return self._answer.partial
