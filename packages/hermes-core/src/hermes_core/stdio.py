"""Lines over standard input and output. Reading and writing never block the event loop."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys

import anyio
import anyio.to_thread

from hermes_core.jsonrpc import MAX_LINE, LineSplitter, TooLong

READ_BLOCK = 256 * 1024
MAX_WAITING = 4 * 1024 * 1024
"""Bytes that may wait to be written before `drain` holds its caller back."""
MAX_BACKLOG = 64 * 1024 * 1024
"""Bytes that may wait in all: a peer that leaves more unread is treated as gone."""

_PEER_GONE = frozenset({errno.EPIPE, errno.ECONNRESET, errno.EIO})


class LineTransport:
    """Reads and writes lines on two descriptors, which it does not close.

    One task reads with `batch`, one runs `write`; any task may `send`. `received` are bytes that were read from
    `source` before.
    """

    def __init__(
        self,
        source: int,
        target: int,
        *,
        received: bytes = b"",
        max_line: int = MAX_LINE,
        max_waiting: int = MAX_WAITING,
        max_backlog: int = MAX_BACKLOG,
    ) -> None:
        self._source = source
        self._target = target
        self._splitter = LineSplitter(max_line)
        self._ready = self._splitter.feed(received) if received else []
        self._polled = sys.platform != "win32"
        self._ended = False
        self._waiting: list[bytes] = []
        self._size = 0
        self._max_waiting = max_waiting
        self._max_backlog = max_backlog
        self._closing = False
        self._gone = False
        self._wake = anyio.Event()
        self._written = anyio.Event()
        self._writing: anyio.CancelScope | None = None

    @property
    def gone(self) -> bool:
        """Whether nobody reads our lines any more: the other end is closed, or far behind. What is sent is dropped."""
        return self._gone

    async def batch(self) -> list[bytes | TooLong]:
        """Return the lines that have come, at least one; wait for them. Empty at the end of the input."""
        while not self._ready and not self._ended:
            block = await self._read()
            self._ended = not block
            self._ready = self._splitter.feed(block) if block else self._splitter.finish()
        lines, self._ready = self._ready, []
        return lines

    def send(self, line: bytes) -> None:
        """Queue one line. Never blocks; lines go out in the order of the calls."""
        if self._gone or self._closing:
            return
        self._waiting.append(line)
        self._size += len(line) + 1
        if self._size > self._max_backlog:
            self._give_up()
        self._wake.set()

    async def drain(self) -> None:
        """Wait until no more than the allowed number of bytes waits to be written, or the peer is gone."""
        while self._size > self._max_waiting and not self._gone:
            await self._written.wait()

    def close(self) -> None:
        """Let `write` return once everything that was sent is written."""
        self._closing = True
        self._wake.set()

    async def write(self) -> None:
        """Write what is sent, until `close` or until the peer is gone. Whatever waits goes out in one piece."""
        with anyio.CancelScope() as self._writing:
            try:
                await self._write_all()
            except OSError as error:
                if error.errno not in _PEER_GONE:
                    raise
                self._give_up()

    def _give_up(self) -> None:
        self._gone = True
        self._waiting.clear()
        self._size = 0
        self._written.set()
        if self._writing is not None:
            self._writing.cancel()

    async def _read(self) -> bytes:
        while self._polled:
            try:
                await anyio.wait_readable(self._source)
                return os.read(self._source, READ_BLOCK)
            except BlockingIOError:
                continue  # somebody who shares the input was faster
            except PermissionError:
                self._polled = False  # a plain file, which epoll refuses
            except OSError as error:
                if error.errno not in _PEER_GONE:
                    raise
                return b""
        return await anyio.to_thread.run_sync(os.read, self._source, READ_BLOCK, abandon_on_cancel=True)

    async def _write_all(self) -> None:
        write = _nonblocking_write if _make_nonblocking(self._target) else _threaded_write
        while True:
            while not self._waiting:
                if self._closing or self._gone:
                    return
                self._wake = anyio.Event()
                await self._wake.wait()
            self._waiting.append(b"")
            block = memoryview(b"\n".join(self._waiting))
            self._waiting.clear()
            while block:
                count = await write(self._target, block)
                block = block[count:]
                self._size -= count
                self._written.set()
                self._written = anyio.Event()


def _make_nonblocking(target: int) -> bool:
    """Make writes to a pipe or a socket return at once; say whether it could be done.

    A terminal or a plain file is left alone: its open description may be shared with other processes.
    """
    mode = os.fstat(target).st_mode
    if sys.platform == "win32" or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return False
    os.set_blocking(target, False)
    return True


async def _nonblocking_write(target: int, block: memoryview) -> int:
    while True:
        try:
            return os.write(target, block)
        except BlockingIOError:
            await anyio.wait_writable(target)


async def _threaded_write(target: int, block: memoryview) -> int:
    return await anyio.to_thread.run_sync(os.write, target, block, abandon_on_cancel=True)


async def stop_signal(*, interrupt: bool) -> str:
    """Wait for a signal that asks this process to end (SIGTERM, SIGHUP), and return its name.

    SIGINT counts as one where `interrupt` is true. Otherwise it is swallowed: a terminal sends it to every
    process of the foreground, and what it means is for the program in front to decide.
    """
    if sys.platform == "win32":  # no signals there; the end of the input ends the process
        await anyio.sleep_forever()
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP, signal.SIGINT) as signals:
        async for number in signals:
            if interrupt or number != signal.SIGINT:
                return signal.Signals(number).name
    raise RuntimeError("the signal receiver ended")
