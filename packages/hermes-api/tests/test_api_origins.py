"""Foreign web pages and rebound names reach nothing; allowed origins get what browsers need."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2
import pytest
from hermes_api.testing import api_server
from hermes_core.serving.hosts import HostList

ROUTES = [
    ("GET", "/health"),
    ("GET", "/v1/models"),
    ("GET", "/v1/capabilities"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/runs"),
    ("GET", "/v1/runs/run_1/events"),
    ("GET", "/nothing"),
]
BODY = {"messages": [{"role": "user", "content": "hi"}], "input": "hi"}
ALLOWED = "https://chat.example"


@pytest.mark.anyio
async def test_an_origin_that_is_not_listed_reaches_no_route_even_with_the_key(hermes_home: Path) -> None:
    """HA-143, HA-149, HA-150: refused against a fixed list; look-alikes of the server's own address too."""
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        origins = [
            "https://evil.test",
            "null",
            "file://",
            api.url,
            f"http://localhost:{api.port + 1}",
            "http://127.0.0.1.evil.test",
            "http://127.0.0.1.",
            "http://user@127.0.0.1",
        ]
        for origin in origins:
            for method, path in ROUTES:
                reply = await http.request(method, api.url + path, json=BODY, headers={"Origin": origin})
                assert reply.status_code == 403, (origin, path)
                assert reply.json()["error"]["code"] == "origin_not_allowed"
                assert "access-control-allow-origin" not in reply.headers
            preflight = await http.request(
                "OPTIONS", f"{api.url}/v1/runs", headers={"Origin": origin, "Access-Control-Request-Method": "POST"}
            )
            assert preflight.status_code == 403
        assert api.model.requests == []


@pytest.mark.anyio
async def test_a_foreign_host_reaches_no_route_and_the_loopback_names_do(hermes_home: Path) -> None:
    """HA-146: also where Origin and Host agree with each other (HA-149)."""
    async with api_server(hermes_home, environ={"API_SERVER_ALLOWED_HOSTS": "box.lan"}) as api:
        async with httpx2.AsyncClient(headers=api.headers) as http:
            for host in (
                "evil.test",
                f"evil.test:{api.port}",
                "127.0.0.1.evil.test",
                "localhost.",
                "10.0.0.5",
                "[::2]",
            ):
                for method, path in ROUTES:
                    reply = await http.request(method, api.url + path, json=BODY, headers={"Host": host})
                    assert reply.status_code == 421, (host, path)
                    assert reply.json()["error"]["code"] == "host_not_allowed"
            for host in (
                "127.0.0.1",
                "LOCALHOST",
                f"localhost:{api.port}",
                f"[::1]:{api.port}",
                "Box.Lan",
                "127.0.0.2",
            ):
                assert (await http.get(f"{api.url}/v1/models", headers={"Host": host})).status_code == 200
            both = {"Host": "evil.test:80", "Origin": "http://evil.test:80"}
            assert (await http.get(f"{api.url}/v1/models", headers=both)).status_code in (403, 421)
        assert api.model.requests == []


@pytest.mark.anyio
async def test_an_allowed_origin_sees_the_allow_header_on_every_answer(hermes_home: Path) -> None:
    """HA-121: preflight, stream, errors of every kind; Vary is set."""
    lines = [f"gateway: {{api_server: {{cors_origins: ['{ALLOWED}']}}}}"]
    async with (
        api_server(hermes_home, config=lines) as api,
        httpx2.AsyncClient(headers=api.headers | {"Origin": ALLOWED}) as http,
    ):
        answers = [
            await http.get(f"{api.url}/v1/models"),
            await http.get(f"{api.url}/nothing"),
            await http.get(f"{api.url}/v1/models", headers={"Authorization": "Bearer wrong"}),
            await http.post(f"{api.url}/v1/chat/completions", json={**BODY, "stream": True}),
            await http.post(f"{api.url}/v1/chat/completions", content=b"{"),
            await http.post(f"{api.url}/v1/chat/completions", content=b" " * 10_000_001),
            await http.get(f"{api.url}/v1/runs/run_1/events"),
        ]
        preflight = await http.request(
            "OPTIONS",
            f"{api.url}/v1/chat/completions",
            headers={
                "Authorization": "",
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,x-stainless-os",
                "Access-Control-Request-Private-Network": "true",
            },
        )
    assert [reply.status_code for reply in answers] == [200, 404, 401, 200, 400, 413, 404]
    for reply in [*answers, preflight]:
        assert reply.headers["access-control-allow-origin"] == ALLOWED
        assert reply.headers["vary"] == "Origin"
    assert "X-Hermes-Session-Id" in answers[3].headers["access-control-expose-headers"]
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-headers"] == "authorization,x-stainless-os"
    assert preflight.headers["access-control-allow-private-network"] == "true"
    assert "DELETE" in preflight.headers["access-control-allow-methods"]


@pytest.mark.anyio
async def test_a_star_allows_every_origin(hermes_home: Path) -> None:
    async with (
        api_server(hermes_home, environ={"API_SERVER_CORS_ORIGINS": "*"}) as api,
        httpx2.AsyncClient(headers=api.headers) as http,
    ):
        reply = await http.get(f"{api.url}/v1/models", headers={"Origin": "null"})
    assert reply.headers["access-control-allow-origin"] == "*"
    assert "vary" not in reply.headers


@pytest.mark.parametrize(
    ("listening", "host", "allowed"),
    [
        ("0.0.0.0", b"192.168.1.7:8642", True),
        ("0.0.0.0", b"box.lan", False),
        ("::", b"[fd00::7]:8642", True),
        ("192.168.1.7", b"192.168.1.7", True),
        ("192.168.1.7", b"192.168.1.8", False),
        ("192.168.1.7", b"localhost:1", True),
        ("127.0.0.1", b"", False),
        ("127.0.0.1", b"[::1", True),
        ("127.0.0.1", b"127.1", False),
        ("127.0.0.1", b"2130706433", False),
    ],
)
def test_a_server_on_all_addresses_is_called_by_address_but_by_no_foreign_name(
    listening: str, host: bytes, allowed: bool
) -> None:
    """HA-146: rebinding needs a name."""
    assert HostList(listening).allows(host) is allowed


@pytest.mark.anyio
async def test_a_websocket_is_not_opened(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api, await anyio.connect_tcp("127.0.0.1", api.port) as client:
        await client.send(
            b"GET /v1/browser-control/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert (await client.receive()).startswith(b"HTTP/1.1 403 ")
