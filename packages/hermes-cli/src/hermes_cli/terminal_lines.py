"""Reading lines from the terminal without a thread: for questions of commands that have no screen of their own."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator

import anyio

from hermes_cli.outlet import Outlet

LONGEST = 4096
"""Bytes of one line; the terminal itself takes no more."""


class TerminalLines:
    """The terminal on stdin, and `screen` to write prompts to."""

    def __init__(self, screen: Outlet) -> None:
        self._screen = screen
        self._fd = sys.stdin.fileno()

    async def ask(self, prompt: str, *, hidden: bool = False) -> str | None:
        """Write `prompt` and return the line typed behind it, without its newline; None at the end of input.

        What was typed before is thrown away: it cannot be the answer. `hidden` shows nothing of what is typed.
        """
        import termios

        with _without_echo(self._fd) if hidden else contextlib.nullcontext():
            termios.tcflush(self._fd, termios.TCIFLUSH)
            await self._screen.write(prompt)
            await anyio.wait_readable(self._fd)
            data = os.read(self._fd, LONGEST)
        if hidden or not data:
            await self._screen.write("\n")
        self._screen.line_start = True
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
