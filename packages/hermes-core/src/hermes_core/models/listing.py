"""What models an endpoint offers, asked with its own key."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from hermes_core.models.discover import MAX_ANSWER, MAX_MODELS, model_names
from hermes_core.models.provider import Endpoint

if TYPE_CHECKING:
    import httpx2

LIST_TIMEOUT = 3.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


async def list_models(endpoint: Endpoint, timeout: float = LIST_TIMEOUT) -> tuple[str, ...]:
    """Return the names of the models that `GET {base_url}/models` lists, at most 1,000; empty if it does not answer.

    The endpoint's key is sent, so it is for endpoints that a person has configured. `timeout` is in seconds, for the
    whole of the call. Redirects are not followed, and more than 1 MiB is not read.
    """
    try:
        client = await anyio.to_thread.run_sync(_client, endpoint)
    except ValueError:  # an address or a key that no request can hold
        return ()
    import httpx2

    body = bytearray()
    async with client:
        with anyio.move_on_after(timeout):
            try:
                async with client.stream("GET", f"{endpoint.base_url.rstrip('/')}/models") as answer:
                    if answer.status_code != 200:
                        return ()
                    async for data in answer.aiter_bytes():
                        body += data
                        if len(body) > MAX_ANSWER:
                            return ()
            except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
                return ()
            return model_names(bytes(body))[:MAX_MODELS]
    return ()


def _client(endpoint: Endpoint) -> httpx2.AsyncClient:
    """Return a client for one question. It is made in a thread: the library and the certificates take their time."""
    import httpx2

    headers = {"Accept": "application/json", **endpoint.headers}
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    place = urlsplit(endpoint.base_url)
    return httpx2.AsyncClient(
        headers=headers,
        verify=place.scheme == "https",
        trust_env=place.hostname not in _LOOPBACK,
        timeout=None,
        follow_redirects=False,
    )
