"""How long a client waits for a process that it starts, compared with one that does nothing; what an import costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter

from bench.children import ACP, GATEWAY, child, scratch
from bench.figures import Figure, Figures, WrongContent

NULL = [sys.executable, str(Path(__file__).with_name("null.py"))]
HELLO: dict[str, object] = {"protocolVersion": 1, "clientCapabilities": {}}
IMPORT = "import time; begun = time.perf_counter(); import hermes_core; print((time.perf_counter() - begun) * 1000)"


async def measure_startup(figures: Figures, rounds: int) -> None:
    """Start each process and its null twin by turns."""
    for _ in range(rounds):
        null = await until_initialized([*NULL, "acp"])
        ours = await until_initialized(ACP)
        figures.add(Figure("ACP: spawn to initialize", "ms"), ours)
        figures.add(Figure("ACP: null process", "ms"), null)
        figures.add(Figure("ACP: ours / null", "", "<= 1.6"), ours / null)
        null = await until_ready([*NULL, "gateway"])
        ours = await until_ready(GATEWAY)
        figures.add(Figure("gateway: spawn to ready", "ms"), ours)
        figures.add(Figure("gateway: null process", "ms"), null)
        figures.add(Figure("gateway: ours / null", "", "<= 1.6"), ours / null)


async def until_initialized(command: list[str]) -> float:
    """Return the milliseconds from the start of a process to its answer to `initialize`."""
    async with scratch() as folder, child(command, folder) as agent:
        number = agent.send("initialize", HELLO)
        first = (await agent.frames())[0]
        took = perf_counter() - agent.spawned
        if first.id != number or b"protocolVersion" not in bytes(first.result):
            raise WrongContent(f"initialize was answered with {first}")
        return took * 1000


async def until_ready(command: list[str]) -> float:
    """Return the milliseconds from the start of a process to its `gateway.ready`."""
    async with scratch() as folder, child(command, folder) as gateway:
        first = (await gateway.frames())[0]
        took = perf_counter() - gateway.spawned
        if b"gateway.ready" not in bytes(first.params):
            raise WrongContent(f"the first frame is {first}")
        return took * 1000


def measure_import(figures: Figures, rounds: int) -> None:
    """Import the core in fresh interpreters."""
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
        figures.add(Figure("import hermes_core", "ms", "<= 120"), float(done.stdout))
