"""Fixtures of the core's own tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from core_world import Bench, MakeBench
from hermes_core.store.memory import MemoryStore
from hermes_core.store.protocol import Store
from hermes_core.testing import ScriptedModel


@pytest.fixture
def bench(tmp_path: Path) -> MakeBench:
    """Make a bench: `async with bench(*answers) as world, world.runtime() as runtime`."""

    @asynccontextmanager
    async def make(*answers: Any, store: Store | None = None) -> AsyncGenerator[Bench]:
        with anyio.fail_after(60):
            async with ScriptedModel(answers) as model:
                yield Bench(model, tmp_path / "home", store or MemoryStore())
                assert model.violations == [], "a request broke the rules of transcripts"

    return make
