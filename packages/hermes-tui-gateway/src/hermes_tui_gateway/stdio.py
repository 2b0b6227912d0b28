"""The gateway on standard input and output: one client, which is there as long as the process is."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from types import FrameType

import anyio
from hermes_core.descriptors import claim_stdio
from hermes_core.errors import HermesError
from hermes_core.jsonrpc import NO_ID, TooLong
from hermes_core.stdio import LineTransport, stop_signal

GRACE = 1.0
"""Seconds that ending may take, unless HERMES_TUI_GATEWAY_SHUTDOWN_GRACE_S says otherwise."""
LONGEST_GRACE = 60.0

log = logging.getLogger(__name__)


def serve() -> int:
    """Serve until the host closes our input, stops reading us, or sends SIGTERM or SIGHUP. Return the exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = claim_stdio()
    try:
        anyio.run(_serve, source, target)
    except Exception:
        log.exception("the gateway ends with an error")
        return 1
    return 0


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: nothing has been begun yet."""
    os._exit(0)


async def _serve(source: int, target: int) -> None:
    transport = LineTransport(source, target)
    reading = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_end_on_signal, reading)
        async with anyio.create_task_group() as writing:
            writing.start_soon(_write, transport, reading)
            await _work(transport, reading)
            transport.close()
        tasks.cancel_scope.cancel()


async def _end_on_signal(reading: anyio.CancelScope) -> None:
    await stop_signal(interrupt=False)
    reading.cancel()


async def _write(transport: LineTransport, reading: anyio.CancelScope) -> None:
    await transport.write()
    if transport.gone:
        reading.cancel()


async def _work(transport: LineTransport, reading: anyio.CancelScope) -> None:
    """Load the runtime, serve the client, and write down what its sessions leave behind."""
    from hermes_core.runtime import Runtime

    from hermes_tui_gateway import log_file
    from hermes_tui_gateway.connection import connect
    from hermes_tui_gateway.gateway import Gateway

    grace = _grace()
    async with contextlib.AsyncExitStack() as stack:
        try:
            runtime = await stack.enter_async_context(Runtime())
        except HermesError as error:
            with reading:
                await _refuse(transport, error)
            return
        log_file.open_log(runtime.config)
        connection = await stack.enter_async_context(connect(Gateway(runtime), transport))
        with reading:
            await connection.serve(transport, patience=grace / 4)
        _leave_after(grace)
        await runtime.close_all("tui_shutdown")
        with anyio.move_on_after(grace / 4):
            await connection.finish()


async def _refuse(transport: LineTransport, error: HermesError) -> None:
    """Answer every request with what is wrong with the settings or the store, to the end of the input."""
    from hermes_tui_gateway.codes import rpc_error
    from hermes_tui_gateway.decode import regular
    from hermes_tui_gateway.frames import error_frame

    while lines := await transport.batch():
        for line in lines:
            if isinstance(line, TooLong) or line.strip():
                request = None if isinstance(line, TooLong) else regular(line)
                transport.send(error_frame(bytes(request.id) if request else NO_ID, rpc_error(error)))
        await transport.drain()


def _grace() -> float:
    try:
        seconds = float(os.environ.get("HERMES_TUI_GATEWAY_SHUTDOWN_GRACE_S", ""))
    except ValueError:
        return GRACE
    return min(seconds, LONGEST_GRACE) if seconds > 0 else GRACE


def _leave_after(seconds: float) -> None:
    """End the process when ending properly takes longer than a host waits. What was acknowledged is stored by then."""
    timer = threading.Timer(seconds, os._exit, (0,))
    timer.daemon = True
    timer.start()
