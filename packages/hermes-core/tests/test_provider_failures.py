"""Failures of providers: which error each becomes, what its sentence says, and what it never says."""

from __future__ import annotations

from typing import Any

import pytest
from hermes_core.errors import (
    AuthFailed,
    ConfigError,
    ContentFiltered,
    ContextOverflow,
    ProviderError,
    ProviderUnreachable,
    RateLimited,
    Unsupported,
)
from hermes_core.models.openai_chat import OpenAIChatProvider
from hermes_core.models.provider import Endpoint
from hermes_core.testing import Answer, Cut, ScriptedModel, answer, refusal
from provider_calls import KEY, ask, endpoint_of, provider_of

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("status", "message", "code", "kind", "retryable"),
    [
        (401, "Incorrect API key provided", "invalid_api_key", AuthFailed, False),
        (403, "Not allowed", None, AuthFailed, False),
        (402, "Insufficient credits", None, RateLimited, False),
        (429, "Slow down", "rate_limit_exceeded", RateLimited, True),
        (429, "Request too large: tokens per min limit", None, RateLimited, True),
        (429, "You exceeded your current quota", "insufficient_quota", RateLimited, False),
        (400, "This model's maximum context length is 8192 tokens.", "context_length_exceeded", ContextOverflow, False),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", None, ContextOverflow, False),
        (400, "the request exceeds the available context size", None, ContextOverflow, False),
        (413, "Request too large", None, ContextOverflow, False),
        (400, "The response was filtered", "content_filter", ContentFiltered, False),
        (403, "Input flagged by moderation", None, ContentFiltered, False),
        (400, "This model does not support image input", None, Unsupported, False),
        (404, "No endpoints found that support tool use", None, Unsupported, False),
        (404, "The model does not exist", "model_not_found", ProviderError, False),
        (400, "temperature is out of range", None, ProviderError, False),
        (409, "Conflict", None, ProviderError, True),
        (500, "Oops", None, ProviderError, True),
        (503, "Overloaded", None, ProviderError, True),
        (529, "Overloaded", None, ProviderError, True),
    ],
)
async def test_each_status_and_code_becomes_one_of_our_errors(
    status: int, message: str, code: str | None, kind: type[ProviderError], retryable: bool
) -> None:
    async with ScriptedModel([refusal(status, message, code=code)]) as model, provider_of(model, retries=0) as provider:
        with pytest.raises(ProviderError) as raised:
            await ask(provider)
    error = raised.value
    assert (type(error), error.status, error.retryable) == (kind, status, retryable)
    assert error.message.endswith(".") or message in error.message


@pytest.mark.parametrize(
    ("headers", "wish"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "9", "Retry-After-Ms": "250"}, 0.25),
        ({"Retry-After": "Tue, 01 Dec 2026 10:00:30 GMT", "Date": "Tue, 01 Dec 2026 10:00:00 GMT"}, 30.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After-Ms": "soon"}, None),
        ({}, None),
    ],
)
async def test_the_providers_own_wish_to_wait_is_handed_on(headers: dict[str, str], wish: float | None) -> None:
    slow = Answer(status=429, error={"message": "Slow down"}, headers=headers)
    async with ScriptedModel([slow]) as model, provider_of(model, retries=0) as provider:
        with pytest.raises(RateLimited) as raised:
            await ask(provider)
    assert raised.value.retry_after == wish


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
@pytest.mark.parametrize("body", ['{"error":{"message":"bad %s"}}', "bad %s", '{"detail":"bad %s"}', '["%s"]'])
async def test_no_error_text_holds_a_key(status: int, body: str) -> None:
    """HA-145: neither ours, when the provider says it back, nor one that only looks like a key."""
    echo = body % f"{KEY} other-secret Bearer abc.def sk-proj-abcdefgh12345678 AIzaSyA1234567890"
    async with ScriptedModel([Answer(status=status, body=echo)]) as model:
        provider = OpenAIChatProvider(endpoint_of(model, headers={"X-Key": "other-secret"}), retries=0)
        with pytest.raises(ProviderError) as raised:
            await ask(provider)
        await provider.aclose()
    text = str(raised.value) + repr(raised.value)
    assert not [secret for secret in (KEY, "other-secret", "abc.def", "abcdefgh", "AIzaSy") if secret in text]


