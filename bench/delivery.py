"""Deltas per second of one long answer through each surface, and the memory that this takes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter

import msgspec

from bench.children import ACP, GATEWAY, KEY, Child, api_process, child, scratch
from bench.figures import Figure, Figures, WrongContent
from bench.http import Client

SIZE = 8
HELLO = "[[echo hello]]"


class Content(msgspec.Struct):
    """What a chunk of an answer holds."""

    text: str = ""


class Update(msgspec.Struct, rename="camel"):
    """An update of a session, as far as it is about text."""

    session_update: str
    content: Content | list[object] | None = None


class UpdateParams(msgspec.Struct):
    """The params of `session/update`."""

    update: Update


class Payload(msgspec.Struct):
    """What an event of the gateway tells about text."""

    text: str = ""
    status: str = ""


class EventParams(msgspec.Struct):
    """The params of an event of the gateway."""

    type: str
    payload: Payload = msgspec.field(default_factory=Payload)


class Named(msgspec.Struct):
    """A new session, in the words of either protocol."""

    session_id: str = ""
    sessionId: str = ""


_updates = msgspec.json.Decoder(UpdateParams)
_events = msgspec.json.Decoder(EventParams)
_named = msgspec.json.Decoder(Named)

Ask = Callable[[str], Awaitable[str]]


async def measure_delivery(figures: Figures, base_url: str, rounds: int, deltas: int) -> None:
    """Stream the same answer through each surface, `rounds` times over."""
    for _ in range(rounds):
        await _acp(figures, base_url, deltas)
        await _gateway(figures, base_url, deltas)
        await _http(figures, base_url, deltas)


async def _acp(figures: Figures, base_url: str, deltas: int) -> None:
    async with scratch(base_url) as folder, child(ACP, folder) as agent:
        await agent.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        opened = _named.decode(await agent.call("session/new", {"cwd": str(folder), "mcpServers": []}))

        async def ask(text: str) -> str:
            params = {"sessionId": opened.sessionId, "prompt": [{"type": "text", "text": text}]}
            number, said = agent.send("session/prompt", params), list[str]()
            while True:
                for frame in await agent.frames():
                    if frame.id == number:
                        return "".join(said)
                    update = _updates.decode(frame.params).update
                    if update.session_update == "agent_message_chunk" and isinstance(update.content, Content):
                        said.append(update.content.text)

        await _timed("ACP", figures, agent, ask, deltas, "60,000")


async def _gateway(figures: Figures, base_url: str, deltas: int) -> None:
    async with scratch(base_url) as folder, child(GATEWAY, folder) as gateway:
        opened = _named.decode(await gateway.call("session.create", {"cwd": str(folder)}))

        async def ask(text: str) -> str:
            gateway.send("prompt.submit", {"session_id": opened.session_id, "text": text})
            said = list[str]()
            while True:
                for frame in await gateway.frames():
                    if frame.method != "event":
                        continue
                    event = _events.decode(frame.params)
                    if event.type == "message.delta":
                        said.append(event.payload.text)
                    elif event.type == "message.complete":
                        return "".join(said)

        await _timed("gateway", figures, gateway, ask, deltas, "60,000")


async def _http(figures: Figures, base_url: str, deltas: int) -> None:
    async with api_process(base_url) as (server, port), Client(port, KEY) as client:

        async def ask(text: str) -> str:
            return "".join([said async for said in client.stream(text)])

        await _timed("HTTP", figures, server, ask, deltas, "40,000")


async def _timed(name: str, figures: Figures, served: Child, ask: Ask, deltas: int, aim: str) -> None:
    """Warm up, stream one long answer, and check that every character came back."""
    figures.add(Figure(f"{name}: RSS idle", "MB", "<= 60"), served.rss)
    if await ask(HELLO) != "hello":
        raise WrongContent(f"{name} does not say hello")
    cpu, begun = served.cpu, perf_counter()
    said = await ask(f"[[text n={deltas} size={SIZE}]]")
    took = perf_counter() - begun
    expected = ("abcdefghijklmnopqrstuvwxyz"[: SIZE - 1] + " ") * deltas
    if said.rstrip() != expected.rstrip():
        raise WrongContent(f"{name}: {len(said)} characters came back of {len(expected)}")
    figures.add(Figure(f"{name}: deltas per second", "1/s", f">= {aim}"), deltas / took)
    figures.add(Figure(f"{name}: CPU per 1,000 deltas", "ms"), (served.cpu - cpu) * 1e6 / deltas)
    figures.add(Figure(f"{name}: RSS after", "MB", "<= 120"), served.rss)
