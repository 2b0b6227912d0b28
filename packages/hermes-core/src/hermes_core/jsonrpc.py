"""JSON-RPC 2.0 without I/O: bytes in, values out; values in, one line of bytes out.

Frames are UTF-8 JSON objects, one a line, ended by a line feed. Nothing that a peer sends raises: what cannot
be understood comes out as `Malformed`, which holds the error to answer with. Batches are not part of the
line protocols we serve; an array is Malformed like a number.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from hermes_core.content import clean

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603

MAX_LINE = 64 * 1024 * 1024
"""Bytes of one line; images come in base64."""
MAX_PENDING = 1024
"""Requests of our own that may wait for an answer at once; the oldest is forgotten first."""

NO_ID = b"null"
_ID_STARTS = (b'"', b"-", *(b"%d" % digit for digit in range(10)))


class Request(msgspec.Struct, frozen=True):
    """A call that wants an answer. `id` is the JSON text of the peer's id, to be echoed as it stands."""

    id: bytes
    method: str
    params: msgspec.Raw


class Notification(msgspec.Struct, frozen=True):
    """A call that must not be answered."""

    method: str
    params: msgspec.Raw


class RpcError(msgspec.Struct, frozen=True, omit_defaults=True):
    """The error object of the wire."""

    code: int
    message: str
    data: Any = None


class Response(msgspec.Struct, frozen=True):
    """The answer to a request of ours: `error` is None when it succeeded, `result` is empty when it failed."""

    id: int
    result: msgspec.Raw
    error: RpcError | None = None


class Malformed(msgspec.Struct, frozen=True):
    """A line that is no message. Answer it with `error`, addressed to `id` (`null` where none could be read)."""

    id: bytes
    error: RpcError


class TooLong(msgspec.Struct, frozen=True):
    """A line longer than `limit` bytes; it was skipped."""

    limit: int


Incoming = Request | Notification | Response | Malformed


class _Frame(msgspec.Struct):
    jsonrpc: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _Outgoing(msgspec.Struct, omit_defaults=True):
    jsonrpc: str
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str = ""
    params: Any = msgspec.UNSET
    result: Any = msgspec.UNSET
    error: RpcError | msgspec.UnsetType = msgspec.UNSET


_frames = msgspec.json.Decoder(_Frame)
_methods = msgspec.json.Decoder(str)
_errors = msgspec.json.Decoder(RpcError)
_encoder = msgspec.json.Encoder()


class Peer:
    """Our side of one connection: tells calls from answers, and knows which answers we still wait for."""

    def __init__(self) -> None:
        self._last_id = 0
        self._pending: dict[int, None] = {}

    def receive(self, line: bytes) -> Incoming | None:
        """Return what `line` says; None for a blank line, and for an answer that nobody waits for."""
        if not line or line.isspace():
            return None
        try:
            frame = _frames.decode(line)
        except msgspec.ValidationError:
            return _malformed(INVALID_REQUEST, "A message must be a JSON object.")
        except (msgspec.DecodeError, RecursionError):
            return _malformed(PARSE_ERROR, "The line is not valid JSON.")
        return self._answer(frame) if not frame.method else _call(frame)

    def request(self, method: str, params: Any) -> tuple[int, bytes]:
        """Return the id and the line of a new request of ours."""
        self._last_id += 1
        if len(self._pending) >= MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        self._pending[self._last_id] = None
        identity = msgspec.Raw(b"%d" % self._last_id)
        return self._last_id, _line(_Outgoing("2.0", id=identity, method=method, params=params))

    def forget(self, request_id: int) -> None:
        """Wait no longer for the answer to `request_id`; should it come, it is swallowed."""
        self._pending.pop(request_id, None)

    def _answer(self, frame: _Frame) -> Response | Malformed | None:
        if not frame.result and not frame.error:
            return _malformed(INVALID_REQUEST, "A message needs a method, a result or an error.", _readable_id(frame))
        identity = bytes(frame.id)
        number = int(identity) if identity.isdigit() and len(identity) < 20 else 0
        if number not in self._pending:
            return None
        del self._pending[number]
        if frame.result and (not frame.error or bytes(frame.error) == b"null"):
            return Response(number, frame.result)
        try:
            return Response(number, msgspec.Raw(), _errors.decode(frame.error))
        except msgspec.DecodeError:
            return Response(number, msgspec.Raw(), RpcError(INTERNAL_ERROR, "The peer sent an error of no known form."))


