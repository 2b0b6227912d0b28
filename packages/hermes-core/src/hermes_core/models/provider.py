"""What the core asks of a model provider: one call in, a stream of deltas out, and at its end one reply."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol

import msgspec

from hermes_core.messages import AssistantMessage, Message

ApiMode = Literal["chat_completions", "responses"]


class Endpoint(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Where a model answers and how to speak to it. `repr` hides the key."""

    provider: str
    """The name people use: `openrouter`, `openai`, `ollama`, `local`, `custom`, ..."""
    model: str
    base_url: str = ""
    api_key: str = ""
    api_mode: ApiMode = "chat_completions"
    context_length: int = 0
    """Tokens the model can read; 0 = unknown."""
    headers: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Endpoint({self.provider}:{self.model} at {self.base_url or 'its own process'})"


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as the model is told of it. `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One model call. `messages` is a valid transcript (notes are skipped); `system` comes before it."""

    model: str
    system: str = ""
    messages: tuple[Message, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 0
    reasoning_effort: str = ""
    session_id: str = ""
    """The stored id; providers may use it as a cache key."""
    response_schema: dict[str, Any] | None = None
    """A JSON Schema that the whole answer must fit (`response_format` on the wire); None = free text."""


class TextDelta(msgspec.Struct, tag="text", frozen=True, gc=False):
    """More answer text."""

    text: str


class ThinkingDelta(msgspec.Struct, tag="thinking", frozen=True, gc=False):
    """More reasoning."""

    text: str


class CallDelta(msgspec.Struct, tag="call", frozen=True, gc=False):
    """The model has begun a tool call of this name; sent once per call."""

    name: str


ModelDelta = TextDelta | ThinkingDelta | CallDelta


class ModelStream(Protocol):
    """The stream of one call. Iterate to its end, then read `reply`."""

    def __aiter__(self) -> AsyncIterator[list[ModelDelta]]:
        """Yield the deltas of each network read together; adjacent text of one read is one delta.

        Raises ProviderError. StreamBroken (and no end of the iteration) when the provider stopped in
        mid-answer; what had arrived is in `partial` then.
        """
        ...

    @property
    def reply(self) -> AssistantMessage:
        """The whole answer, valid once the iteration has ended. Its `finish` is one of `stop`, `tool_calls`,
        `length`, `content_filter`; its tool calls have distinct ids, names, and the arguments as written."""
        ...

    @property
    def partial(self) -> AssistantMessage:
        """What has arrived so far: text and reasoning; no half-written tool call."""
        ...


class Provider(Protocol):
    """A way to reach one endpoint. Shared by sessions, safe for any number of calls at once."""

    endpoint: Endpoint

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[ModelStream]:
        """Call the model. Leaving the block, or cancelling it, closes the connection at once.

        Before the first byte of the answer, connection failures, 408, 409, 429 and 5xx are tried again (twice,
        honouring `Retry-After`); nothing is ever tried again after it.
        """
        ...

    async def warm(self) -> None:
        """Load what the first call would have to load, without any network traffic."""
        ...

    async def aclose(self) -> None:
        """Close all connections and child processes. Calling it twice is harmless."""
        ...
