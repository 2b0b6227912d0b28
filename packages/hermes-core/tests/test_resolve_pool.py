"""One provider for each endpoint, and when it is closed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest
from hermes_core.models.pool import MAX_PROVIDERS, ProviderPool
from hermes_core.models.provider import Endpoint, ModelRequest, ModelStream

pytestmark = pytest.mark.anyio


class Recorded:
    """A provider that only notes what is done with it."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.closed = 0

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStream]:
        assert not self.closed
        yield cast("Any", None)
        assert not self.closed, "closed in the midst of a call"

    async def warm(self) -> None:
        pass

    async def aclose(self) -> None:
        self.closed += 1


class World:
    def __init__(self) -> None:
        self.made: list[Recorded] = []
        self.pool = ProviderPool(self.make)

    def make(self, endpoint: Endpoint) -> Recorded:
        self.made.append(Recorded(endpoint))
        return self.made[-1]

    async def call(self, endpoint: Endpoint) -> None:
        await self.pool.sweep()
        async with self.pool.get(endpoint).stream(ModelRequest(model=endpoint.model)):
            pass

    @property
    def open(self) -> int:
        return sum(not provider.closed for provider in self.made)


def endpoint(name: str, model: str = "m", key: str = "k") -> Endpoint:
    return Endpoint(provider=name, model=model, base_url=f"http://{name}/v1", api_key=key)


async def test_models_of_one_endpoint_share_a_provider_and_other_keys_do_not() -> None:
    pool = World().pool
    assert pool.get(endpoint("a", "m1")) is pool.get(endpoint("a", "m2"))
    assert pool.get(endpoint("a")) is not pool.get(endpoint("a", key="other"))
    assert pool.get(endpoint("a")) is not pool.get(endpoint("b"))


async def test_switching_between_a_few_providers_opens_each_once() -> None:
    """HA-163."""
    world = World()
    for number in range(500):
        await world.call(endpoint(f"p{number % 3}", f"m{number}"))
    assert (len(world.made), world.open) == (3, 3)


async def test_the_one_used_longest_ago_makes_room() -> None:
    """HA-163: however many endpoints there are, few stay open."""
    world = World()
    for number in range(MAX_PROVIDERS * 3):
        await world.call(endpoint("always"))
        await world.call(endpoint(f"p{number}"))
    await world.pool.sweep()
    assert world.open == MAX_PROVIDERS
    assert [provider.endpoint.provider for provider in world.made].count("always") == 1


async def test_a_running_call_outlives_a_reload_and_is_closed_behind() -> None:
    world = World()
    async with world.pool.get(endpoint("a")).stream(ModelRequest(model="m")):
        await world.pool.retire_all()
        assert world.open == 1
    assert world.open == 0


async def test_one_who_kept_a_retired_provider_can_still_call_and_leaves_nothing_open() -> None:
    world = World()
    kept = world.pool.get(endpoint("a"))
    await world.call(endpoint("a"))
    await world.pool.retire_all()
    async with kept.stream(ModelRequest(model="m")):
        pass
    assert (len(world.made), world.open) == (2, 0)


async def test_a_cancelled_call_is_no_longer_counted() -> None:
    world = World()
    entered = anyio.Event()

    async def call() -> None:
        async with world.pool.get(endpoint("a")).stream(ModelRequest(model="m")):
            entered.set()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await entered.wait()
        await world.pool.retire_all()
        assert world.open == 1
        tasks.cancel_scope.cancel()
    assert world.open == 0


async def test_closing_the_pool_closes_everything_and_twice_is_harmless() -> None:
    world = World()
    await world.call(endpoint("a"))
    await world.call(endpoint("b"))
    await world.pool.aclose()
    await world.pool.aclose()
    assert [provider.closed for provider in world.made] == [1, 1]
