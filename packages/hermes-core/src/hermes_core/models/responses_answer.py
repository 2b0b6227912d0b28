"""One answer in the wire of the Responses API: what its events say. See ModelAnswer for the rest.

No event is waited for but the last: `response.created` may lack, and so may every `added`, delta or `done`. What was
streamed counts; the final response adds only the kinds (text, reasoning, calls) of which no event brought anything,
for some services end with an empty `output`.
"""

from __future__ import annotations

from collections.abc import Callable

from hermes_core.errors import ProviderError, StreamBroken
from hermes_core.messages import Finish
from hermes_core.models.answer import Fresh, ModelAnswer
from hermes_core.models.call_items import CallItems
from hermes_core.models.failures import failure, trouble_of
from hermes_core.models.provider import Endpoint, ModelRequest
from hermes_core.models.responses_wire import Item, Response, ResponseEvent, event_of, response_of
from hermes_core.models.sse import SseEvent
from hermes_core.models.wire import json_object

_ENDS = {
    "response.completed": "completed",
    "response.done": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}
"""Last events -> the status they stand for, unless the response itself says another."""
_PARAGRAPH = "\n\n"

_Place = int | str
"""Where an item stands in the output: its index, or else its id."""


class ResponsesAnswer(ModelAnswer):
    """Reads one answer; it is whole when its last event was seen, `response.completed` or `response.incomplete`."""

    def __init__(self, endpoint: Endpoint, request: ModelRequest, *, whole_body: bool = False) -> None:
        self._items = CallItems()
        self._heard: set[tuple[str, _Place, int]] = set()
        self._speaking: _Place | None = None
        self._reasoning: tuple[_Place, int] | None = None
        super().__init__(endpoint, request, self._items, whole_body=whole_body)

    def _take(self, event: SseEvent, fresh: Fresh) -> None:
        if self._sse is None:
            self._take_response(response_of(event.data), fresh)
            return
        told = event_of(event.data)
        kind = told.type or event.name.decode("utf-8", "replace")
        if kind == "error" or (told.error and not kind):
            raise failure(self._endpoint, trouble_of(json_object(event.data)))
        if kind in _ENDS:
            self._end_with(_ENDS[kind], told.response or Response(), fresh)
        else:
            self._take_piece(kind, told, fresh)

    def _take_piece(self, kind: str, told: ResponseEvent, fresh: Fresh) -> None:
        place = _place(told)
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._said(place, told.content_index or 0, told.delta, fresh)
            case "response.output_text.done" | "response.refusal.done":
                self._said(place, told.content_index or 0, told.text or told.refusal, fresh, whole=True)
            case "response.reasoning_text.delta":
                self._thought(place, told.content_index or 0, told.delta, fresh)
            case "response.reasoning_summary_text.delta":
                self._thought(place, told.summary_index or 0, told.delta, fresh)
            case "response.output_item.added" if told.item and told.item.type == "function_call":
                self._called(self._items.begin, told.output_index, told.item, fresh)
            case "response.function_call_arguments.delta":
                self._written(told, fresh)
            case "response.function_call_arguments.done":
                item = Item(id=told.item_id, arguments=told.arguments)
                self._called(self._items.finish, told.output_index, item, fresh)
            case "response.output_item.done" if told.item:
                self._item(told.output_index, told.item, fresh)
            case _:
                pass  # progress of the service's own, and kinds that are newer than we are

    # -- text and reasoning --------------------------------------------------------------------

    def _said(self, place: _Place, part: int, text: str | None, fresh: Fresh, *, whole: bool = False) -> None:
        """Take text of a message; `whole` is told again after the pieces, and counts only without them."""
        key = ("text", place, part)
        if not text or (whole and key in self._heard):
            return
        self._heard.add(key)
        if self._text and place != self._speaking:
            text = _PARAGRAPH + text
        self._speaking = place
        self._say(text, fresh)

    def _thought(self, place: _Place, part: int, text: str | None, fresh: Fresh) -> None:
        if not text:
            return
        self._heard.add(("reasoning", place, 0))
        if self._thinking and (place, part) != self._reasoning:
            text = _PARAGRAPH + text
        self._reasoning = (place, part)
        self._think(text, fresh)

    # -- items ---------------------------------------------------------------------------------

    def _item(self, index: int | None, item: Item, fresh: Fresh) -> None:
        """Take a whole item; what was streamed of it is not taken again."""
        place: _Place = index if index is not None else item.id or ""
        match item.type:
            case "message":
                for at, part in enumerate(item.content or ()):
                    self._said(place, at, part.text or part.refusal, fresh, whole=True)
            case "reasoning" if ("reasoning", place, 0) not in self._heard:
                for at, part in enumerate(item.content or item.summary or ()):
                    self._thought(place, at, part.text, fresh)
            case "function_call":
                self._called(self._items.finish, index, item, fresh)
            case _:
                pass

    def _called(self, take: Callable[[int | None, Item], str], index: int | None, item: Item, fresh: Fresh) -> None:
        before = self._items.size
        try:
            name = take(index, item)
        except ValueError as error:
            raise StreamBroken(f"{self._endpoint.provider} sent {error}.") from None
        fresh.size += self._items.size - before
        if name:
            fresh.called(name)

    def _written(self, told: ResponseEvent, fresh: Fresh) -> None:
        try:
            self._items.add(told.output_index, told.item_id or "", told.delta or "")
        except ValueError as error:
            raise StreamBroken(f"{self._endpoint.provider} sent {error}.") from None
        fresh.size += len(told.delta or "")

    # -- the end -------------------------------------------------------------------------------

    def _take_response(self, response: Response, fresh: Fresh) -> None:
        """Take a body that is one whole response."""
        status = response.status or ("failed" if response.error else "completed" if response.output else "")
        if status in _ENDS.values():
            self._end_with(status, response, fresh)

    def _end_with(self, status: str, response: Response, fresh: Fresh) -> None:
        if response.status in _ENDS.values():
            status = response.status or status
        self._usage = response.usage.usage() if response.usage else None
        if status in ("failed", "cancelled"):
            if response.error:
                raise failure(self._endpoint, trouble_of(response.error))
            raise ProviderError(f"{self._endpoint.provider} broke the answer off.", retryable=True)
        self._rest_of(response.output or [], fresh)
        self._finish = _cut(response) if status == "incomplete" else "stop"
        self.done = True

    def _rest_of(self, output: list[Item], fresh: Fresh) -> None:
        lacking = {"message": not self._text, "reasoning": not self._thinking, "function_call": not self._items}
        for at, item in enumerate(output):
            if lacking.get(item.type or ""):
                self._item(at, item, fresh)


def _place(told: ResponseEvent) -> _Place:
    return told.output_index if told.output_index is not None else told.item_id or ""


def _cut(response: Response) -> Finish:
    """Return why an answer is incomplete; all but the filter is a limit of some kind."""
    details = response.incomplete_details
    return "content_filter" if details and details.reason == "content_filter" else "length"
