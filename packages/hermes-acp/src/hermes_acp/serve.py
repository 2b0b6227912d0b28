"""One connection, from the first frame after `initialize` to the end of the input."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import anyio
from hermes_core.stdio import LineTransport, stop_signal

from hermes_acp.agent import Agent
from hermes_acp.connection import Connection
from hermes_acp.wire.params import InitializeParams

FLUSH_TIME = 0.2
"""Seconds that a client gets to read what is left when the connection ends."""

log = logging.getLogger(__name__)


def nothing() -> None:
    """Do nothing."""


async def serve(
    source: int,
    target: int,
    received: bytes,
    client: InitializeParams | None,
    saved: Callable[[], None] = nothing,
) -> None:
    """Serve the client on these descriptors until its input ends, it is gone, or a signal asks us to end.

    `received` and `client` are what `open_connection` returned. `saved` is called when all work is written down and
    everything has been told, before we wait for what may still be loading in a thread.
    """
    transport = LineTransport(source, target, received=received)
    async with anyio.create_task_group() as tasks:
        agent = Agent(Connection(transport), tasks, client)
        writer = anyio.Event()
        with anyio.CancelScope() as reading:
            tasks.start_soon(_write, transport, reading, writer)
            tasks.start_soon(_stop_on_signal, reading)
            while lines := await transport.batch():
                for line in lines:
                    agent.receive(line)
        await agent.close()
        transport.close()
        with anyio.move_on_after(FLUSH_TIME):
            await writer.wait()
        saved()
        tasks.cancel_scope.cancel()


async def _write(transport: LineTransport, reading: anyio.CancelScope, over: anyio.Event) -> None:
    await transport.write()
    reading.cancel()
    over.set()


async def _stop_on_signal(reading: anyio.CancelScope) -> None:
    name = await stop_signal(interrupt=True)
    log.info("ending on %s", name)
    reading.cancel()


def log_to_stderr() -> None:
    """Send what is logged to stderr, from warnings up."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="hermes-acp: %(levelname)s %(name)s: %(message)s"
    )