async def test_long_words_of_a_provider_are_cut() -> None:
    async with ScriptedModel([refusal(400, "x" * 100_000)]) as model, provider_of(model) as provider:
        with pytest.raises(ProviderError) as raised:
            await ask(provider)
    assert len(raised.value.message) < 700


async def test_an_error_body_that_breaks_off_is_still_a_failure_of_ours() -> None:
    broken = Answer(status=400, body="", headers={"Content-Length": "100"})
    async with ScriptedModel([broken]) as model, provider_of(model, silence=0.2, retries=0) as provider:
        with pytest.raises(ProviderError):
            await ask(provider)


@pytest.mark.parametrize("text", ["Unknown parameter: stream_options.", "include_usage is not permitted"])
async def test_a_stream_refused_for_its_usage_is_asked_for_without_this_once(text: str) -> None:
    """HA-040."""
    script = [refusal(400, text), answer("one"), answer("two")]
    async with ScriptedModel(script) as model, provider_of(model) as provider:
        assert [(await ask(provider)).text, (await ask(provider)).text] == ["one", "two"]
    sent = [(request.get("stream"), "stream_options" in request) for request in model.requests]
    assert sent == [(True, True), (True, False), (True, True)]


async def test_a_refused_stream_is_asked_for_whole_this_once() -> None:
    """HA-040."""
    script = [refusal(400, "Streaming is not supported right now."), answer("one"), answer("two")]
    async with ScriptedModel(script) as model, provider_of(model) as provider:
        assert [(await ask(provider)).text, (await ask(provider)).text] == ["one", "two"]
    assert [request.get("stream") for request in model.requests] == [True, None, True]


async def test_a_refusal_that_no_other_way_of_asking_helps_is_told() -> None:
    """HA-040."""
    async with ScriptedModel([refusal(400, "stream is wrong")] * 3) as model, provider_of(model) as provider:
        with pytest.raises(ProviderError, match="stream is wrong"):
            await ask(provider)
        assert model.counts["requests"] == 2


async def test_a_web_page_and_a_redirect_say_that_the_address_is_wrong() -> None:
    async with ScriptedModel() as other, ScriptedModel() as model:
        location = {"Location": f"{other.base_url}/chat/completions"}
        model.add(answer("<html>", content_type="text/html"), Answer(status=307, headers=location))
        async with provider_of(model) as provider:
            with pytest.raises(ProviderError, match="web page"):
                await ask(provider)
            with pytest.raises(ProviderError, match="another address"):
                await ask(provider)
        assert other.counts["requests"] == 0


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with ScriptedModel() as model:
        endpoint = endpoint_of(model)
    provider = OpenAIChatProvider(endpoint, retries=0)
    with pytest.raises(ProviderUnreachable, match=r"custom cannot be reached at 127\.0\.0\.1:\d+"):
        await ask(provider)
    await provider.aclose()


async def test_a_connection_that_breaks_before_the_answer_is_made_again_and_then_given_up() -> None:
    async with ScriptedModel([answer(Cut(early=True))] * 2) as model, provider_of(model, retries=1) as provider:
        with pytest.raises(ProviderUnreachable):
            await ask(provider)
        assert model.counts["requests"] == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"api_key": "sk-secret\nkey"},
        {"api_key": "sk-schlüssel"},
        {"headers": {"X-Title": "sk-secret\r\nkey"}},
        {"base_url": "127.0.0.1:8000/v1"},
        {"base_url": "file:///etc/passwd"},
        {"base_url": "http://"},
        {"base_url": ""},
    ],
)
async def test_an_address_key_or_header_that_cannot_be_is_named_and_not_shown(wrong: dict[str, Any]) -> None:
    options: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", **wrong}
    endpoint = Endpoint(provider="custom", model="m", **options)
    with pytest.raises(ConfigError, match="custom") as raised:
        await ask(OpenAIChatProvider(endpoint))
    assert "sk-" not in str(raised.value)
