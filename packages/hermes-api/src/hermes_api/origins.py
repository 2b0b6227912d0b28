"""Where a request may come from: checks of Host and Origin against DNS rebinding, CORS, and security headers.

Nothing here is derived from the request itself: both checks are against fixed lists.
"""

from __future__ import annotations

from hermes_core.serving.hosts import HostList
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hermes_api.errors import ApiError, refusal

Header = tuple[bytes, bytes]

SECURITY: tuple[Header, ...] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"strict-transport-security", b"max-age=31536000; includeSubDomains"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"x-xss-protection", b"0"),
    (b"referrer-policy", b"no-referrer"),
)
_METHODS = b"GET, POST, DELETE, OPTIONS"
_ALLOWED = b"Authorization, Content-Type, Idempotency-Key, X-Hermes-Session-Id, X-Hermes-Session-Key, Last-Event-ID"
_EXPOSED = (
    b"X-Hermes-Session-Id, X-Hermes-Session-Key, X-Hermes-Completed, X-Hermes-Partial, X-Hermes-Error, Retry-After"
)


class Origins:
    """Refuses foreign hosts and origins, answers preflights, adds CORS and security headers (middleware).

    A request without Origin is no cross-site request of a browser and passes. One with an Origin that is not
    listed is refused, whatever its key: `null` and `file://` too, unless they are listed.
    """

    def __init__(self, app: ASGIApp, hosts: HostList, origins: tuple[str, ...]) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = frozenset(origin.strip().rstrip("/").encode() for origin in origins)
        self._any_origin = b"*" in self._origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or not self._hosts.allows(hosts[0]):
            error = ApiError(421, "This host name is not one of this server's.", "host_not_allowed")
            await refusal(error)(scope, receive, _with(send, SECURITY))
            return
        if not origins:
            await self._app(scope, receive, _with(send, SECURITY))
            return
        if len(origins) != 1 or not (self._any_origin or origins[0] in self._origins):
            error = ApiError(403, "Requests from this origin are not allowed (cors_origins).", "origin_not_allowed")
            await refusal(error)(scope, receive, _with(send, SECURITY))
            return
        cors = self._cors(origins[0])
        if scope["method"] == "OPTIONS" and _values(scope, b"access-control-request-method"):
            await _preflight(scope, send, cors)
            return
        await self._app(scope, receive, _with(send, (*SECURITY, *cors, (b"access-control-expose-headers", _EXPOSED))))

    def _cors(self, origin: bytes) -> tuple[Header, ...]:
        if self._any_origin:
            return ((b"access-control-allow-origin", b"*"),)
        return ((b"access-control-allow-origin", origin), (b"vary", b"Origin"))


async def _preflight(scope: Scope, send: Send, cors: tuple[Header, ...]) -> None:
    """Answer a preflight of an allowed origin: whatever headers it asks for are fine, the key decides later."""
    asked = _values(scope, b"access-control-request-headers")
    headers: list[Header] = [
        *cors,
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", asked[0] if asked else _ALLOWED),
        (b"access-control-max-age", b"600"),
        (b"content-length", b"0"),
    ]
    if _values(scope, b"access-control-request-private-network"):
        headers.append((b"access-control-allow-private-network", b"true"))
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key == name]


def _with(send: Send, headers: tuple[Header, ...]) -> Send:
    """Return `send` with `headers` added to the response."""

    async def adding(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
        await send(message)

    return adding
