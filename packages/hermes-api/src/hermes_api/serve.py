"""The HTTP surface as a server: a port, the application behind it, and an orderly end.

At the end the server first takes no new turns, then lets running ones finish for a short while, then interrupts
the rest, so that every open stream gets its last event and every turn is written down, and only then closes.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable

import anyio
from hermes_core.runtime import Runtime
from hermes_core.serving.connections import Connections

from hermes_api.app import build_app
from hermes_api.service import Service

GRACE_SECONDS = 2.0
"""How long running turns may go on after the wish to stop."""
INTERRUPT_SECONDS = 2.0
"""How long interrupted turns may take to end and be written down."""
LAST_WORDS_SECONDS = 0.5
"""How long streams may take to send their last event."""
log = logging.getLogger(__name__)


async def serve(runtime: Runtime, sock: socket.socket, shutdown: Callable[[], Awaitable[object]]) -> None:
    """Serve the HTTP surface on a listening socket, which is ours from now on, until `shutdown` returns.

    Raises ConfigError when the configured key cannot protect a server.
    """
    with sock:
        service = Service(runtime)
        stopped = anyio.Event()
        async with service, anyio.create_task_group() as tasks, anyio.create_task_group() as serving:
            # A cancelled server ends in order too: `_end` is cancelled then, and tells this.
            serving.cancel_scope.shield = True
            tasks.start_soon(runtime.warm)
            tasks.start_soon(_end, service, shutdown, stopped, tasks.cancel_scope)
            host, port = sock.getsockname()[:2]
            log.info("API server listening on http://%s:%s (model: %s)", host, port, service.model_name)
            serving.start_soon(Connections(build_app(service), name="hermes_api").serve, sock, stopped)


async def _end(
    service: Service, shutdown: Callable[[], Awaitable[object]], stopped: anyio.Event, tasks: anyio.CancelScope
) -> None:
    """Wait for the wish to stop, then stop: no new turns, time to finish, interruption, close."""
    try:
        await shutdown()
        service.gate.draining = True
        with anyio.move_on_after(GRACE_SECONDS):
            await service.gate.idle()
        with anyio.move_on_after(INTERRUPT_SECONDS):
            await service.runs.stop_all("interrupted_by_system(shutdown)")
            await service.turns.interrupt_all()
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            await service.gate.idle()
    finally:
        stopped.set()
        tasks.cancel()


async def serve_until_signal(runtime: Runtime, sock: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; a second one ends the process at once, with 128 and its number."""
    wanted = anyio.Event()

    async def watch() -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for number in signals:
                if wanted.is_set():
                    os._exit(128 + number)
                wanted.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await serve(runtime, sock, wanted.wait)
        tasks.cancel_scope.cancel()