def _call(frame: _Frame) -> Request | Notification | Malformed:
    identity = _readable_id(frame)
    if bytes(frame.jsonrpc) != b'"2.0"':
        return _malformed(INVALID_REQUEST, 'jsonrpc must be "2.0".', identity)
    try:
        method = _methods.decode(frame.method)
    except msgspec.DecodeError:
        return _malformed(INVALID_REQUEST, "method must be a string.", identity)
    if not frame.id:
        return Notification(method, frame.params)
    if identity == NO_ID and bytes(frame.id) != NO_ID:
        return _malformed(INVALID_REQUEST, "id must be a number, a string or null.")
    return Request(identity, method, frame.params)


def _readable_id(frame: _Frame) -> bytes:
    """Return the JSON text of the frame's id if it is a string or a number, else that of null."""
    identity = bytes(frame.id)
    return identity if identity.startswith(_ID_STARTS) else NO_ID


def _malformed(code: int, message: str, identity: bytes = NO_ID) -> Malformed:
    return Malformed(identity, RpcError(code, message))


def result_line(identity: bytes, result: Any) -> bytes:
    """Return the line that answers request `identity` with `result`."""
    return _line(_Outgoing("2.0", id=msgspec.Raw(identity), result=result))


def error_line(identity: bytes, error: RpcError) -> bytes:
    """Return the line that answers request `identity` with `error`."""
    return _line(_Outgoing("2.0", id=msgspec.Raw(identity), error=error))


def notification_line(method: str, params: Any) -> bytes:
    """Return the line of a notification of ours."""
    return _line(_Outgoing("2.0", method=method, params=params))


def _line(frame: _Outgoing) -> bytes:
    try:
        return _encoder.encode(frame)
    except UnicodeEncodeError:
        # Half a surrogate pair, from a file name or a model: the frame must go out all the same.
        frame.method = clean(frame.method)
        frame.params, frame.result = _plain(frame.params), _plain(frame.result)
        if isinstance(frame.error, RpcError):
            frame.error = RpcError(frame.error.code, clean(frame.error.message), _plain(frame.error.data))
        return _encoder.encode(frame)


def _plain(value: Any) -> Any:
    return value if value is msgspec.UNSET else _cleaned(msgspec.to_builtins(value))


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list() | tuple():
            return [_cleaned(item) for item in cast("list[Any]", value)]
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in cast("dict[Any, Any]", value).items()}
        case _:
            return value


class LineSplitter:
    """Cuts a stream of bytes into lines at each line feed, wherever the blocks begin and end.

    A line of more than `limit` bytes comes out as one `TooLong`, as soon as it is known, and is skipped up to
    its end; the lines after it are whole.
    """

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._started = bytearray()
        self._skipping = False

    def feed(self, block: bytes) -> list[bytes | TooLong]:
        """Return the lines that `block` completes, without their line feeds."""
        *ended, rest = block.split(b"\n")
        lines: list[bytes | TooLong] = []
        for part in ended:
            self._grow(part, lines)
            if not self._skipping:
                lines.append(bytes(self._started))
            self._started.clear()
            self._skipping = False
        self._grow(rest, lines)
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """Return the line that the stream's end cuts off, if there is one."""
        rest = bytes(self._started)
        self._started.clear()
        return [rest] if rest else []

    def _grow(self, part: bytes, lines: list[bytes | TooLong]) -> None:
        if self._skipping:
            return
        if len(self._started) + len(part) > self._limit:
            self._skipping = True
            self._started = bytearray()
            lines.append(TooLong(self._limit))
        else:
            self._started += part
