"""One answer in the wire of Chat Completions: what its chunks say. See ModelAnswer for the rest."""

from __future__ import annotations

from typing import Any, cast

from hermes_core.content import clean
from hermes_core.errors import ProviderError, StreamBroken
from hermes_core.messages import Finish
from hermes_core.models.answer import Fresh, ModelAnswer
from hermes_core.models.call_pieces import CallPieces
from hermes_core.models.failures import failure, trouble_of
from hermes_core.models.provider import Endpoint, ModelRequest
from hermes_core.models.sse import SseEvent
from hermes_core.models.wire import Choice, Delta, chunk_of, json_object

_FINISHES: dict[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}


class ChatAnswer(ModelAnswer):
    """Reads one answer; it is whole when a finish reason or `[DONE]` was seen."""

    def __init__(self, endpoint: Endpoint, request: ModelRequest, *, whole_body: bool = False) -> None:
        self._pieces = CallPieces()
        super().__init__(endpoint, request, self._pieces, whole_body=whole_body)

    @property
    def finished(self) -> bool:
        """See ModelAnswer.finished."""
        return self.done or self._finish is not None

    def _take(self, event: SseEvent, fresh: Fresh) -> None:
        chunk = chunk_of(event.data)
        if chunk.error or chunk.object == "error":
            raise failure(self._endpoint, trouble_of(json_object(event.data)))
        if chunk.usage is not None:
            self._usage = chunk.usage.usage()
        for choice in chunk.choices or ():
            piece = choice.delta
            if piece is None and not fresh.size and not self._size:
                piece = choice.message
            if piece is not None:
                self._add(piece, fresh)
            if choice.finish_reason:
                self._finish = self._ended(choice)

    def _add(self, piece: Delta, fresh: Fresh) -> None:
        thought = piece.reasoning_content or piece.reasoning
        content = piece.content
        if isinstance(content, list):
            content, more = _of_parts(content)
            thought = thought or more
        if thought:
            self._think(thought, fresh)
        for text in (content, piece.refusal):
            if text:
                self._say(text, fresh)
        for part in piece.tool_calls or ():
            before = self._pieces.size
            try:
                name = self._pieces.add(part)
            except ValueError as error:
                raise StreamBroken(f"{self._endpoint.provider} sent {error}.") from None
            fresh.size += self._pieces.size - before
            if name:
                fresh.called(name)

    def _ended(self, choice: Choice) -> Finish:
        reason = (choice.finish_reason or "").lower()
        if reason == "error":
            raise ProviderError(f"{self._endpoint.provider} broke the answer off with an error.", retryable=True)
        return _FINISHES.get(reason, "stop")


def _of_parts(parts: list[Any]) -> tuple[str, str]:
    """Return the text and the reasoning in a list of content parts; other kinds of parts are left out."""
    text: list[str] = []
    thinking: list[str] = []
    for item in parts:
        if isinstance(item, str):
            text.append(item)
        elif isinstance(item, dict):
            part = cast("dict[str, Any]", item)
            value = part.get("text")
            if isinstance(part.get("thinking"), list):
                thinking.append(_of_parts(cast("list[Any]", part["thinking"]))[0])
            elif isinstance(value, str) and part.get("type", "text") in ("text", "output_text"):
                text.append(value)
    return clean("".join(text)), clean("".join(thinking))
