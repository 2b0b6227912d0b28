"""Model servers on loopback: found by asking, over real sockets."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from hermes_core.config import load_config, set_value
from hermes_core.errors import NoModelError
from hermes_core.models import discover
from hermes_core.models.catalog import KnownProvider
from hermes_core.models.discover import MAX_ANSWER, find_servers
from hermes_core.models.listing import list_models
from hermes_core.models.provider import Endpoint
from hermes_core.models.resolve import Models
from loopback_servers import MakeServer, http, model_servers, models

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give a busy machine time to answer: how long we wait is not what these tests are about."""
    monkeypatch.setattr(discover, "CONNECT_TIMEOUT", 20)
    monkeypatch.setattr(discover, "READ_TIMEOUT", 20)


@pytest.fixture
async def serve() -> AsyncGenerator[MakeServer]:
    async with model_servers() as make:
        yield make


def finder(home: Path, *servers: KnownProvider, **environ: str) -> Models:
    return Models(load_config(home, environ), servers=servers)


async def test_a_server_that_lists_models_answers_when_nothing_is_configured(
    hermes_home: Path, serve: MakeServer
) -> None:
    server = await serve(models("nomic-embed-text", {"id": "qwen3:8b", "max_model_len": 4096}))
    found = finder(hermes_home, server.known())
    endpoint = await found.resolve()
    assert (endpoint.provider, endpoint.model, endpoint.context_length) == ("ollama", "qwen3:8b", 4096)
    assert "Ollama" in found.note


async def test_the_first_of_several_servers_answers_and_all_are_asked(hermes_home: Path, serve: MakeServer) -> None:
    one, two = await serve(models("one")), await serve(models("two"))
    endpoint = await finder(hermes_home, one.known("ollama"), two.known("vllm")).resolve()
    assert (endpoint.provider, len(one.asked), len(two.asked)) == ("ollama", 1, 1)


async def test_a_named_model_is_looked_for_on_every_server(hermes_home: Path, serve: MakeServer) -> None:
    one, two = await serve(models("one")), await serve(models("two", "three"))
    endpoint = await finder(hermes_home, one.known("ollama"), two.known("vllm")).resolve("three")
    assert (endpoint.provider, endpoint.model) == ("vllm", "three")


async def test_no_key_is_sent_to_a_port_that_was_only_found(hermes_home: Path, serve: MakeServer) -> None:
    server = await serve(models("m"))
    endpoint = await finder(hermes_home, server.known(), VLLM_API_KEY="secret-key", HF_TOKEN="secret-key").resolve()
    assert endpoint.api_key == ""
    assert all("secret" not in request and "authorization" not in request.lower() for request in server.asked)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n<html>a web page</html>",
        b"HTTP/1.1 abc\r\n\r\n",
        http({"data": "text"}),
        http({"data": [{"id": 3}, {"name": "x"}, 5]}),
        http([1, 2]),
        http({"data": [{"id": "m"}]}, "302 Found"),
        http({"data": [{"id": "m"}]}, "404 Not Found"),
        http({"data": [{"id": "hermes-agent", "owned_by": "hermes"}]}),
        http(b"[" * 100_000),
        http(b" " * (MAX_ANSWER + 1)),
    ],
    ids=range(12),
)
async def test_what_is_no_model_server_is_passed_over(hermes_home: Path, serve: MakeServer, answer: bytes) -> None:
    server = await serve(answer)
    assert await find_servers({}, (server.known(),)) == ()


async def test_an_answer_without_a_length_ends_with_the_connection(serve: MakeServer) -> None:
    server = await serve(b'HTTP/1.0 200 OK\r\n\r\n{"data": [{"id": "m"}]}')
    found = await find_servers({}, (server.known(),))
    assert [listed.id for listed in found[0].models] == ["m"]


async def test_a_server_that_never_answers_does_not_keep_the_others_waiting(
    serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discover, "READ_TIMEOUT", 2)
    silent, quick = await serve(b""), await serve(models("m"))
    silent.hang = True
    with anyio.fail_after(30):
        found = await find_servers({}, (silent.known("ollama"), quick.known("vllm")))
    assert [server.provider for server in found] == ["vllm"]


async def test_a_server_that_wants_a_key_is_named_in_the_advice(
    hermes_home: Path, serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_core.models.resolve.find_weights", lambda environ: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    server = await serve(http({"error": "no"}, "401 Unauthorized"))
    with pytest.raises(NoModelError, match=r"providers\.vllm\.api_key"):
        await finder(hermes_home, server.known("vllm")).resolve()


async def test_a_loaded_model_of_lm_studio_comes_first(hermes_home: Path, serve: MakeServer) -> None:
    server = await serve(b"")
    rows = [{"id": "cold"}, {"id": "warm", "state": "loaded"}]
    server.answer = lambda path: models(*(rows if path == "/api/v0/models" else ["cold", "warm"]))
    assert (await finder(hermes_home, server.known("lmstudio")).resolve()).model == "warm"


async def test_the_host_of_ollama_is_honoured(hermes_home: Path, serve: MakeServer) -> None:
    server = await serve(models("m"))
    nowhere = KnownProvider(name="ollama", title="Ollama", base_url="http://127.0.0.1:1/v1", loopback=True)
    endpoint = await finder(hermes_home, nowhere, OLLAMA_HOST=f"0.0.0.0:{server.port}").resolve()
    assert endpoint.base_url == f"http://127.0.0.1:{server.port}/v1"


async def test_a_server_chosen_by_name_is_asked_which_model_it_has(hermes_home: Path, serve: MakeServer) -> None:
    server = await serve(models("m"))
    found = finder(hermes_home, OLLAMA_HOST=f"127.0.0.1:{server.port}")
    assert (await found.resolve(provider="ollama")).model == "m"
    server.answer = lambda path: http({"data": []})
    with pytest.raises(NoModelError, match="has no model"):
        await found.resolve(provider="ollama")


async def test_an_own_endpoint_without_a_model_is_asked_with_its_own_key(hermes_home: Path, serve: MakeServer) -> None:
    server = await serve(models("theirs"))
    set_value(hermes_home, "model.base_url", f"http://127.0.0.1:{server.port}/v1")
    set_value(hermes_home, "model.api_key", "own-key")
    assert (await finder(hermes_home).resolve()).model == "theirs"
    assert "Bearer own-key" in server.asked[0]
    server.answer = lambda path: http({}, "500 Oops")
    with pytest.raises(NoModelError, match=r"model\.default"):
        await finder(hermes_home).resolve()


@pytest.mark.parametrize(
    "endpoint",
    [
        Endpoint(provider="x", model="", base_url="http://[bad/v1"),
        Endpoint(provider="x", model="", base_url="no address"),
        Endpoint(provider="x", model="", base_url="http://127.0.0.1:1/v1", api_key="kéy\n"),
        Endpoint(provider="x", model="", base_url="http://127.0.0.1:1/v1"),
    ],
    ids=range(4),
)
async def test_an_endpoint_that_cannot_be_asked_lists_nothing(endpoint: Endpoint) -> None:
    assert await list_models(endpoint) == ()
