"""GET /v1/models and /v1/models/{id}: the one advertised name."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from hermes_api.errors import ApiError
from hermes_api.routes.answers import send_json
from hermes_api.service import Service


class ModelList:
    """Lists the advertised model; no provider is asked, so that it answers at once."""

    def __init__(self, service: Service) -> None:
        self._model = model_object(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, {"object": "list", "data": [self._model]})


class ModelDetail:
    """Answers for the advertised name and for no other."""

    def __init__(self, service: Service) -> None:
        self._model = model_object(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path_params"]["model"]
        if name != self._model["id"]:
            raise ApiError(404, f"There is no model {name[:80]!r} here.", "model_not_found", param="model")
        await send_json(send, self._model)


def model_object(service: Service) -> dict[str, object]:
    """Return the advertised model in OpenAI's shape."""
    name = service.model_name
    return {
        "id": name,
        "object": "model",
        "created": service.started_at,
        "owned_by": "hermes",
        "permission": [],
        "root": name,
        "parent": None,
    }


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of this file."""
    return [
        Route("/v1/models", ModelList(service), methods=["GET"]),
        Route("/v1/models/{model:path}", ModelDetail(service), methods=["GET"]),
    ]
