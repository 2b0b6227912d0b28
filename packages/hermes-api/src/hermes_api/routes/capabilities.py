"""GET /v1/capabilities: what is served, and nothing else."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from hermes_api.limits import MAX_BODY
from hermes_api.routes.answers import send_json
from hermes_api.runs.archive import ENDED_SECONDS
from hermes_api.service import Service

ENDPOINTS: dict[str, tuple[str, str]] = {
    "health": ("GET", "/health"),
    "models": ("GET", "/v1/models"),
    "model": ("GET", "/v1/models/{model}"),
    "chat_completions": ("POST", "/v1/chat/completions"),
    "runs": ("POST", "/v1/runs"),
    "run_status": ("GET", "/v1/runs/{run_id}"),
    "run_events": ("GET", "/v1/runs/{run_id}/events"),
    "run_approval": ("POST", "/v1/runs/{run_id}/approval"),
    "run_steer": ("POST", "/v1/runs/{run_id}/steer"),
    "run_stop": ("POST", "/v1/runs/{run_id}/stop"),
    "capabilities": ("GET", "/v1/capabilities"),
}


class Capabilities:
    """Describes the surface to programs that look before they call."""

    def __init__(self, service: Service) -> None:
        self._body = capabilities(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, self._body)


def capabilities(service: Service) -> dict[str, object]:
    """Return the capability document."""
    settings = service.settings
    return {
        "object": "hermes.api_server.capabilities",
        "platform": "hermes-agent",
        "model": service.model_name,
        "auth": {"type": "bearer", "required": True},
        "runtime": {
            "mode": "server_agent",
            "tool_execution": "server",
            "split_runtime": False,
            "description": "The agent and all of its tools run where this server runs.",
        },
        "features": {
            "chat_completions": True,
            "chat_completions_streaming": True,
            "responses_api": False,
            "responses_streaming": False,
            "run_submission": True,
            "run_status": True,
            "run_events_sse": True,
            "run_stop": True,
            "run_steer": True,
            "run_approval_response": True,
            "tool_progress_events": settings.tool_progress_events,
            "approval_events": True,
            "reasoning_streaming": service.show_reasoning,
            "session_continuity_header": "X-Hermes-Session-Id",
            "cors": bool(settings.cors_origins),
            "max_body_bytes": MAX_BODY,
            "max_concurrent_runs": settings.max_concurrent_runs,
            "run_retention_seconds": int(ENDED_SECONDS),
        },
        "endpoints": {name: {"method": method, "path": path} for name, (method, path) in ENDPOINTS.items()},
    }


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of this file."""
    return [Route("/v1/capabilities", Capabilities(service), methods=["GET"])]
