"""The `openai` client as we use it. Importing this module loads the package (a third of a second)."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import openai

from hermes_core.errors import ConfigError
from hermes_core.models.provider import Endpoint

KEEP_ALIVE = 30.0
"""Seconds that an unused connection is kept."""
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class _PatientClient(httpx2.AsyncClient):
    """A client whose silence is told at once: the SDK would ask a silent server again, and wait as long again."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            return await super().send(request, **options)
        except httpx2.ReadTimeout:
            raise openai.APITimeoutError(request) from None


def open_client(endpoint: Endpoint, *, silence: float, connect: float, max_retries: int) -> openai.AsyncOpenAI:
    """Return a client of `endpoint`; nothing is sent. Raises ConfigError for an address, key or header that cannot be.

    Redirects are not followed, so that a key goes to no other address than the one that was set. Servers on this
    machine are reached without the proxy of the environment.
    """
    key = endpoint.api_key.strip()
    address = urlsplit(endpoint.base_url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise ConfigError(f"The base URL of {endpoint.provider} is not an http(s) address.")
    for name, value in {"API key": key, **endpoint.headers}.items():
        # The error of the HTTP library would show the value.
        if not value.isascii() or not (value.isprintable() or not value):
            raise ConfigError(f"The {name} of {endpoint.provider} holds a character that no header may hold.")
    http = _PatientClient(
        # Loading the certificates costs a fifth of a second, and plain HTTP has no use for them.
        verify=address.scheme == "https",
        trust_env=address.hostname not in _LOOPBACK,
        timeout=httpx2.Timeout(silence, connect=connect),
        limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=32, keepalive_expiry=KEEP_ALIVE),
        follow_redirects=False,
    )
    client = openai.AsyncOpenAI(
        api_key=key or "none",
        base_url=endpoint.base_url,
        max_retries=max_retries,
        default_headers=endpoint.headers,
        http_client=http,
    )
    # The SDK takes these two from the environment, for whatever address it talks to.
    client.organization = client.project = None
    return client


async def post(client: openai.AsyncOpenAI, path: str, body: bytes, *, stream: bool) -> httpx2.Response:
    """Send a model request; return the response, its body unread. Raises openai.OpenAIError."""
    response = await client.post(
        path,
        cast_to=httpx2.Response,
        content=body,
        options={"headers": {"Content-Type": "application/json", "Accept": "text/event-stream" if stream else "*/*"}},
        stream=True,
        stream_cls=openai.AsyncStream[Any],
    )
    # With a response as `cast_to` the SDK hands it on as it is, whatever its annotation says.
    return cast(httpx2.Response, response)
