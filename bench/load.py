"""The HTTP surface under load: many short answers, and many slow streams at once."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from urllib.parse import urlsplit

import anyio

from bench.children import KEY, api_process
from bench.figures import Figure, Figures, WrongContent, share
from bench.http import Client

CLIENTS = 64
ALONE = 50
STREAMS = 200
GAP = 0.02


async def measure_load(figures: Figures, base_url: str, rounds: int, requests: int, deltas: int) -> None:
    """Start a server, and measure it in rounds; the model itself is measured the same way, as `direct`."""
    direct_port = urlsplit(base_url).port
    assert direct_port is not None
    async with api_process(base_url) as (server, port):
        await _answers(port, CLIENTS)  # the first ones pay for what is loaded when it is needed
        for _ in range(rounds):
            cpu, begun = server.cpu, perf_counter()
            await _answers(port, requests)
            took = perf_counter() - begun
            figures.add(Figure(f"HTTP: requests per second, {CLIENTS} clients", "1/s", ">= 300"), requests / took)
            figures.add(Figure("HTTP: CPU per request", "ms", "<= 3.3"), (server.cpu - cpu) * 1000 / requests)
        await _alone(figures, port)
        for _ in range(rounds):
            direct = await _streams(direct_port, deltas)
            through = await _streams(port, deltas)
            _compare(figures, direct, through)
        figures.add(Figure("HTTP: RSS after the load", "MB", "<= 120"), server.rss)


async def _answers(port: int, requests: int) -> None:
    """Ask for that many short answers over CLIENTS connections."""
    numbers = iter(range(requests))

    async def ask_on() -> None:
        async with Client(port, KEY) as client:
            for number in numbers:
                await _checked(client, number)

    async with anyio.create_task_group() as tasks:
        for _ in range(CLIENTS):
            tasks.start_soon(ask_on)


async def _alone(figures: Figures, port: int) -> None:
    """Ask one by one on one connection: whatever waits for a timer shows here, and nowhere under load."""
    async with Client(port, KEY) as client:
        took: list[float] = []
        for number in range(ALONE):
            begun = perf_counter()
            await _checked(client, number)
            took.append((perf_counter() - begun) * 1000)
    figures.add(Figure("HTTP: one short answer, alone, p50", "ms"), share(took, 0.5))
    figures.add(Figure("HTTP: one short answer, alone, p99", "ms"), share(took, 0.99))


async def _checked(client: Client, number: int) -> None:
    answer = await client.ask(f"[[echo answer {number}.]]")
    if b"answer %d." % number not in answer:
        raise WrongContent(f"request {number} was answered with {answer[:200]}")


async def _streams(port: int, deltas: int) -> list[list[float]]:
    """Read STREAMS paced answers at once; return for each the seconds after which its deltas had come."""
    found: list[list[float]] = []

    async def read() -> None:
        async with Client(port, KEY) as client:
            begun, arrivals, said = perf_counter(), list[float](), 0
            async for text in client.stream(f"[[text n={deltas} size=8 gap={GAP}]]"):
                said += len(text)
                arrivals += [perf_counter() - begun] * (said // 8 - len(arrivals))
            if len(arrivals) != deltas or said != deltas * 8:
                raise WrongContent(f"{said} characters of a stream came back, {deltas * 8} were sent")
            found.append(arrivals)

    async with anyio.create_task_group() as tasks:
        for _ in range(STREAMS):
            tasks.start_soon(read)
    return found


def _compare(figures: Figures, direct: list[list[float]], through: list[list[float]]) -> None:
    """Note when first deltas come, and how much later than from the model itself the others do."""
    first = [stream[0] * 1000 for stream in through]
    late = list(_lateness(direct, through))
    figures.add(Figure(f"{STREAMS} streams: first delta p50", "ms"), share(first, 0.5))
    figures.add(Figure(f"{STREAMS} streams: first delta p99", "ms", "<= 500"), share(first, 0.99))
    figures.add(Figure(f"{STREAMS} streams: first delta p99, direct", "ms"), share([s[0] * 1000 for s in direct], 0.99))
    figures.add(Figure(f"{STREAMS} streams: delay per delta p50", "ms"), share(late, 0.5))
    figures.add(Figure(f"{STREAMS} streams: delay per delta p99", "ms"), share(late, 0.99))


def _lateness(direct: list[list[float]], through: list[list[float]]) -> Iterator[float]:
    """Yield by how many milliseconds each delta of each stream is behind the same delta of a direct stream.

    Both count from the first delta of the stream, so that this is about what goes on, not about the beginning.
    """
    for number in range(1, len(direct[0])):
        usual = share([stream[number] - stream[0] for stream in direct], 0.5)
        for stream in through:
            yield (stream[number] - stream[0] - usual) * 1000
