"""Model servers on this machine: found by asking their usual ports, and asked nothing but what models they have.

A stored key is never sent to a port that was merely found. No proxy, no redirect, 127.0.0.1 only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import msgspec
from anyio.abc import ByteStream

from hermes_core.models.catalog import PROVIDERS, KnownProvider, base_url_for
from hermes_core.models.provider import Endpoint

CONNECT_TIMEOUT = 0.15
READ_TIMEOUT = 0.4
MAX_ANSWER = 1024 * 1024
MAX_MODELS = 1000

SERVERS: tuple[KnownProvider, ...] = tuple(provider for provider in PROVIDERS if provider.loopback)


class Listed(msgspec.Struct, frozen=True):
    """One model of a server; `context_length` 0 = unknown."""

    id: str
    context_length: int = 0


class Found(msgspec.Struct, frozen=True):
    """A server that answered. `locked`: it wants a key, so its models are unknown."""

    provider: str
    title: str
    base_url: str
    models: tuple[Listed, ...] = ()
    locked: bool = False

    def endpoint(self, model: str = "") -> Endpoint | None:
        """Return the endpoint of one of its models, by default the first; None if it does not have it."""
        for listed in self.models:
            if model in ("", listed.id):
                return Endpoint(
                    provider=self.provider,
                    model=listed.id,
                    base_url=self.base_url,
                    context_length=listed.context_length,
                )
        return None


async def find_servers(environ: Mapping[str, str], servers: tuple[KnownProvider, ...] = SERVERS) -> tuple[Found, ...]:
    """Ask all known ports at once; return what answered, in the order of `servers`. Takes 0.55 s at the most."""
    answers: dict[str, Found] = {}

    async def ask(server: KnownProvider) -> None:
        found = await find_server(server, base_url_for(server, environ))
        if found is not None:
            answers[server.name] = found

    async with anyio.create_task_group() as group:
        for server in servers:
            group.start_soon(ask, server)
    return tuple(answers[server.name] for server in servers if server.name in answers)


async def find_server(server: KnownProvider, base_url: str) -> Found | None:
    """Ask one server which models it has; None if nothing answers there, or not as a model server would."""
    place = urlsplit(base_url)
    if place.scheme != "http" or not place.hostname:
        return None
    path = place.path.rstrip("/") + "/models"
    status, body = await _get(place.hostname, place.port or 80, path)
    if status in (401, 403):
        return Found(server.name, server.title, base_url, locked=True)
    models = _models(body) if status == 200 else ()
    if server.name == "lmstudio" and models:
        models = await _loaded_first(place.hostname, place.port or 80, models)
    return Found(server.name, server.title, base_url, models) if models else None


async def _loaded_first(host: str, port: int, models: tuple[Listed, ...]) -> tuple[Listed, ...]:
    """Put the models that LM Studio has in memory first: the others would have to be loaded."""
    status, body = await _get(host, port, "/api/v0/models")
    loaded = {row["id"] for row in _rows(body) if row.get("state") == "loaded"} if status == 200 else set[str]()
    return tuple(sorted(models, key=lambda listed: listed.id not in loaded))


async def _get(host: str, port: int, path: str) -> tuple[int, bytes]:
    """Return status and body of a GET; status 0 when nothing answers in time, or the answer is no HTTP.

    HTTP/1.0, so that the answer comes in one piece and ends with the connection.
    """
    address = f"[{host}]" if ":" in host else host
    request = f"GET {path} HTTP/1.0\r\nHost: {address}:{port}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
    try:
        with anyio.fail_after(CONNECT_TIMEOUT):
            stream = await anyio.connect_tcp(host, port)
        async with stream:
            with anyio.fail_after(READ_TIMEOUT):
                await stream.send(request.encode("ascii", "replace"))
                return _answer(await _read(stream))
    except (OSError, TimeoutError, anyio.BrokenResourceError):
        return 0, b""


async def _read(stream: ByteStream) -> bytes:
    """Read until the end, or until the promised length is there; nothing at all if it is longer than we take."""
    data = bytearray()
    wanted = MAX_ANSWER
    while len(data) < wanted:
        try:
            data += await stream.receive()
        except anyio.EndOfStream:
            return bytes(data)
        head, blank, _ = bytes(data).partition(b"\r\n\r\n")
        for line in head.lower().split(b"\r\n") if blank else ():
            name, _, value = line.partition(b":")
            if name == b"content-length" and value.strip().isdigit():
                wanted = min(MAX_ANSWER, len(head) + 4 + int(value.strip()))
    return bytes(data) if wanted < MAX_ANSWER else b""


def _answer(data: bytes) -> tuple[int, bytes]:
    head, blank, body = data.partition(b"\r\n\r\n")
    words = head.split(None, 2)
    if not blank or len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        return 0, b""
    return int(words[1]), body


def _rows(body: bytes) -> list[dict[str, Any]]:
    """Return `data[]` of a model list, those with an id that is a text; empty for anything else."""
    try:
        answer: object = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return []
    rows: object = cast("dict[str, Any]", answer).get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        return []
    kept = [cast("dict[str, Any]", row) for row in cast("list[Any]", rows)[:MAX_MODELS] if isinstance(row, dict)]
    return [row for row in kept if isinstance(row.get("id"), str) and row["id"]]


def _models(body: bytes) -> tuple[Listed, ...]:
    """Return the models of a list that can chat. Our own HTTP API is no model server: asking it would go in circles."""
    return tuple(
        Listed(row["id"], _context_length(row))
        for row in _rows(body)
        if row.get("owned_by") != "hermes" and "embed" not in row["id"].lower() and "rerank" not in row["id"].lower()
    )


def model_names(body: bytes) -> tuple[str, ...]:
    """Return the names in the body of a model list; empty for anything else."""
    return tuple(listed.id for listed in _models(body))


def _context_length(row: dict[str, Any]) -> int:
    """Return how much a model reads, where its row says so: vLLM, LM Studio and llama.cpp each in their own way."""
    meta: object = row.get("meta")
    places: tuple[object, ...] = (
        row.get("max_model_len"),
        row.get("loaded_context_length"),
        row.get("max_context_length"),
        cast("dict[str, Any]", meta).get("n_ctx_train") if isinstance(meta, dict) else None,
    )
    return next((place for place in places if isinstance(place, int) and not isinstance(place, bool) and place > 0), 0)
