"""What is answered before any turn: health, models, keys, paths, bodies, and the one shape of every refusal."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hermes_api.limits import MAX_BODY
from hermes_api.testing import KEY, ApiServer, api_server
from hermes_core.testing import Stall, answer
from openai import AsyncOpenAI, AuthenticationError, NotFoundError

pytestmark = pytest.mark.anyio
Sdk = Callable[[ApiServer], AsyncOpenAI]

ROUTES = [
    ("GET", "/v1/models"),
    ("GET", "/v1/models/hermes-agent"),
    ("GET", "/v1/capabilities"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/runs"),
    ("GET", "/v1/runs/run_1"),
    ("GET", "/v1/runs/run_1/events"),
    ("POST", "/v1/runs/run_1/stop"),
    ("POST", "/v1/runs/run_1/approval"),
    ("POST", "/v1/runs/run_1/steer"),
    ("GET", "/nothing"),
    ("OPTIONS", "/v1/models"),
    ("HEAD", "/v1/models"),
]


def envelope(reply: httpx2.Response) -> dict[str, Any]:
    """Return the error inside a refusal, having checked its shape."""
    assert reply.headers["content-type"] == "application/json"
    body = reply.json()
    assert list(body) == ["error"]
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert body["error"]["message"]
    return body["error"]


async def test_health_needs_no_key_and_every_base_url_works(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api, httpx2.AsyncClient() as http:
        for path in ("/health", "/v1/health", "/health/", "//v1//health"):
            reply = await http.get(api.url + path)
            assert reply.status_code == 200
            assert reply.json()["status"] == "ok"
            assert reply.json()["platform"] == "hermes-agent"
        head = await http.head(f"{api.url}/health")
        assert head.status_code == 200
        assert head.content == b""


async def test_models_name_the_advertised_one(hermes_home: Path, sdk: Sdk) -> None:
    async with api_server(hermes_home, environ={"API_SERVER_MODEL_NAME": "house/agent"}) as api, sdk(api) as ai:
        assert [model.id async for model in ai.models.list()] == ["house/agent"]
        assert (await ai.models.retrieve("house/agent")).owned_by == "hermes"
        with pytest.raises(NotFoundError) as missing:
            await ai.models.retrieve("gpt-9")
        assert missing.value.code == "model_not_found"


async def test_bases_without_v1_and_with_odd_slashes_reach_the_same_routes(hermes_home: Path) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]}
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        for path in ("/models", "/v1/models/", "//models", "/v1//models", "/capabilities"):
            assert (await http.get(api.url + path)).status_code == 200
        for path in ("/chat/completions", "/v1//chat/completions", "/v1/chat/completions/"):
            assert (await http.post(api.url + path, json=body)).status_code == 200


async def test_every_route_but_health_wants_the_key(hermes_home: Path) -> None:
    """HA-142, HA-152: one key, one check, the same refusal everywhere."""
    wrong = [
        {},
        {"Authorization": ""},
        {"Authorization": f"bearer {KEY}"},
        {"Authorization": f"Bearer  {KEY[:-1]}"},
        {"Authorization": KEY},
        {"Authorization": f"Basic {KEY}"},
        {"x-api-key": KEY},
        {"Authorization": b"Bearer \xff\xfe"},
    ]
    async with api_server(hermes_home) as api, httpx2.AsyncClient() as http:
        for method, path in ROUTES:
            for headers in wrong:
                reply = await http.request(method, f"{api.url}{path}?api_key={KEY}", headers=headers)  # pyright: ignore[reportArgumentType]
                assert reply.status_code == 401, (method, path, headers)
                if method != "HEAD":
                    assert envelope(reply)["code"] == "invalid_api_key"
        assert api.model.requests == []


async def test_a_wrong_key_is_an_authentication_error_of_the_official_client(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api, AsyncOpenAI(base_url=f"{api.url}/v1", api_key="wrong") as ai:
        with pytest.raises(AuthenticationError) as refused:
            await ai.models.list()
    assert refused.value.code == "invalid_api_key"


async def test_unknown_paths_and_methods_are_refused_in_json(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        missing = await http.get(f"{api.url}/v1/embeddings")
        assert (missing.status_code, envelope(missing)["code"]) == (404, "not_found")
        wrong = await http.delete(f"{api.url}/v1/chat/completions")
        assert (wrong.status_code, envelope(wrong)["code"]) == (405, "method_not_allowed")
        assert "POST" in wrong.headers["allow"]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/chat/completions", b"[]", None),
        ("/v1/chat/completions", b"", "messages"),
        ("/v1/chat/completions", b"null", None),
        ("/v1/chat/completions", b'{"messages"', None),
        ("/v1/chat/completions", b"\xff\xfe", None),
        ("/v1/chat/completions", b"{}", "messages"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": ' + b"[" * 100_000, None),
        ("/v1/chat/completions", b'{"messages": []}', "messages"),
        ("/v1/chat/completions", b'{"messages": "hi"}', "messages"),
        ("/v1/chat/completions", b'{"messages": ["x"]}', "messages[0]"),
        ("/v1/chat/completions", b'{"messages": [{"content": "x"}]}', "messages[0].role"),
        ("/v1/chat/completions", b'{"messages": [{"role": "king", "content": "x"}]}', "messages[0].role"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": 5}]}', "messages[0].content"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": [5]}]}', "messages[0].content"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": " "}]}', "messages"),
        ("/v1/chat/completions", b'{"messages": [{"role": "system", "content": "x"}]}', "messages"),
        (
            "/v1/chat/completions",
            b'{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}',
            "messages[0].content",
        ),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "x"}], "stream": "true"}', "stream"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "x"}], "n": 2}', "n"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "x"}], "model": 5}', "model"),
        ("/v1/chat/completions", b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 0}', "max_tokens"),
        ("/v1/runs", b"[]", None),
        ("/v1/runs", b"{}", "input"),
        ("/v1/runs", b'{"input": ""}', "input"),
        ("/v1/runs", b'{"input": []}', "input"),
        ("/v1/runs", b'{"input": 5}', "input"),
        ("/v1/runs", b'{"input": "x", "conversation_history": "y"}', "conversation_history"),
        ("/v1/runs", b'{"input": "x", "session_id": "../../etc"}', "session_id"),
        ("/v1/runs", b'{"input": "x", "instructions": 5}', "instructions"),
    ],
)
async def test_a_wrong_body_is_400_and_the_field_is_named(
    hermes_home: Path, path: str, body: bytes, param: str | None
) -> None:
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        reply = await http.post(api.url + path, content=body)
        assert api.model.requests == []
    assert reply.status_code == 400
    assert envelope(reply)["param"] == param


@pytest.mark.parametrize("session_id", ["../../x", "a/b", "..\\x", "x" * 300, "a\x7fb", "%00/.."])
async def test_session_ids_that_could_name_a_path_are_refused(hermes_home: Path, session_id: str) -> None:
    """HA-147"""
    body = {"messages": [{"role": "user", "content": "hi"}]}
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        reply = await http.post(
            f"{api.url}/v1/chat/completions", json=body, headers={"X-Hermes-Session-Id": session_id}
        )
        assert api.model.requests == []
    assert reply.status_code == 400
    assert envelope(reply)["code"] == "invalid_session_id"


def chat_body(size: int) -> bytes:
    """Return a legal chat request of exactly `size` bytes."""
    head = b'{"messages": [{"role": "user", "content": "[[echo ok]]"}], "padding": "'
    return head + b"x" * (size - len(head) - 2) + b'"}'


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    """Yield a body in parts, which sends it chunked."""
    for start in range(0, len(body), 100_000):
        yield body[start : start + 100_000]


async def test_the_body_limit_is_the_same_in_both_encodings(hermes_home: Path) -> None:
    """HA-105: just under works, just over is 413 with an envelope, and the connection is of no more use."""
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers, timeout=30) as http:
        url = f"{api.url}/v1/chat/completions"
        for chunked in (False, True):
            for size, status in ((MAX_BODY, 200), (MAX_BODY + 1, 413), (MAX_BODY * 2, 413)):
                body = chat_body(size)
                reply = await http.post(url, content=pieces(body) if chunked else body)
                assert reply.status_code == status, (chunked, size)
                if status == 413:
                    assert envelope(reply)["code"] == "body_too_large"
        capabilities = (await http.get(f"{api.url}/v1/capabilities")).json()
        assert capabilities["features"]["max_body_bytes"] == MAX_BODY


async def test_a_refused_client_that_still_sends_its_body_reads_the_refusal(hermes_home: Path) -> None:
    """The server reads on for a while, so that neither the answer is lost nor the connection hangs."""
    async with api_server(hermes_home) as api, httpx2.AsyncClient(timeout=30) as http:
        for _ in range(3):
            reply = await http.post(f"{api.url}/v1/chat/completions", content=pieces(chat_body(5_000_000)))
            assert reply.status_code == 401
            assert envelope(reply)["code"] == "invalid_api_key"
        assert (await http.get(f"{api.url}/health")).status_code == 200


async def test_too_many_turns_at_once_are_told_to_come_back(hermes_home: Path) -> None:
    lines = ["gateway: {api_server: {max_concurrent_runs: 1}}"]
    body = {"messages": [{"role": "user", "content": "hi"}]}
    first: list[httpx2.Response] = []
    async with (
        api_server(hermes_home, answer(Stall(), "first"), config=lines) as api,
        httpx2.AsyncClient(headers=api.headers) as http,
        anyio.create_task_group() as tasks,
    ):
        url = f"{api.url}/v1/chat/completions"

        async def ask() -> None:
            first.append(await http.post(url, json=body))

        tasks.start_soon(ask)
        await api.model.wait_for_stall()
        for path, other in ((url, body), (f"{api.url}/v1/runs", {"input": "hi"})):
            reply = await http.post(path, json=other)
            assert reply.status_code == 429
            assert envelope(reply)["type"] == "rate_limit_error"
            assert reply.headers["retry-after"] == "1"
        assert (await http.get(f"{api.url}/health")).status_code == 200
        api.model.release()
    assert first[0].json()["choices"][0]["message"]["content"] == "first"


async def test_every_advertised_endpoint_is_there(hermes_home: Path) -> None:
    """HA-123: what is advertised is served at the advertised path; nothing else is claimed."""
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        document = (await http.get(f"{api.url}/v1/capabilities")).json()
        assert document["object"] == "hermes.api_server.capabilities"
        assert document["auth"] == {"type": "bearer", "required": True}
        for endpoint in document["endpoints"].values():
            path = endpoint["path"].replace("{run_id}", "run_x").replace("{model}", "hermes-agent")
            reply = await http.request(endpoint["method"], api.url + path, content=b"{}")
            unknown = reply.status_code in (404, 405) and reply.json()["error"]["code"] != "run_not_found"
            assert not unknown, endpoint
        assert document["features"]["responses_api"] is False


async def test_security_headers_are_on_every_answer(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        answers = [
            await http.get(f"{api.url}/v1/models"),
            await http.get(f"{api.url}/nothing"),
            await http.post(f"{api.url}/v1/chat/completions", content=b"{"),
            await http.post(
                f"{api.url}/v1/chat/completions",
                json={"messages": [{"role": "user", "content": "hi"}], "stream": True},
            ),
        ]
    for reply in answers:
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert "server" not in reply.headers


async def test_a_crash_is_a_500_that_tells_nothing(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:

        def explode(*_: object, **__: object) -> None:
            raise RuntimeError("the inner secret of the server")

        monkeypatch.setattr("hermes_api.routes.chat.conversation_of", explode)
        reply = await http.post(f"{api.url}/v1/chat/completions", json={"messages": [{"role": "user"}]})
    assert reply.status_code == 500
    assert envelope(reply)["type"] == "server_error"
    assert "inner secret" not in reply.text
    assert "inner secret" in caplog.text


async def test_the_error_envelope_is_plain_json(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        reply = await http.get(f"{api.url}/v1/runs/run_nope")
    assert json.loads(reply.text)["error"] == {
        "message": "There is no run 'run_nope'.",
        "type": "invalid_request_error",
        "param": None,
        "code": "run_not_found",
    }


@pytest.mark.parametrize(
    ("asking", "head"),
    [
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n", b"200"),
        (b"PRI * HTTP/2.0\r\n", b"421"),
    ],
)
async def test_who_asks_for_another_protocol_is_answered_in_this_one(
    hermes_home: Path, asking: bytes, head: bytes
) -> None:
    async with api_server(hermes_home) as api, await anyio.connect_tcp("127.0.0.1", api.port) as client:
        await client.send(asking + b"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n")
        assert (await client.receive()).startswith(b"HTTP/1.1 " + head)


async def test_connections_above_the_limit_are_closed_and_the_server_recovers(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """HA-162: refused cleanly, said once, and well again as soon as others have left."""
    monkeypatch.setattr("hermes_core.serving.connections.most_connections", lambda: 3)
    async with api_server(hermes_home) as api:
        idle = [await anyio.connect_tcp("127.0.0.1", api.port) for _ in range(3)]
        for _ in range(5):
            with pytest.raises((httpx2.TransportError, OSError)):
                async with httpx2.AsyncClient() as http:
                    await http.get(f"{api.url}/health")
        for client in idle:
            await client.aclose()
        with anyio.fail_after(10):
            while not await healthy(api):
                pass
    assert caplog.text.count("further ones are refused") == 1


async def healthy(api: ApiServer) -> bool:
    """Say whether the server answers on a new connection."""
    try:
        async with httpx2.AsyncClient() as http:
            return (await http.get(f"{api.url}/health")).status_code == 200
    except httpx2.TransportError:
        return False
