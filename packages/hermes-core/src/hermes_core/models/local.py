"""The provider for the model on this machine: an engine in a child process, spoken to over the ordinary wire.

The engine is llama.cpp (`xllamacpp`). What the agent says to its models is too much for small weights, so
`local_prompt` says something smaller in its place.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from hermes_core.errors import Unsupported
from hermes_core.ids import tool_call_id
from hermes_core.messages import AssistantMessage, UserMessage
from hermes_core.models.local_engine import LocalEngine
from hermes_core.models.local_prompt import (
    answer_request,
    decision_request,
    fresh_results,
    last_request,
    offers,
    quoted,
    read_decision,
)
from hermes_core.models.provider import (
    CallDelta,
    Endpoint,
    ModelDelta,
    ModelRequest,
    ModelStream,
    Provider,
    TextDelta,
)

SMALL = 600_000_000
"""Bytes of weights below which a model tells the results of tools wrongly more often than not."""


class LocalProvider:
    """Calls the local model. Implements `provider.Provider`.

    The engine starts with the first call (or `warm`), once for all callers, and again after it died. A request that
    asks for a tool in plain words gets one call of it; every other request gets an answer in words. After a tool call
    small weights quote its result, larger ones speak of it.
    """

    def __init__(self, endpoint: Endpoint, weights: Path) -> None:
        self.endpoint = endpoint
        self.engine = LocalEngine(weights)
        self._small = weights.stat().st_size < SMALL
        self._wire: Provider | None = None
        self._connecting = anyio.Lock()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelStream]:
        """See Provider.stream. Raises Unsupported for images, NoModelError if the engine cannot start."""
        last = request.messages[-1] if request.messages else None
        if isinstance(last, UserMessage) and last.images:
            raise Unsupported(f"The local model {self.endpoint.model} cannot see images.")
        results = fresh_results(request.messages)
        if results and self._small:
            yield Told(AssistantMessage(text=quoted(results), model=self.endpoint.model))
            return
        wire = await self._connected()
        decided = await self._decide(wire, request)
        if decided is not None:
            yield Told(decided)
            return
        async with wire.stream(answer_request(request, self.endpoint.model, small=self._small)) as stream:
            yield stream

    async def warm(self) -> None:
        """See Provider.warm. Starts the engine, so that it has read its weights when the first call comes."""
        wire = await self._connected()
        await wire.warm()

    async def aclose(self) -> None:
        """See Provider.aclose."""
        wire, self._wire = self._wire, None
        try:
            if wire is not None:
                await wire.aclose()
        finally:
            await self.engine.aclose()

    async def _connected(self) -> Provider:
        """Return the way to the running engine; a new one, if the engine had to be started again."""
        from hermes_core.models.openai_chat import OpenAIChatProvider

        async with self._connecting:
            ready = await self.engine.ready()
            if self._wire is None or self._wire.endpoint.api_key != ready.key:
                old = self._wire
                self._wire = OpenAIChatProvider(
                    Endpoint(
                        provider=self.endpoint.provider,
                        model=self.endpoint.model,
                        base_url=ready.url,
                        api_key=ready.key,
                        context_length=self.endpoint.context_length,
                    )
                )
                if old is not None:
                    await old.aclose()
            return self._wire

    async def _decide(self, wire: Provider, request: ModelRequest) -> AssistantMessage | None:
        """Return an answer that is one tool call; None if the request asks for none, or none came out."""
        text = last_request(request.messages)
        offered = offers(text, request.tools)
        if not offered:
            return None
        async with wire.stream(decision_request(text, offered, self.endpoint.model)) as stream:
            async for _ in stream:
                pass
            reply = stream.reply
        call = read_decision(reply.text, text, offered, tool_call_id())
        if call is None:
            return None
        return AssistantMessage(tool_calls=(call,), finish="tool_calls", model=self.endpoint.model, usage=reply.usage)


class Told:
    """The stream of a reply that is known as a whole. Implements `provider.ModelStream`."""

    def __init__(self, reply: AssistantMessage) -> None:
        self.reply = reply
        self._read = False

    async def __aiter__(self) -> AsyncIterator[list[ModelDelta]]:
        deltas: list[ModelDelta] = [CallDelta(call.name) for call in self.reply.tool_calls]
        if self.reply.text:
            deltas.insert(0, TextDelta(self.reply.text))
        self._read = True
        yield deltas

    @property
    def partial(self) -> AssistantMessage:
        """See ModelStream.partial."""
        return AssistantMessage(text=self.reply.text if self._read else "", model=self.reply.model)
