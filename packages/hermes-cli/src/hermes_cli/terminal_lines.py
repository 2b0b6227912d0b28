"""Reading lines from the terminal without a thread: for questions of commands that have no screen of their own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator

import anyio

LONGEST = 4096
"""Bytes of one line; the terminal itself takes no more."""


class TerminalLines:
    """The terminal on stdin. What was typed before a question was shown is thrown away: it cannot be its answer."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()

    async def line(self, *, hidden: bool = False) -> str | None:
        """Return the next line without its newline; None at the end of input. `hidden` shows nothing of it."""
        import termios

        termios.tcflush(self._fd, termios.TCIFLUSH)
        with _without_echo(self._fd) if hidden else contextlib.nullcontext():
            await anyio.wait_readable(self._fd)
            data = os.read(self._fd, LONGEST)
        return data.decode("utf-8", "replace").rstrip("\r\n") if data else None


@contextlib.contextmanager
def _without_echo(fd: int) -> Generator[None]:
    import termios

    before = termios.tcgetattr(fd)
    silent = list(before)
    silent[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
