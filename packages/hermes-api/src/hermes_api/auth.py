"""Who may call: the bearer key, compared in constant time, on every path but the health check."""

from __future__ import annotations

import hmac

from starlette.types import ASGIApp, Receive, Scope, Send

from hermes_api.errors import ApiError, refusal
from hermes_api.keys import owner_of

OPEN_PATHS = frozenset({"/health", "/v1/health"})
_PREFIX = b"Bearer "


class BearerAuth:
    """Lets requests with the right key through, with `scope["owner"]` set; answers 401 to the rest (middleware).

    The header begins with exactly `Bearer `. Keys in the query or in other headers are not looked at. CORS
    preflights, which browsers send without a key, are answered before they come here.
    """

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._key = key.encode()
        self._owner = owner_of(key)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        if not hmac.compare_digest(bearer_token(scope), self._key):
            await refusal(ApiError(401, "The API key is wrong or missing.", "invalid_api_key"))(scope, receive, send)
            return
        scope["owner"] = self._owner
        await self._app(scope, receive, send)


def bearer_token(scope: Scope) -> bytes:
    """Return the token of the one Authorization header; empty when there is none, or more than one."""
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(values) != 1 or not values[0].startswith(_PREFIX):
        return b""
    return values[0][len(_PREFIX) :].strip()
