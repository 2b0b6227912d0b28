"""Exceptions of the `openai` package and its HTTP library, as our errors. Importing this module loads both."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from typing import assert_never
from urllib.parse import urlsplit

import httpx2
import openai

from hermes_core.errors import ProviderError, ProviderUnreachable, StreamBroken
from hermes_core.models.failures import failure, trouble_of
from hermes_core.models.provider import Endpoint

FAILURES = (openai.OpenAIError, httpx2.HTTPError)
"""What sending a request, and reading its answer, can raise."""


def failure_of(endpoint: Endpoint, error: openai.OpenAIError | httpx2.HTTPError, silence: float) -> ProviderError:
    """Return the error for what happened before the answer began. `silence` is the time-out, in seconds."""
    name, where = endpoint.provider, urlsplit(endpoint.base_url).netloc.rpartition("@")[2]
    match error:
        case openai.APIStatusError():
            return failure(endpoint, trouble_of(error.body, error.status_code, _retry_after(error.response.headers)))
        case openai.APITimeoutError():
            if isinstance(error.__cause__, (httpx2.ConnectTimeout, httpx2.PoolTimeout)):
                return ProviderUnreachable(f"No connection to {name} at {where} could be made in time.")
            return ProviderUnreachable(f"{name} at {where} sent nothing for {silence:g} seconds.")
        case openai.APIConnectionError():
            return ProviderUnreachable(f"{name} cannot be reached at {where}{_cause(error.__cause__)}.")
        case httpx2.TimeoutException():
            return ProviderUnreachable(f"{name} at {where} sent nothing for {silence:g} seconds.")
        case httpx2.HTTPError():
            return ProviderUnreachable(f"{name} at {where} broke the connection off.")
        case openai.OpenAIError():
            return ProviderError(f"The request to {name} could not be sent ({type(error).__name__}).")
        case _:
            assert_never(error)


def broken(endpoint: Endpoint, error: httpx2.HTTPError, *, started: bool, silence: float) -> ProviderError:
    """Return the error for a body that could not be read to its end; `started` if a byte of it had come."""
    name = endpoint.provider
    if not isinstance(error, httpx2.TimeoutException):
        return StreamBroken(f"The connection to {name} was lost in the middle of the answer.")
    if started:
        return StreamBroken(f"{name} fell silent for {silence:g} seconds in the middle of the answer.")
    return ProviderUnreachable(f"{name} sent nothing for {silence:g} seconds.")


def _cause(cause: BaseException | None) -> str:
    """Say why, where the operating system or TLS said it in words that hold nothing of ours."""
    text = str(cause or "")
    words = ("refused", "name or service", "name resolution", "unreachable", "certificate", "reset")
    return next((f" ({word})" for word in words if word in text.lower()), "")


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Return the provider's wish in seconds: milliseconds of its own header, seconds, or until a date."""
    try:
        if "retry-after-ms" in headers:
            return float(headers["retry-after-ms"]) / 1000
        value = headers.get("retry-after", "")
        return float(value) if value.replace(".", "", 1).isdigit() else _until(value, headers.get("date", ""))
    except ValueError:
        return None


def _until(date: str, now: str) -> float | None:
    # By the provider's own clock: ours may be wrong.
    if not date or not now:
        return None
    return max(0.0, (parsedate_to_datetime(date) - parsedate_to_datetime(now)).total_seconds())
