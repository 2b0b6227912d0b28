"""Fixtures of the gateway's tests: a scripted model, and a home that points at it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hermes_core.testing import ScriptedModel
from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.testing import LocalHost, local_gateway, local_host, write_config


@pytest.fixture
async def model(hermes_home: Path) -> AsyncGenerator[ScriptedModel]:
    """Answer by directives in the prompt, and let the home's settings point here."""
    async with ScriptedModel() as model:
        write_config(hermes_home, model.base_url)
        yield model
        assert model.violations == [], "a request broke the rules of transcripts"


@pytest.fixture
async def gateway(model: ScriptedModel) -> AsyncGenerator[Gateway]:
    """Run a gateway in this process."""
    async with local_gateway() as gateway:
        yield gateway


@pytest.fixture
async def host(gateway: Gateway) -> AsyncGenerator[LocalHost]:
    """Connect a host to the gateway of this process."""
    async with local_host(gateway) as host:
        yield host
