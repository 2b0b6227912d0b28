"""Tool calls put together from the items of a Responses stream."""

from __future__ import annotations

from hermes_core.models.call_pieces import Calls, OpenCall, arguments_text
from hermes_core.models.responses_wire import Item


class CallItems(Calls):
    """The calls of one answer: an item is added, its arguments come in pieces, the item is done with all of them.

    Each of the three may lack. An event belongs to the call with its item id; where a service gives every event
    another one, to the last call at its position that it does not contradict.
    """

    def begin(self, index: int | None, item: Item) -> str:
        """Take an item that was added; return the call's name if it has become known with it, else an empty text."""
        call_id, item_id = item.call_id or "", item.id or ""
        call = self._of(index, item_id, call_id)
        if call is None or (item_id != call.item_id and not (call_id and call.id)):
            call = self._begun(OpenCall(call_id, index, item_id))
        call.id = call.id or call_id
        if not call.pieces:
            self._extend(call, arguments_text(item.arguments))
        return call.named(item.name or "")

    def add(self, index: int | None, item_id: str, arguments: str) -> None:
        """Take a piece of arguments."""
        self._extend(self._of(index, item_id) or self._begun(OpenCall("", index, item_id)), arguments)

    def finish(self, index: int | None, item: Item) -> str:
        """Take an item that is done, or all we know of it; return the call's name like `begin`."""
        call_id, item_id = item.call_id or "", item.id or ""
        call = self._of(index, item_id, call_id) or self._begun(OpenCall(call_id, index, item_id))
        call.id = call.id or call_id
        arguments = arguments_text(item.arguments)
        if arguments:
            self.size -= len(call.arguments)
            call.pieces.clear()
            self._extend(call, arguments)
        return call.named(item.name or "")

    def _of(self, index: int | None, item_id: str, call_id: str = "") -> OpenCall | None:
        """Return the call that an event is about."""
        fits = [call for call in self._calls if not (call.id and call_id) or call.id == call_id]
        for call in reversed(fits):
            if item_id and call.item_id == item_id:
                return call
        for call in reversed(fits):
            if call.index is None or index is None or call.index == index:
                return call
        return None
