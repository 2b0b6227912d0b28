"""The one file that opens a port: the application under hypercorn, and an orderly end.

At the end the server first takes no new turns, then lets running ones finish for a short while, then interrupts
the rest, so that every open stream gets its last event and every turn is written down, and only then closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio
from hermes_core.errors import ConfigError
from hermes_core.runtime import Runtime
from hypercorn.asyncio import serve as serve_hypercorn  # pyright: ignore[reportUnknownVariableType]
from hypercorn.config import Config
from hypercorn.utils import LifespanFailureError
from starlette.applications import Starlette

from hermes_api.app import build_app
from hermes_api.service import Service

BACKLOG = 1024
GRACE_SECONDS = 2.0
"""How long running turns may go on after the wish to stop."""
INTERRUPT_SECONDS = 2.0
"""How long interrupted turns may take to end and be written down."""
LAST_WORDS_SECONDS = 0.5
"""How long streams may take to send their last event."""
CLOSE_SECONDS = 1.0
"""How long connections may take to close."""
log = logging.getLogger(__name__)


def listener(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raises ConfigError when that is not possible."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ConfigError(f"The API server cannot listen on {host}:{port}: {reason}.") from error


async def serve(runtime: Runtime, sock: socket.socket, shutdown: Callable[[], Awaitable[object]]) -> None:
    """Serve the HTTP surface on a listening socket, which is ours from now on, until `shutdown` returns.

    Raises ConfigError when the configured key cannot protect a server.
    """
    with sock:
        service = Service(runtime)
        host, port = sock.getsockname()[:2]
        config = _hypercorn(sock.detach())
    stopped = anyio.Event()
    # Shielded, so that a cancelled server ends in order too; `_end` sees to it that it does not take long.
    async with service, anyio.create_task_group() as tasks, anyio.create_task_group() as serving:
        serving.cancel_scope.shield = True
        tasks.start_soon(runtime.warm)
        tasks.start_soon(_end, service, shutdown, stopped, serving.cancel_scope, tasks.cancel_scope)
        log.info("API server listening on http://%s:%s (model: %s)", host, port, service.model_name)
        serving.start_soon(_run, build_app(service), config, stopped)


async def _run(app: Starlette, config: Config, stopped: anyio.Event) -> None:
    """Run hypercorn until `stopped`. A task of its own, because hypercorn leaves the task it ran in marked as
    cancelled (asyncio.TaskGroup of Python 3.11)."""
    # When it is cancelled while it closes, hypercorn asks for a result that is not there yet.
    with contextlib.suppress(asyncio.InvalidStateError):
        await serve_hypercorn(app, config, shutdown_trigger=stopped.wait)  # pyright: ignore[reportArgumentType]


async def _end(
    service: Service,
    shutdown: Callable[[], Awaitable[object]],
    stopped: anyio.Event,
    serving: anyio.CancelScope,
    tasks: anyio.CancelScope,
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
        # Hypercorn itself would wait for clients that do not read.
        serving.deadline = anyio.current_time() + CLOSE_SECONDS
        stopped.set()
        tasks.cancel()


def _hypercorn(descriptor: int) -> Config:
    config = Config()
    config.bind = [f"fd://{descriptor}"]
    config.backlog = BACKLOG
    config.include_server_header = False
    config.keep_alive_timeout = 65.0
    config.h11_max_incomplete_size = 64 * 1024
    config.graceful_timeout = 0.5
    config.errorlog = logging.getLogger("hermes_api.hypercorn")
    config.errorlog.setLevel(logging.WARNING)  # it would say on every start what we say ourselves
    config.accesslog = None
    return config


async def serve_until_signal(runtime: Runtime, sock: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM; a second one ends the process at once, with 128 and its number.

    Takes over the signals and the exception handler of the running loop: for a process that does nothing else.
    """
    wanted = anyio.Event()
    asyncio.get_running_loop().set_exception_handler(partial(_unhandled, wanted))

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


def _unhandled(wanted: anyio.Event, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what no task handled; at the end, hypercorn's tasks of clients that do not let go are cut off on purpose."""
    if wanted.is_set() and isinstance(context.get("exception"), asyncio.CancelledError | LifespanFailureError):
        log.info("a connection did not close in time and was cut off")
    else:
        loop.default_exception_handler(context)
