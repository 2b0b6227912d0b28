"""The one table from the core's errors to the protocol's."""

from __future__ import annotations

from typing import Any

from hermes_core.content import bounded
from hermes_core.errors import AuthFailed, HermesError, InvalidInput, NoModelError, SessionNotFound
from hermes_core.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError

from hermes_acp import limits
from hermes_acp.wire.shape import AUTH_REQUIRED, RESOURCE_NOT_FOUND

# Editors open their login for this code, and show our text with it.
_AUTH_CODES = frozenset({NoModelError.code, AuthFailed.code})


class InvalidParams(Exception):
    """Parameters that cannot be used; `path` names the field, empty for the whole."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.path = path


def rpc_error(error: HermesError | InvalidParams) -> RpcError:
    """Return the error object that answers a request which failed with `error`."""
    match error:
        case InvalidParams():
            return described(INVALID_PARAMS, str(error), field=error.path)
        case InvalidInput():
            return described(
                INVALID_PARAMS, f"{error.field}: {error}" if error.field else str(error), field=error.field
            )
        case SessionNotFound():
            return described(RESOURCE_NOT_FOUND, error.message)
        case _:
            return failure(error.message, error.code)


def failure(message: str, code: str) -> RpcError:
    """Return the error of something that failed with a code of the core's, such as a turn."""
    return described(AUTH_REQUIRED if code in _AUTH_CODES else INTERNAL_ERROR, message, code=code)


def described(number: int, message: str, **data: Any) -> RpcError:
    """Return an error object. Some editors show only `data.details`, so the sentence stands there too.

    Both are bounded: a sentence may quote what the client or a provider sent, however long.
    """
    message = bounded(message, limits.ERROR_TEXT)
    return RpcError(number, message, {"details": message, **{key: value for key, value in data.items() if value}})
