"""Writing to stdout and stderr from the event loop, without ever blocking it on a slow reader."""

from __future__ import annotations

import os
import stat

import anyio

from hermes_cli.exits import OutputFailed

PIECE = 4096
"""Bytes of one write: a pipe that is writable takes this many at once (PIPE_BUF)."""


class Outlet:
    """One of the process's own file descriptors. Text goes out as UTF-8, whatever the locale.

    `write` raises BrokenPipeError when the reader has left, OutputFailed when the text has no place to go. Texts of
    several tasks come out whole, one after the other.
    """

    def __init__(self, fd: int) -> None:
        self.terminal = os.isatty(fd)
        self.line_start = True
        """Whether the last character written was a newline."""
        self._fd = fd
        self._turn = anyio.Lock()
        mode = os.fstat(fd).st_mode
        # Files (and /dev/null) are always ready; the event loop's selector refuses them.
        self._waits = self.terminal or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)

    async def write(self, text: str) -> None:
        """Write all of `text`, waiting while the reader is not ready."""
        if not text:
            return
        async with self._turn:
            rest = memoryview(text.encode("utf-8", "replace"))
            while rest:
                if self._waits:
                    await anyio.wait_writable(self._fd)
                rest = rest[self._written(rest[:PIECE]) :]
            self.line_start = text.endswith("\n")

    async def end_line(self) -> None:
        """Write a newline unless the last line is finished."""
        if not self.line_start:
            await self.write("\n")

    def _written(self, piece: memoryview) -> int:
        try:
            return os.write(self._fd, piece)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputFailed(f"The output cannot be written: {error.strerror}.") from error
