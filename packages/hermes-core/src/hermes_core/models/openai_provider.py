"""What the providers over the `openai` package share: the client, sending, and the stream of what comes back.

The package gives the client: keys, retries before the first byte, the pool of connections. The event stream is
read from the bytes as they come.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from hermes_core.errors import ProviderError
from hermes_core.models.provider import Endpoint, ModelRequest, ModelStream

if TYPE_CHECKING:
    import httpx2
    import openai

    from hermes_core.models.answer_stream import Reader

SILENCE = 120.0
CONNECT = 10.0
RETRIES = 2
LINGER = 5.0

STREAM = re.compile(r"\bstream(ing|ed)?\b", re.IGNORECASE)
"""How servers that cannot stream name what they refuse."""


class OpenAIProvider:
    """Calls one endpoint. Implements `provider.Provider`; a subclass says what is sent, and how answers are read.

    `silence` is the longest time without a byte, in seconds: before the first byte its end is
    ProviderUnreachable, after it StreamBroken. `connect` bounds the making of a connection. `retries` is how often
    a request is sent again before the first byte. `linger` is how long usage and `[DONE]` may come after the finish
    reason, before the answer counts as whole without them. Nothing is loaded or opened before `warm` or the first call.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        silence: float = SILENCE,
        connect: float = CONNECT,
        retries: int = RETRIES,
        linger: float = LINGER,
    ) -> None:
        self.endpoint = endpoint
        self._silence = silence
        self._connect = connect
        self._retries = retries
        self._linger = linger
        self._client: openai.AsyncOpenAI | None = None
        self._opening = anyio.Lock()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStream]:
        """See Provider.stream. What an endpoint refuses by name is left out and asked for again, this once."""
        response = await self._send(request)
        from hermes_core.models.answer_stream import open_stream

        async with open_stream(
            self._reader(), self.endpoint, request, response, silence=self._silence, linger=self._linger
        ) as stream:
            yield stream

    async def warm(self) -> None:
        """See Provider.warm."""
        await self._opened()

    async def aclose(self) -> None:
        """See Provider.aclose."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    # -- what a wire adds ----------------------------------------------------------------------

    async def _send(self, request: ModelRequest) -> httpx2.Response:
        """Send a request; return the response, its body unread. Raises ProviderError."""
        raise NotImplementedError

    def _reader(self) -> Reader:
        """Return what makes the answers of this wire."""
        raise NotImplementedError

    # -- how it is done ------------------------------------------------------------------------

    async def _post(self, path: str, body: bytes, *, stream: bool) -> httpx2.Response | ProviderError:
        """Send a body; return the response, or why there is none."""
        client = await self._opened()
        from hermes_core.models.http_client import post
        from hermes_core.models.http_failures import FAILURES, failure_of

        try:
            return await post(client, path, body, stream=stream)
        except FAILURES as error:
            return failure_of(self.endpoint, error, self._silence)

    async def _opened(self) -> openai.AsyncOpenAI:
        """Return the client, made in a worker thread the first time."""
        if self._client is None:
            async with self._opening:
                if self._client is None:
                    self._client = await anyio.to_thread.run_sync(self._open)
        return self._client

    def _open(self) -> openai.AsyncOpenAI:
        from hermes_core.models.http_client import open_client

        return open_client(self.endpoint, silence=self._silence, connect=self._connect, max_retries=self._retries)


def refuses(refused: ProviderError, what: re.Pattern[str]) -> bool:
    """Say whether a request was refused for what it asked, and not for a reason that has a name of its own."""
    return type(refused) is ProviderError and refused.status in (400, 422) and bool(what.search(refused.message))
