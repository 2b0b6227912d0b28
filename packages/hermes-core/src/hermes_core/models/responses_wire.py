"""The events of the Responses API as they come in: the fields that matter, and what is made of odd ones.

As with the chunks of Chat Completions, each event is first decoded strictly and fast; one that does not fit is looked
at field by field, and what cannot be understood is left out.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from hermes_core.content import clean
from hermes_core.models.wire import Json, as_integer, as_list, as_text, json_object
from hermes_core.usage import Usage


class ContentPart(msgspec.Struct):
    """A part of an item: `output_text`, `refusal`, `reasoning_text` or `summary_text`."""

    type: str | None = None
    text: str | None = None
    refusal: str | None = None


class Item(msgspec.Struct):
    """An item of the output: a message, a call, reasoning, or what the service did by itself."""

    type: str | None = None
    id: str | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | Json | None = None
    content: list[ContentPart] | None = None
    summary: list[ContentPart] | None = None


class InputDetails(msgspec.Struct):
    """Parts of the input."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class OutputDetails(msgspec.Struct):
    """Parts of the output."""

    reasoning_tokens: int | None = None


class ResponseTokens(msgspec.Struct):
    """The usage of a response."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    input_tokens_details: InputDetails | None = None
    output_tokens_details: OutputDetails | None = None

    def usage(self) -> Usage | None:
        """Return it in our words; None where it says nothing (some send zeros)."""
        if not self.input_tokens and not self.output_tokens:
            return None
        read, written = self.input_tokens_details or InputDetails(), self.output_tokens_details or OutputDetails()
        return Usage(
            input=self.input_tokens or 0,
            output=self.output_tokens or 0,
            cached=read.cached_tokens or 0,
            cache_write=read.cache_write_tokens or 0,
            reasoning=written.reasoning_tokens or 0,
            calls=1,
        )


class IncompleteDetails(msgspec.Struct):
    """Why a response was cut."""

    reason: str | None = None


class Response(msgspec.Struct):
    """A response, at its beginning or end."""

    object: str | None = None
    status: str | None = None
    error: Any = None
    incomplete_details: IncompleteDetails | None = None
    output: list[Item] | None = None
    usage: ResponseTokens | None = None


class ResponseEvent(msgspec.Struct):
    """One event. Which fields it has, goes by `type`."""

    type: str | None = None
    output_index: int | None = None
    item_id: str | None = None
    content_index: int | None = None
    summary_index: int | None = None
    delta: str | None = None
    text: str | None = None
    refusal: str | None = None
    arguments: str | Json | None = None
    item: Item | None = None
    response: Response | None = None
    error: Any = None


_decode_event = msgspec.json.Decoder(ResponseEvent).decode
_decode_response = msgspec.json.Decoder(Response).decode


def event_of(data: bytes) -> ResponseEvent:
    """Decode the data of one event. Raises NotJson."""
    try:
        return _decode_event(data)
    except (msgspec.DecodeError, RecursionError):
        return _event(json_object(data))


def response_of(data: bytes) -> Response:
    """Decode a body that is one whole response. Raises NotJson."""
    try:
        return _decode_response(data)
    except (msgspec.DecodeError, RecursionError):
        return _response(json_object(data))


def _event(value: Json) -> ResponseEvent:
    item, response = value.get("item"), value.get("response")
    return ResponseEvent(
        type=as_text(value.get("type")),
        output_index=as_integer(value.get("output_index")),
        item_id=as_text(value.get("item_id")),
        content_index=as_integer(value.get("content_index")),
        summary_index=as_integer(value.get("summary_index")),
        delta=as_text(value.get("delta")),
        text=as_text(value.get("text")),
        refusal=as_text(value.get("refusal")),
        arguments=_arguments(value.get("arguments")),
        item=_item(cast(Json, item)) if isinstance(item, dict) else None,
        response=_response(cast(Json, response)) if isinstance(response, dict) else None,
        error=value.get("error"),
    )


def _response(value: Json) -> Response:
    details, usage = _object(value.get("incomplete_details")), _object(value.get("usage"))
    read, written = _object(usage.get("input_tokens_details")), _object(usage.get("output_tokens_details"))
    return Response(
        object=as_text(value.get("object")),
        status=as_text(value.get("status")),
        error=value.get("error"),
        incomplete_details=IncompleteDetails(as_text(details.get("reason"))),
        output=[_item(cast(Json, item)) for item in as_list(value.get("output")) if isinstance(item, dict)],
        usage=ResponseTokens(
            as_integer(usage.get("input_tokens")),
            as_integer(usage.get("output_tokens")),
            InputDetails(as_integer(read.get("cached_tokens")), as_integer(read.get("cache_write_tokens"))),
            OutputDetails(as_integer(written.get("reasoning_tokens"))),
        ),
    )


def _item(value: Json) -> Item:
    return Item(
        type=as_text(value.get("type")),
        id=as_text(value.get("id")),
        call_id=as_text(value.get("call_id")),
        name=as_text(value.get("name")),
        arguments=_arguments(value.get("arguments")),
        content=_parts(value.get("content")),
        summary=_parts(value.get("summary")),
    )


def _parts(value: Any) -> list[ContentPart]:
    if isinstance(value, str):
        return [ContentPart("output_text", clean(value))]
    parts = [cast(Json, part) for part in as_list(value) if isinstance(part, dict)]
    return [
        ContentPart(as_text(part.get("type")), as_text(part.get("text")), as_text(part.get("refusal")))
        for part in parts
    ]


def _arguments(value: Any) -> str | Json | None:
    return cast(Json, value) if isinstance(value, dict) else as_text(value)


def _object(value: Any) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}
