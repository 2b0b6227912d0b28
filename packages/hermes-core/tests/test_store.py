"""Both stores keep the contract, and an embedder can hold its own store to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hermes_core.store.memory import MemoryStore
from hermes_core.store.protocol import Store
from hermes_core.store.sqlite import SqliteStore
from hermes_core.testing.store_contract import CHECKS, Check, run_check, run_contract

pytestmark = pytest.mark.anyio


def check_name(check: Check) -> str:
    return getattr(check, "__name__", repr(check))


@pytest.mark.parametrize("check", CHECKS, ids=check_name)
async def test_sqlite_store_keeps_its_contract(check: Check, tmp_path: Path) -> None:
    """HA-002, HA-008, HA-011, HA-012, HA-013 and HA-020 are among the checks."""
    store = SqliteStore(tmp_path / "sessions.sqlite3")
    await run_check(check, lambda: store)
    assert (tmp_path / "sessions.sqlite3").exists()


@pytest.mark.parametrize("check", CHECKS, ids=check_name)
async def test_memory_store_keeps_its_contract(check: Check) -> None:
    opened: list[Store] = []

    def make() -> Store:
        opened.append(MemoryStore())
        return opened[-1]

    await run_check(check, make)
    assert len(opened) == 1


async def test_contract_runs_every_check_against_a_store_of_its_own() -> None:
    made: list[Store] = []

    def make() -> Store:
        made.append(MemoryStore())
        return made[-1]

    assert await run_contract(make) == len(CHECKS) == len(made)


@pytest.mark.parametrize(
    "broken", ["append", "search", "delete_session", "list_sessions", "settle", "keys", "replace", "branch"]
)
async def test_contract_notices_a_store_that_does_nothing(broken: str) -> None:
    async def nothing(*_args: object, **_kwargs: object) -> list[int]:
        return []

    def make() -> Store:
        store = MemoryStore()
        setattr(store, broken, nothing)
        return store

    factory: Callable[[], Store] = make
    with pytest.raises((AssertionError, IndexError, ValueError)):
        await run_contract(factory)
