"""Calls of the real provider on a scripted model: what the tests over HTTP share."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from hermes_core.messages import AssistantMessage, user_text
from hermes_core.models.openai_chat import OpenAIChatProvider
from hermes_core.models.provider import Endpoint, ModelDelta, ModelRequest, TextDelta
from hermes_core.testing import ScriptedModel

KEY = "sk-0123456789abcdef"


def endpoint_of(model: ScriptedModel, **more: Any) -> Endpoint:
    options: dict[str, Any] = {"provider": "custom", "model": "m", "base_url": model.base_url, "api_key": KEY, **more}
    return Endpoint(**options)


def request(text: str = "hi") -> ModelRequest:
    return ModelRequest(model="m", messages=(user_text(text),))


@asynccontextmanager
async def provider_of(model: ScriptedModel, **options: Any) -> AsyncGenerator[OpenAIChatProvider]:
    """Give a provider with these options of its own, closed behind the block."""
    provider = OpenAIChatProvider(endpoint_of(model), **options)
    try:
        yield provider
    finally:
        await provider.aclose()


async def ask(provider: OpenAIChatProvider, text: str = "hi", seen: list[ModelDelta] | None = None) -> AssistantMessage:
    """Make one call to its end; `seen` takes the deltas."""
    async with provider.stream(request(text)) as stream:
        async for deltas in stream:
            if seen is not None:
                seen += deltas
    return stream.reply


def said(deltas: list[ModelDelta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
