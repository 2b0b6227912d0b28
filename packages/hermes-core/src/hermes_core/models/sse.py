"""Server-sent events: bytes in, events out (WHATWG HTML, section 9.2). No I/O."""

from __future__ import annotations

import msgspec

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event, and of what may wait for its end."""


class SseEvent(msgspec.Struct, frozen=True, gc=False):
    """One event. `data` is UTF-8 bytes, its lines joined by a newline; `name` is empty for a plain message."""

    data: bytes
    name: bytes = b""


class EventTooLong(ValueError):
    """An event is longer than the parser accepts."""


class SseParser:
    """Parses a stream that comes in pieces of any size.

    Lines end in LF, CR or CRLF; only these do, so U+2028 and its kind stay in the text. Comments, ids and retry
    times are skipped. `limit` bounds one event, in bytes.
    """

    def __init__(self, limit: int = MAX_EVENT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._after_cr = False
        self._fresh = True

    def feed(self, data: bytes) -> list[SseEvent]:
        """Return the events that `data` completes. Raises EventTooLong."""
        if self._after_cr and data[:1] == b"\n":
            data = data[1:]
            self._after_cr = False
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        elif data:
            self._after_cr = False
        buffer = self._buffer
        buffer += data
        end = buffer.rfind(b"\n\n", self._scanned)
        if end < 0:
            self._scanned = max(0, len(buffer) - 1)
            self._check(len(buffer))
            return []
        whole = bytes(buffer[:end])
        del buffer[: end + 2]
        self._scanned = max(0, len(buffer) - 1)
        self._check(len(buffer))
        return self._events(whole)

    def close(self) -> list[SseEvent]:
        """Return what stands at the end without its blank line. Servers that forget it are common."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self._scanned = 0
        return self._events(rest)

    def _events(self, whole: bytes) -> list[SseEvent]:
        if self._fresh:
            self._fresh = False
            whole = whole.removeprefix(b"\xef\xbb\xbf")
        events: list[SseEvent] = []
        for block in whole.split(b"\n\n"):
            if block[:6] == b"data: " and b"\n" not in block:
                self._check(len(block))
                events.append(SseEvent(block[6:]))
            elif block:
                self._check(len(block))
                event = _event(block)
                if event is not None:
                    events.append(event)
        return events

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise EventTooLong(f"an event is longer than {self._limit:,} bytes")


def _event(block: bytes) -> SseEvent | None:
    lines: list[bytes] = []
    name = b""
    for line in block.split(b"\n"):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            lines.append(value)
        elif field == b"event":
            name = value
    return SseEvent(b"\n".join(lines), name) if lines else None
