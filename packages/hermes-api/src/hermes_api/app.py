"""The ASGI application: routes inside, and around them paths, the key, bodies, hosts and origins."""

from __future__ import annotations

from hermes_core.errors import HermesError
from hermes_core.serving.hosts import HostList
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from hermes_api.auth import BearerAuth
from hermes_api.errors import ApiError
from hermes_api.limits import Disconnected, UnreadBodies
from hermes_api.origins import Origins
from hermes_api.paths import NormalPaths
from hermes_api.routes import capabilities, chat, health, models, runs
from hermes_api.service import Service


def build_app(service: Service) -> Starlette:
    """Return the application over `service`, which must be entered while the application is served."""
    settings = service.settings
    return Starlette(
        routes=[
            *chat.routes(service),
            *runs.routes(service),
            *models.routes(service),
            *capabilities.routes(service),
            *health.routes(),
        ],
        middleware=[
            Middleware(UnreadBodies),
            Middleware(Origins, HostList(settings.host, settings.allowed_hosts), settings.cors_origins),
            Middleware(NormalPaths),
            Middleware(BearerAuth, service.key),
        ],
        exception_handlers={
            ApiError: service.refusals.api_error,
            HermesError: service.refusals.core_error,
            HTTPException: service.refusals.http_error,
            Disconnected: _nobody,
            Exception: service.refusals.crash,
        },
    )


async def _nobody(_request: Request, _error: Exception) -> Response:
    """Answer a client that has left; nobody reads it."""
    return Response(status_code=499)
