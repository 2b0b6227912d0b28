"""From errors to HTTP: one table from the core's codes, one envelope for everything that goes wrong.

The envelope is `{"error": {"message", "type", "param", "code"}}`, always with all four keys.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus

import msgspec
from hermes_core.config.redaction import redact
from hermes_core.errors import HermesError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

log = logging.getLogger(__name__)

BAD_REQUEST = "invalid_request_error"
SERVER = "server_error"
RATE = "rate_limit_error"

TABLE: dict[str, tuple[int, str]] = {
    "internal": (500, SERVER),
    "config": (500, SERVER),
    "no_model": (503, SERVER),
    "invalid_input": (400, BAD_REQUEST),
    "session_not_found": (404, BAD_REQUEST),
    "session_busy": (409, BAD_REQUEST),
    "session_held": (409, BAD_REQUEST),
    "session_closed": (503, SERVER),
    "cut_refused": (409, BAD_REQUEST),
    "slow_reader": (503, SERVER),
    "question_not_open": (409, BAD_REQUEST),
    "answer_not_offered": (400, BAD_REQUEST),
    "store": (500, SERVER),
    "store_busy": (503, SERVER),
    "store_conflict": (409, BAD_REQUEST),
    "tool_failed": (500, SERVER),
    "budget": (502, SERVER),
    "truncated": (502, SERVER),
    "interrupted": (503, SERVER),
    "provider_error": (502, SERVER),
    # The provider refused the server's key: to the client that is a broken gateway, not its own key.
    "auth": (502, SERVER),
    "rate_limited": (429, RATE),
    "provider_unreachable": (502, SERVER),
    "stream_broken": (502, SERVER),
    "empty_answer": (502, SERVER),
    "context_overflow": (400, BAD_REQUEST),
    "content_filter": (400, BAD_REQUEST),
    "unsupported": (400, BAD_REQUEST),
}
"""Code of the core -> HTTP status and error type. A code that is not here is `internal`."""

_PRIVATE = frozenset({"internal", "config", "store"})
"""Codes whose messages speak of the server's own files; clients get a general sentence instead."""


class ApiError(Exception):
    """An answer other than 2xx. `code` is a word, `param` the field at fault, `retry_after` whole seconds."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        *,
        type: str = "",
        param: str | None = None,
        retry_after: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.type = type or (BAD_REQUEST if status < 500 else SERVER)
        self.param = param
        self.headers = dict(headers or {})
        if retry_after:
            self.headers["Retry-After"] = str(retry_after)


class ErrorBody(msgspec.Struct, frozen=True):
    """What is inside the envelope."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorEnvelope(msgspec.Struct, frozen=True):
    """The body of every error answer."""

    error: ErrorBody


class Refusals:
    """Turns errors into answers; knows the configured secrets, so that no message can carry one out."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = frozenset(secrets)

    def of_core(self, error: HermesError) -> ApiError:
        """Return the answer for an error of the core."""
        return self.of_code(error.code, error.message, param=getattr(error, "field", "") or None)

    def of_code(self, code: str, message: str, *, param: str | None = None) -> ApiError:
        """Return the answer for a code of the core, such as a failed turn carries."""
        status, kind = TABLE.get(code, TABLE["internal"])
        retry_after = 1 if status in (429, 503) else 0
        return ApiError(status, self.sentence(code, message), code, type=kind, param=param, retry_after=retry_after)

    def sentence(self, code: str, message: str) -> str:
        """Return what a client may read of `message`."""
        if code in _PRIVATE or code not in TABLE:
            return "The server failed to do this; its log says why."
        return redact(message, self._secrets)

    async def core_error(self, _request: Request, error: Exception) -> Response:
        """Answer a HermesError (a handler for Starlette)."""
        assert isinstance(error, HermesError)
        answer = self.of_core(error)
        if answer.status >= 500:
            log.error("request failed: %s: %s", error.code, error.message)
        return refusal(answer)

    async def http_error(self, request: Request, error: Exception) -> Response:
        """Answer what Starlette's router raises: unknown paths and methods (a handler for Starlette)."""
        assert isinstance(error, HTTPException)
        return refusal(_of_router(request, error))

    async def api_error(self, _request: Request, error: Exception) -> Response:
        """Answer an ApiError (a handler for Starlette)."""
        assert isinstance(error, ApiError)
        return refusal(error)

    async def crash(self, _request: Request, _error: Exception) -> Response:
        """Answer whatever else happened; Starlette raises it again, so that it is logged with its traceback."""
        return refusal(self.of_code("internal", ""))


def envelope(error: ApiError) -> bytes:
    """Return the JSON body of an error answer."""
    return msgspec.json.encode(ErrorEnvelope(ErrorBody(error.message, error.type, error.param, error.code)))


def refusal(error: ApiError) -> Response:
    """Return an error as a response."""
    return Response(envelope(error), error.status, error.headers, "application/json")


def invalid(message: str, param: str, code: str | None = None) -> ApiError:
    """Return a 400 that names the field at fault."""
    return ApiError(400, message, code, param=param)


def _of_router(request: Request, error: HTTPException) -> ApiError:
    headers = dict(error.headers or {})
    path = request.url.path
    if error.status_code == HTTPStatus.NOT_FOUND:
        return ApiError(404, f"There is nothing at {path[:200]}.", "not_found", headers=headers)
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        message = f"{request.method} is not possible at {path[:200]}."
        return ApiError(405, message, "method_not_allowed", headers=headers)
    return ApiError(error.status_code, HTTPStatus(error.status_code).phrase, None, headers=headers)
