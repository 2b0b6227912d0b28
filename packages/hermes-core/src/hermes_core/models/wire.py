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
    except (msgspec.DecodeError, RecursionError):
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
    choices = [choice for choice in map(_choice, as_list(value.get("choices"))) if choice]
    kind = value.get("object")
    return ChatChunk(choices, _tokens(value.get("usage")), value.get("error"), kind if isinstance(kind, str) else None)


def _choice(value: Any) -> Choice | None:
    if not isinstance(value, dict):
        return None
    choice = cast(Json, value)
    return Choice(_delta(choice.get("delta")), _delta(choice.get("message")), as_text(choice.get("finish_reason")))


def _delta(value: Any) -> Delta | None:
    if not isinstance(value, dict):
        return None
    delta = cast(Json, value)
    content = delta.get("content")
    return Delta(
        cast("list[Any]", content) if isinstance(content, list) else as_text(content),
        as_text(delta.get("reasoning_content")),
        as_text(delta.get("reasoning")),
        as_text(delta.get("refusal")),
        [piece for piece in map(_piece, as_list(delta.get("tool_calls"))) if piece],
    )


def _piece(value: Any) -> CallPiece | None:
    if not isinstance(value, dict):
        return None
    piece = cast(Json, value)
    index, call_id = as_integer(piece.get("index")), piece.get("id")
    function = cast(Json, piece["function"]) if isinstance(piece.get("function"), dict) else {}
    arguments = function.get("arguments")
    return CallPiece(
        index,
        str(call_id) if isinstance(call_id, int) else as_text(call_id),
        FunctionPiece(
            as_text(function.get("name")), cast(Json, arguments) if isinstance(arguments, dict) else as_text(arguments)
        ),
    )


def _tokens(value: Any) -> Tokens | None:
    if not isinstance(value, dict):
        return None
    usage = cast(Json, value)
    details = (usage.get("prompt_tokens_details"), usage.get("completion_tokens_details"))
    prompt, completion = (cast(Json, detail) if isinstance(detail, dict) else {} for detail in details)
    return Tokens(
        as_integer(usage.get("prompt_tokens")),
        as_integer(usage.get("completion_tokens")),
        PromptDetails(as_integer(prompt.get("cached_tokens")), as_integer(prompt.get("cache_write_tokens"))),
        CompletionDetails(as_integer(completion.get("reasoning_tokens"))),
    )


def as_list(value: Any) -> list[Any]:
    """Return `value` if it is a list, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """Return `value` if it is a text, as valid UTF-8."""
    return clean(value) if isinstance(value, str) else None


def as_integer(value: Any) -> int | None:
    """Return `value` if it is a number, or a text of digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return int(value) if isinstance(value, (int, float)) and value == value and abs(value) < 1e15 else None
