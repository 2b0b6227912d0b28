"""The chunks of Chat Completions as they come in: the fields that matter, and what is made of odd ones.

Providers differ in everything but the outline, so each chunk is first decoded strictly and fast; one that does not
fit is looked at field by field, and what cannot be understood is left out.
"""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec

from hermes_core.content import clean
from hermes_core.usage import Usage

Json = dict[str, Any]


class FunctionPiece(msgspec.Struct, gc=False):
    """A piece of a call: the name comes once, the arguments in pieces (an object, whole, from some)."""

    name: str | None = None
    arguments: str | Json | None = None


class CallPiece(msgspec.Struct):
    """A piece of one tool call. Index and id may each be missing."""

    index: int | None = None
    id: str | None = None
    function: FunctionPiece | None = None


class Delta(msgspec.Struct):
    """What one chunk adds. `content` may be a list of parts."""

    content: str | list[Any] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[CallPiece] | None = None


class Choice(msgspec.Struct):
    """The choice of a chunk. A whole completion has `message` in place of `delta`."""

    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: str | None = None


class PromptDetails(msgspec.Struct):
    """Parts of the input."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class CompletionDetails(msgspec.Struct):
    """Parts of the output."""

    reasoning_tokens: int | None = None


class Tokens(msgspec.Struct):
    """The provider's usage. The last two lines are names that some use in place of the details."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def usage(self) -> Usage | None:
        """Return it in our words; None where it says nothing (some send zeros)."""
        if not self.prompt_tokens and not self.completion_tokens:
            return None
        prompt = self.prompt_tokens_details or PromptDetails()
        completion = self.completion_tokens_details or CompletionDetails()
        return Usage(
            input=self.prompt_tokens or 0,
            output=self.completion_tokens or 0,
            cached=prompt.cached_tokens or self.prompt_cache_hit_tokens or 0,
            cache_write=prompt.cache_write_tokens or self.cache_creation_input_tokens or 0,
            reasoning=completion.reasoning_tokens or 0,
            calls=1,
        )


class ChatChunk(msgspec.Struct):
    """One chunk. `error`, or an `object` of "error", makes it a failure."""

    choices: list[Choice] | None = None
    usage: Tokens | None = None
    error: Any = None
    object: str | None = None


class NotJson(ValueError):
    """The data of an event is no JSON object."""


_decode = msgspec.json.Decoder(ChatChunk).decode


def chunk_of(data: bytes) -> ChatChunk:
    """Decode the data of one event. Raises NotJson."""
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return _lenient(json_object(data))


def json_object(data: bytes) -> Json:
    """Decode a JSON object that may hold raw control characters, half surrogates and broken UTF-8. Raises NotJson."""
    try:
        value = json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        raise NotJson("not JSON") from None
    if not isinstance(value, dict):
        raise NotJson("not a JSON object")
    return cast(Json, value)


def _lenient(value: Json) -> ChatChunk:
    choices = [choice for choice in map(_choice, _list(value.get("choices"))) if choice]
    kind = value.get("object")
    return ChatChunk(choices, _tokens(value.get("usage")), value.get("error"), kind if isinstance(kind, str) else None)


def _choice(value: Any) -> Choice | None:
    if not isinstance(value, dict):
        return None
    choice = cast(Json, value)
    return Choice(_delta(choice.get("delta")), _delta(choice.get("message")), _text(choice.get("finish_reason")))


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    delta = cast(Json, value)
    content = delta.get("content")
    return Delta(
        cast("list[Any]", content) if isinstance(content, list) else _text(content),
        _text(delta.get("reasoning_content")),
        _text(delta.get("reasoning")),
        _text(delta.get("refusal")),
        [piece for piece in map(_piece, _list(delta.get("tool_calls"))) if piece],
    )


def _piece(value: Any) -> CallPiece | None:
    if not isinstance(value, dict):
        return None
    piece = cast(Json, value)
    index, call_id = _integer(piece.get("index")), piece.get("id")
    function = cast(Json, piece["function"]) if isinstance(piece.get("function"), dict) else {}
    arguments = function.get("arguments")
    return CallPiece(
        index,
        str(call_id) if isinstance(call_id, int) else _text(call_id),
        FunctionPiece(
            _text(function.get("name")), cast(Json, arguments) if isinstance(arguments, dict) else _text(arguments)
        ),
    )


def _tokens(value: Any) -> Tokens | None:
    if not isinstance(value, dict):
        return None
    usage = cast(Json, value)
    details = (usage.get("prompt_tokens_details"), usage.get("completion_tokens_details"))
    prompt, completion = (cast(Json, detail) if isinstance(detail, dict) else {} for detail in details)
    return Tokens(
        _integer(usage.get("prompt_tokens")),
        _integer(usage.get("completion_tokens")),
        PromptDetails(_integer(prompt.get("cached_tokens")), _integer(prompt.get("cache_write_tokens"))),
        CompletionDetails(_integer(completion.get("reasoning_tokens"))),
    )


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(value: Any) -> str | None:
    return clean(value) if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return int(value) if isinstance(value, (int, float)) and value == value and abs(value) < 1e15 else None
