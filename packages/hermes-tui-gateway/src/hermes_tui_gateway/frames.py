"""Frames: one JSON object, one line, without its line feed."""

from __future__ import annotations

from typing import Any

from hermes_core.content import bounded
from hermes_core.jsonrpc import RpcError, error_line, notification_line, result_line

from hermes_tui_gateway.wire.events import EventParams

MAX_MESSAGE = 2_000
"""Characters of an error's message."""

_ESCAPES = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


def event_line(params: EventParams) -> bytes:
    """Return the frame of an event, without its line feed."""
    return _safe(notification_line("event", params))


def result_frame(identity: bytes, result: Any) -> bytes:
    """Return the frame that answers request `identity`, which is the JSON text of its id."""
    return _safe(result_line(identity, result))


def error_frame(identity: bytes, error: RpcError) -> bytes:
    """Return the frame that refuses request `identity`. Its message may quote what was sent, so it is bounded."""
    return _safe(error_line(identity, RpcError(error.code, bounded(error.message, MAX_MESSAGE), error.data)))


def _safe(line: bytes) -> bytes:
    """Return a frame in which no character stands that some readers take for the end of a line.

    They occur only inside strings of a frame, where the escape means the same.
    """
    for raw, escape in _ESCAPES:
        if raw in line:
            line = line.replace(raw, escape)
    return line
