"""Clients for the tests of the HTTP surface: the official SDK, and a plain HTTP client."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hermes_api.testing import KEY, ApiServer
from openai import AsyncOpenAI


@pytest.fixture
def sdk() -> Callable[[ApiServer], AsyncOpenAI]:
    """Return a maker of official clients that try everything once."""

    def make(api: ApiServer) -> AsyncOpenAI:
        return AsyncOpenAI(base_url=f"{api.url}/v1", api_key=KEY, max_retries=0)

    return make
