"""Tool calls put together from the pieces that a stream sends, however it numbers them."""

from __future__ import annotations

import msgspec

from hermes_core.ids import tool_call_id
from hermes_core.messages import ToolCall
from hermes_core.models.wire import CallPiece, FunctionPiece, Json

MAX_CALLS = 256
MAX_ID = 40
"""Longer ids are refused by some providers when they come back with the history."""
NAMELESS = "unnamed_tool"


class OpenCall:
    """A call that is still being written."""

    def __init__(self, call_id: str, index: int | None = None, item_id: str = "") -> None:
        self.id = call_id
        self.index = index
        self.item_id = item_id
        self.name = ""
        self.pieces: list[str] = []

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def named(self, name: str) -> str:
        """Take the name; return it if it was not known before, else an empty text."""
        if not name or self.name:
            return ""
        self.name = name
        return name


class Calls:
    """The calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self.size: int = 0
        """Characters of their arguments."""
        self._calls: list[OpenCall] = []

    def __bool__(self) -> bool:
        return bool(self._calls)

    def whole(self, taken: set[str]) -> tuple[ToolCall, ...]:
        """Return the calls, each with a name, and an id that is none of `taken` and no other call's."""
        used = set(taken)
        calls: list[ToolCall] = []
        for call in self._calls:
            call_id = call.id
            if call_id in used or not 0 < len(call_id) <= MAX_ID or not call_id.isascii() or not call_id.isprintable():
                call_id = tool_call_id()
            used.add(call_id)
            calls.append(ToolCall(call_id, call.name or NAMELESS, call.arguments))
        return tuple(calls)

    def _begun(self, call: OpenCall) -> OpenCall:
        """Add a call. Raises ValueError if there are too many."""
        if len(self._calls) >= MAX_CALLS:
            raise ValueError(f"more than {MAX_CALLS} tool calls in one answer")
        self._calls.append(call)
        return call

    def _extend(self, call: OpenCall, arguments: str) -> None:
        if arguments:
            call.pieces.append(arguments)
            self.size += len(arguments)


class CallPieces(Calls):
    """Calls put together from the pieces of Chat Completions.

    Pieces belong together by index; without one, by id; with neither, they go on with the last call. A new id, or
    another name, together with an index that was used before begins a new call: some providers put every whole
    call at position 0. A piece that says a finished call again, word for word, is a repetition.
    """

    def __init__(self) -> None:
        super().__init__()
        self._by_index: dict[int, OpenCall] = {}

    def add(self, piece: CallPiece) -> str:
        """Take a piece; return the call's name if it has become known with it, else an empty text."""
        function = piece.function or FunctionPiece()
        name, arguments = function.name or "", arguments_text(function.arguments)
        call = self._of(piece.index, piece.id or "", name, arguments)
        if call is None:
            return ""
        call.id = call.id or piece.id or ""
        self._extend(call, arguments)
        return call.named(name)

    def _of(self, index: int | None, call_id: str, name: str, arguments: str) -> OpenCall | None:
        """Return the call that a piece belongs to, a new one if need be; None if it repeats what was said."""
        if index is not None:
            call = self._by_index.get(index)
        elif call_id:
            call = next((call for call in reversed(self._calls) if call.id == call_id), None)
            if call is None and self._calls and not self._calls[-1].id and not name:
                call = self._calls[-1]
        else:
            call = self._calls[-1] if self._calls else None
        if call is not None and not _is_another(call, call_id, name, arguments):
            return call
        if call is not None and call_id == call.id and (name, arguments) == (call.name, call.arguments):
            return None
        call = self._begun(OpenCall(call_id, index))
        if index is not None:
            self._by_index[index] = call
        return call


def arguments_text(given: str | Json | None) -> str:
    """Return arguments as text; some providers send them as an object."""
    return given if isinstance(given, str) else msgspec.json.encode(given).decode() if given else ""


def _is_another(call: OpenCall, call_id: str, name: str, arguments: str) -> bool:
    """Say whether a piece at the same place begins another call."""
    if call_id and call.id and call_id != call.id:
        return bool(name) or _complete(call.arguments)
    if name and call.name:
        return name != call.name or (bool(arguments) and _complete(call.arguments))
    return False


def _complete(arguments: str) -> bool:
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True
