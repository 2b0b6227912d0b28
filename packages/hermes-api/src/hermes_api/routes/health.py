"""GET /health and /v1/health: the one thing that needs no key."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from hermes_api import __version__
from hermes_api.routes.answers import send_json


class Health:
    """Says that the server answers, and which version it is."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, {"status": "ok", "platform": "hermes-agent", "version": __version__})


def routes() -> list[BaseRoute]:
    """Return the routes of this file."""
    return [Route(path, Health(), methods=["GET"]) for path in ("/health", "/v1/health")]
