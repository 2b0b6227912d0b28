"""Tool calls put together from the pieces that a stream sends, however it numbers them."""

from __future__ import annotations

import msgspec

from hermes_core.ids import tool_call_id
from hermes_core.messages import ToolCall
from hermes_core.models.wire import CallPiece, FunctionPiece

MAX_CALLS = 256
MAX_ID = 40
"""Longer ids are refused by some providers when they come back with the history."""
NAMELESS = "unnamed_tool"


class _Call:
    def __init__(self, call_id: str) -> None:
        self.id = call_id
        self.name = ""
        self.pieces: list[str] = []

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class CallPieces:
    """The calls of one answer, in the order in which they began.

    Pieces belong together by index; without one, by id; with neither, they go on with the last call. A new id, or
    another name, together with an index that was used before begins a new call: some providers put every whole
    call at position 0. A piece that says a finished call again, word for word, is a repetition.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, piece: CallPiece) -> str:
        """Take a piece; return the call's name if it has become known with it, else an empty text."""
        function = piece.function or FunctionPiece()
        given, name = function.arguments, function.name or ""
        arguments = given if isinstance(given, str) else msgspec.json.encode(given).decode() if given else ""
        call = self._of(piece.index, piece.id or "", name, arguments)
        if call is None:
            return ""
        call.id = call.id or piece.id or ""
        if arguments:
            call.pieces.append(arguments)
            self.size += len(arguments)
        if name and not call.name:
            call.name = name
            return name
        return ""

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

    def _of(self, index: int | None, call_id: str, name: str, arguments: str) -> _Call | None:
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
        if len(self._calls) >= MAX_CALLS:
            raise ValueError(f"more than {MAX_CALLS} tool calls in one answer")
        call = _Call(call_id)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call


def _is_another(call: _Call, call_id: str, name: str, arguments: str) -> bool:
    """Say whether a piece at the same place begins another call."""
    if call_id and call.id and call_id != call.id:
        return bool(name) or _complete(call.arguments)
    if name and call.name:
        return name != call.name or (bool(arguments) and _complete(call.arguments))
    return False


def _complete(arguments: str) -> bool:
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    return True
