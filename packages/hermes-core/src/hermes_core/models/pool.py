"""Providers, one for each endpoint, closed when they are no longer wanted and nobody is in the midst of a call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio

from hermes_core.models.provider import Endpoint, ModelRequest, ModelStream, Provider

MAX_PROVIDERS = 16

Identity = tuple[str, ...]


def identity(endpoint: Endpoint) -> Identity:
    """Return what makes two endpoints the same connection: provider, address, key, way of speaking, headers."""
    headers = (part for item in sorted(endpoint.headers.items()) for part in item)
    return (endpoint.provider, endpoint.base_url, endpoint.api_key, endpoint.api_mode, *headers)


class Pooled:
    """A provider that knows how many calls run over it. Implements Provider.

    Once it is retired it still finishes, and even begins, calls of those who hold it, and closes behind the last.
    """

    def __init__(self, endpoint: Endpoint, make: Callable[[Endpoint], Provider]) -> None:
        self.endpoint = endpoint
        self._make = make
        self._inner: Provider | None = None
        self._calls = 0
        self._retired = False

    def _provider(self) -> Provider:
        if self._inner is None:
            self._inner = self._make(self.endpoint)
        return self._inner

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStream]:
        """See Provider.stream."""
        self._calls += 1
        try:
            async with self._provider().stream(request) as stream:
                yield stream
        finally:
            self._calls -= 1
            await self._close_if_over()

    async def warm(self) -> None:
        """See Provider.warm."""
        await self._provider().warm()

    async def retire(self) -> None:
        """Close it now, or as soon as the last running call ends."""
        self._retired = True
        await self._close_if_over()

    async def _close_if_over(self) -> None:
        if self._retired and not self._calls:
            with anyio.CancelScope(shield=True):
                await self.aclose()

    async def aclose(self) -> None:
        """Close all connections now, whoever uses them."""
        inner, self._inner = self._inner, None
        if inner is not None:
            await inner.aclose()


class ProviderPool:
    """At most 16 providers; the one that was used longest ago makes room for a new one."""

    def __init__(self, make: Callable[[Endpoint], Provider]) -> None:
        self._make = make
        self._pooled: OrderedDict[Identity, Pooled] = OrderedDict()
        self._leaving: list[Pooled] = []

    def get(self, endpoint: Endpoint) -> Pooled:
        """Return the provider of an endpoint, made if there is none."""
        key = identity(endpoint)
        pooled = self._pooled.get(key)
        if pooled is None:
            pooled = self._pooled[key] = Pooled(endpoint, self._make)
            while len(self._pooled) > MAX_PROVIDERS:
                self._leaving.append(self._pooled.popitem(last=False)[1])
        self._pooled.move_to_end(key)
        return pooled

    async def sweep(self) -> None:
        """Retire those that had to make room."""
        while self._leaving:
            await self._leaving.pop().retire()

    async def retire_all(self) -> None:
        """Retire every provider; the next `get` makes new ones."""
        self._leaving.extend(self._pooled.values())
        self._pooled.clear()
        await self.sweep()

    async def aclose(self) -> None:
        """Close every provider, whoever uses it."""
        closing = [*self._leaving, *self._pooled.values()]
        self._leaving.clear()
        self._pooled.clear()
        async with anyio.create_task_group() as group:
            for pooled in closing:
                group.start_soon(pooled.aclose)
