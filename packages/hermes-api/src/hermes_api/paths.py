"""Base URL variants: clients build paths from a base with or without `/v1`, with double and trailing slashes."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

_WITHOUT_V1 = ("/models", "/chat/completions", "/runs", "/capabilities")
_SLASHES = re.compile(r"/{2,}")


def normal_path(path: str) -> str:
    """Return the one path under which a route is served."""
    if "//" in path:
        path = _SLASHES.sub("/", path)
    if len(path) > 1 and path.endswith("/"):
        path = path.rstrip("/") or "/"
    if not path.startswith("/v1/") and any(path == known or path.startswith(known + "/") for known in _WITHOUT_V1):
        path = "/v1" + path
    return path


class NormalPaths:
    """Gives the app inside only normal paths (middleware)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = normal_path(scope["path"])
            if path != scope["path"]:
                scope = {**scope, "path": path, "raw_path": path.encode()}
        await self._app(scope, receive, send)
