"""Provider failures told apart: from a status and whatever body came with it to one of our errors."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from hermes_core.content import bounded
from hermes_core.errors import (
    AuthFailed,
    ContentFiltered,
    ContextOverflow,
    ProviderError,
    RateLimited,
    Unsupported,
)
from hermes_core.models.provider import Endpoint

MAX_DETAIL = 500
"""Characters of the provider's own words in our sentence."""

_OVERFLOW = re.compile(
    r"context.?length|context.?window|context.?size|maximum context|too many (input )?tokens|prompt is too long"
    r"|(input|prompt|request|message)s? (is |are )?too (long|large)|reduce the length|exceeds? the (model'?s )?"
    r"(maximum|max|available|limit)[^.]*(token|context)|n_ctx|input token count|token limit",
    re.IGNORECASE,
)
_FILTERED = re.compile(
    r"content.?filter|content.?policy|responsibleai|moderation|safety|bio_policy|policy.violation|usage polic",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(
    r"insufficient.?(quota|credit|balance|funds)|exceeded your current quota|billing", re.IGNORECASE
)
_RATE = re.compile(r"rate.?limit|too many requests|throttl|tokens per min|requests per min", re.IGNORECASE)
_KEY = re.compile(r"invalid.?api.?key|incorrect api key|unauthorized|authentication|permission.?denied", re.IGNORECASE)
_CANNOT = re.compile(
    r"(image|vision|multi-?modal|tool|function.?call)[^.]*(not support|unsupported|not enabled)"
    r"|(not support|unsupported|that support|not a)[^.]*(image|vision|multi-?modal|tool|function)",
    re.IGNORECASE,
)
_BUSY = re.compile(r"overload|server.?error|internal.?error|unavailable|temporar|try again|time.?out", re.IGNORECASE)
_SECRET = re.compile(r"\b(?:sk|pk|rk|gsk|xai|hf|key|nvapi|AIza)[-_][\w*.-]{4,}|\bBearer\s+\S+|\bAIza[\w*-]{8,}")


class Trouble(msgspec.Struct, frozen=True):
    """What a provider said of its failure. `status` is the HTTP status, or the number it used as its code."""

    status: int | None = None
    code: str = ""
    message: str = ""
    retry_after: float | None = None


def trouble_of(body: object, status: int | None = None, retry_after: float | None = None) -> Trouble:
    """Read an error body of any of the usual shapes: `{"error": {...}}`, the inner object alone, or a text."""
    inner: object = body
    if isinstance(inner, dict):
        outer = cast("dict[str, Any]", inner)
        inner = outer.get("error") or outer
    if not isinstance(inner, dict):
        return Trouble(status, "", str(inner or ""), retry_after)
    error = cast("dict[str, Any]", inner)
    code, kind, message = error.get("code"), error.get("type"), error.get("message") or error.get("detail") or ""
    number = error.get("status") if isinstance(error.get("status"), int) else code
    if status is None and str(number).isdigit() and 400 <= int(str(number)) < 600:
        status = int(str(number))
    words = " ".join(str(word) for word in (code, kind) if word and not isinstance(word, int))
    return Trouble(status, words, str(message), retry_after)


def failure(endpoint: Endpoint, trouble: Trouble) -> ProviderError:
    """Return the error for what a provider said. Its sentence holds no key, and at most 500 characters of theirs."""
    error = _told(endpoint, trouble)
    error.status, error.retry_after = trouble.status, trouble.retry_after
    return error


def _told(endpoint: Endpoint, trouble: Trouble) -> ProviderError:
    status, name = trouble.status, endpoint.provider
    text = f"{trouble.code} {trouble.message}"
    detail = _detail(endpoint, trouble)
    if status == 402 or _NO_CREDIT.search(text):
        return RateLimited(f"The account at {name} has no credit left{detail}", retryable=False)
    if status == 429 or (status is None and _RATE.search(text)):
        return RateLimited(f"{name} asks us to slow down{detail}")
    if status == 401 or (status is None and _KEY.search(text)):
        return AuthFailed(f"{name} refused the API key. Check the key that is set for {name}.")
    if status in (None, 400, 413, 422, 500) and _OVERFLOW.search(text):
        return ContextOverflow(f"The conversation is longer than {endpoint.model} can read{detail}")
    if status in (None, 400, 403, 422) and _FILTERED.search(text):
        return ContentFiltered(f"The content filter of {name} refused the request{detail}")
    if status == 403:
        return AuthFailed(f"{name} does not allow this key to use {endpoint.model}.")
    if status in (None, 400, 404, 422) and _CANNOT.search(text):
        return Unsupported(f"{endpoint.model} cannot do what was asked{detail}")
    if status == 404:
        return ProviderError(f"{name} knows no model {endpoint.model!r}, or its base URL is wrong{detail}")
    if status is not None and 300 <= status < 400:
        return ProviderError(f"{name} sends us to another address. Set its base URL to where it really is.")
    retryable = status in (408, 409) or (status or 0) >= 500 or (status is None and bool(_BUSY.search(text)))
    number = f" with {status}" if status else ""
    return ProviderError(f"{name} failed{number}{detail}", retryable=retryable)


def without_secrets(endpoint: Endpoint, text: str) -> str:
    """Return `text` without the endpoint's key, its header values, and what looks like a key."""
    for secret in (endpoint.api_key, *endpoint.headers.values()):
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    return _SECRET.sub("***", text)


def _detail(endpoint: Endpoint, trouble: Trouble) -> str:
    words = " ".join(without_secrets(endpoint, trouble.message or trouble.code).split())
    return f": {bounded(words, MAX_DETAIL)}" if words else "."
