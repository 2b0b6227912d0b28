"""Every code that a method answers with, and the one table from the core's errors to them.

JSON-RPC's own codes (-32700, -32600, -32601, -32602) stand in `hermes_core.jsonrpc`.
"""

from __future__ import annotations

from typing import Any

from hermes_core.errors import (
    AnswerNotOffered,
    BudgetExceeded,
    ConfigError,
    CutProblem,
    CutRefused,
    HermesError,
    InvalidInput,
    NoModelError,
    ProviderError,
    QuestionError,
    SessionBusy,
    SessionClosed,
    SessionError,
    SessionHeld,
    SessionNotFound,
    StoreError,
)
from hermes_core.jsonrpc import RpcError

INTERNAL = -32000
"""A method failed in a way that is our fault; the traceback is in the log."""

NO_SESSION = 4001
BAD_VALUE = 4002
MALFORMED = 4004
ID_REQUIRED = 4006
NOT_STORED = 4007
BUSY = 4009
"""A turn runs; also: a `*.respond` without a request id."""
BAD_IMAGE = 4015
BAD_FOLDER = 4017
TARGET_GONE = 4018
"""The message to rewind to is not there."""
NOT_A_COMMAND = 4018
TITLE_REQUIRED = 4021
TITLE_REJECTED = 4022
WOULD_EMPTY = 4028
NOT_CONFIRMED = 4029
TARGETS_DISAGREE = 4030
TOO_MANY_SESSIONS = 4090
SESSION_FAILED = 5000
CONFIG_FAILED = 5001
STORE_FAILED = 5006
TITLE_FAILED = 5007
REWIND_FAILED = 5008
NO_MODEL = 5032
LIVE_LIST_FAILED = 5036
SUBMIT_NOT_STORED = 5071

CUT_CODES: dict[CutProblem, int] = {"not_found": TARGET_GONE, "mismatch": TARGETS_DISAGREE, "empty": WOULD_EMPTY}
"""Why a rewind was refused -> code."""

_TABLE: dict[type[HermesError], int] = {
    ConfigError: CONFIG_FAILED,
    NoModelError: NO_MODEL,
    InvalidInput: BAD_VALUE,
    SessionNotFound: NO_SESSION,
    SessionClosed: NO_SESSION,
    SessionBusy: BUSY,
    SessionHeld: BUSY,
    SessionError: SESSION_FAILED,
    AnswerNotOffered: BAD_VALUE,
    QuestionError: BUSY,
    StoreError: STORE_FAILED,
    BudgetExceeded: SESSION_FAILED,
    ProviderError: SESSION_FAILED,
    HermesError: SESSION_FAILED,
}


class WireError(Exception):
    """A method's answer that is an error. The message is a sentence that a host may show."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = RpcError(code, message, data)


def code_of(error: HermesError, store_code: int = STORE_FAILED) -> int:
    """Return the code of a core error: that of its class, else of the nearest class above it.

    `store_code` is what the asking method calls a failure of the store.
    """
    if isinstance(error, StoreError):
        return store_code
    if isinstance(error, CutRefused):
        return CUT_CODES[error.problem]
    return next(_TABLE[kind] for kind in type(error).__mro__ if kind in _TABLE)


def rpc_error(error: HermesError, store_code: int = STORE_FAILED) -> RpcError:
    """Return the error object of a core error. InvalidInput names its field in `data`."""
    data = {"field": error.field} if isinstance(error, InvalidInput) and error.field else None
    return RpcError(code_of(error, store_code), error.message, data)
