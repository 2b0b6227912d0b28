"""Identifiers: what each looks like and how it is made (DECISIONS "Home, configuration, store")."""

from __future__ import annotations

import secrets
import time

from hermes_core.errors import InvalidInput

MAX_SESSION_ID = 256
_FORBIDDEN = ("/", "\\", "..", "\0", "\r", "\n")


def stored_session_id(now: float | None = None) -> str:
    """Return a new durable id: `YYYYMMDD_HHMMSS_xxxxxx` in UTC, six random hex digits."""
    stamp = time.strftime("%Y%m%d_%H%M%S", time.gmtime(now))
    return f"{stamp}_{secrets.token_hex(3)}"


def runtime_session_id() -> str:
    """Return a new id of a live session, valid in this process only: 8 hex digits."""
    return secrets.token_hex(4)


def turn_id() -> str:
    """Return a new turn id: `turn_` and 12 hex digits."""
    return f"turn_{secrets.token_hex(6)}"


def request_id() -> str:
    """Return a new question id: 32 hex digits."""
    return secrets.token_hex(16)


def epoch() -> str:
    """Return a new epoch of an event log: 8 hex digits. Cursors of another epoch cannot be compared."""
    return secrets.token_hex(4)


def tool_call_id() -> str:
    """Return an id for a tool call that the provider sent without one."""
    return f"call_{secrets.token_hex(8)}"


def checked_session_id(value: str, field: str = "session_id") -> str:
    """Return `value` if it can name a session, stripped; else raise InvalidInput.

    Ids given by clients may not hold a path separator, `..`, or a control character, and are at most 256
    characters long, so that they are safe in file names, headers and logs on every surface alike.
    """
    value = value.strip()
    if not value:
        raise InvalidInput("The session id is empty.", field)
    if len(value) > MAX_SESSION_ID:
        raise InvalidInput(f"The session id is longer than {MAX_SESSION_ID} characters.", field)
    if any(part in value for part in _FORBIDDEN) or not value.isprintable():
        raise InvalidInput("The session id holds a character that is not allowed.", field)
    return value
