"""Chat Completions: the request that is read, and the answer that is not streamed."""

from __future__ import annotations

import msgspec
from hermes_core.usage import Usage

from hermes_api.errors import ApiError
from hermes_api.wire.conversation import ClientMessage


class StreamOptions(msgspec.Struct, frozen=True):
    """`include_usage` asks for a last chunk with the usage and no choices."""

    include_usage: bool | None = None


class ChatRequest(msgspec.Struct, frozen=True):
    """The fields that have an effect. Others (sampling, tools of the client, ...) are accepted and ignored."""

    messages: list[ClientMessage]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    reasoning_effort: str | None = None

    @property
    def token_limit(self) -> int:
        """The most tokens that one answer of the model may have, 0 for the model's own limit."""
        return self.max_completion_tokens or self.max_tokens or 0

    @property
    def include_usage(self) -> bool:
        """Whether the stream ends with a usage chunk."""
        return bool(self.stream_options and self.stream_options.include_usage)


def checked(request: ChatRequest) -> ChatRequest:
    """Return a request that can be answered as asked. Raises ApiError 400."""
    if not request.messages:
        raise ApiError(400, "'messages' is empty.", "missing_field", param="messages")
    if request.n is not None and request.n != 1:
        raise ApiError(400, "'n' can only be 1: an agent gives one answer.", "unsupported_parameter", param="n")
    for name in ("max_tokens", "max_completion_tokens"):
        if (limit := getattr(request, name)) is not None and limit < 1:
            raise ApiError(400, f"'{name}' must be at least 1.", "invalid_value", param=name)
    return request


class CachedTokens(msgspec.Struct, frozen=True):
    """Tokens of the prompt that the provider had in its cache."""

    cached_tokens: int


class ReasoningTokens(msgspec.Struct, frozen=True):
    """Tokens of the completion that were reasoning."""

    reasoning_tokens: int


class ChatUsage(msgspec.Struct, frozen=True):
    """Tokens of all model calls of the turn."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens
    completion_tokens_details: ReasoningTokens


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The assistant's message."""

    role: str
    content: str
    reasoning_content: str = ""


class AnswerChoice(msgspec.Struct, frozen=True):
    """The one choice."""

    index: int
    message: Answer
    finish_reason: str


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """`hermes`: how a turn ended that did not end well. `error` is a sentence, `error_code` a word."""

    completed: bool
    partial: bool
    failed: bool
    error: str
    error_code: str


class ChatCompletion(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer, whole."""

    id: str
    created: int
    model: str
    choices: tuple[AnswerChoice, ...]
    usage: ChatUsage
    object: str = msgspec.field(default_factory=lambda: "chat.completion")
    hermes: Ending | None = None


def chat_usage(usage: Usage) -> ChatUsage:
    """Return token counts in the shape of Chat Completions."""
    return ChatUsage(
        usage.input, usage.output, usage.total, CachedTokens(usage.cached), ReasoningTokens(usage.reasoning)
    )
