"""What models an endpoint offers, asked with its own key."""

from __future__ import annotations

from hermes_core.models.discover import MAX_MODELS, model_names
from hermes_core.models.provider import Endpoint

LIST_TIMEOUT = 3.0


async def list_models(endpoint: Endpoint, timeout: float = LIST_TIMEOUT) -> tuple[str, ...]:
    """Return the names of the models that `GET {base_url}/models` lists, at most 1,000; empty if it does not answer.

    The endpoint's key is sent, so it is for endpoints that a person has configured. `timeout` is in seconds, overall.
    """
    import anyio
    import httpx2

    headers = {"Accept": "application/json", **endpoint.headers}
    if endpoint.api_key:
        headers["Authorization"] = f"Bearer {endpoint.api_key}"
    url = f"{endpoint.base_url.rstrip('/')}/models"
    with anyio.move_on_after(timeout):
        try:
            async with httpx2.AsyncClient(timeout=timeout, follow_redirects=False) as client:
                answer = await client.get(url, headers=headers)
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
            return ()
        return model_names(answer.content)[:MAX_MODELS] if answer.status_code == 200 else ()
    return ()
