"""Real processes of `hermes`, with pipes or in a terminal of their own, and a scripted model to answer them."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE, CompletedProcess
from typing import Any

import anyio
import pyte
from anyio.abc import Process
from hermes_core.testing import ScriptedModel

HERMES = [sys.executable, "-m", "hermes_cli.main"]
# Gives the child the terminal on its stdin as its own, so that Ctrl-C and hang-ups reach it.
OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
PATIENCE = 60.0


class Terminal:
    """A process in a terminal of `rows` x `columns`, seen as a person sees it."""

    def __init__(self, process: Process, master: int, rows: int, columns: int) -> None:
        self.process = process
        self.raw = b""
        self._master = master
        self._columns = columns
        self._screen: Any = pyte.HistoryScreen(columns, rows, history=5000)
        self._stream: Any = pyte.ByteStream(self._screen)

    @property
    def lines(self) -> list[str]:
        """The lines on the screen, without trailing blanks."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        """What was scrolled away and what is on the screen."""
        gone = ["".join(line[x].data for x in range(self._columns)) for line in self._screen.history.top]
        return "\n".join([*(line.rstrip() for line in gone), *self.lines])

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    async def until(self, seen: str | Callable[[Terminal], bool]) -> None:
        """Wait until a text is to be seen, or until a condition holds."""
        try:
            with anyio.fail_after(PATIENCE):
                while not (seen in self.text if isinstance(seen, str) else seen(self)):
                    await self._read()
        except TimeoutError:
            raise AssertionError(f"never seen: {seen!r}; the screen:\n{self.text}") from None

    async def ended(self) -> int:
        """Wait for the process to end; return its exit code, negative for a signal."""
        with anyio.fail_after(PATIENCE):
            while await self._read():
                pass
            return await self.process.wait()

    async def _read(self) -> bool:
        await anyio.wait_readable(self._master)
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says so when the last process has closed the terminal
            return False
        self.raw += data
        self._stream.feed(data)
        return bool(data)


class Hermes:
    """Starts `hermes` in a folder of the test, with the test's home."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home = home
        self.folder = folder

    def answered_by(self, model: ScriptedModel, more: str = "") -> None:
        """Write a configuration whose model is the scripted one."""
        self.home.mkdir(mode=0o700, exist_ok=True)
        config = f"model: {{default: m, provider: custom, base_url: '{model.base_url}', api_key: k}}\n{more}"
        (self.home / "config.yaml").write_text(config)
        (self.home / "config.yaml").chmod(0o600)

    async def run(self, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> CompletedProcess[bytes]:
        """Run to the end with pipes; never raises for an exit code."""
        with anyio.fail_after(PATIENCE):
            return await anyio.run_process(
                [*HERMES, *words], input=stdin, check=False, cwd=self.folder, env={**os.environ, **(env or {})}
            )

    @asynccontextmanager
    async def beside(self, *words: str, stdout: int = PIPE) -> AsyncGenerator[Process]:
        """Run beside the test, with pipes; `stdout` may be any descriptor."""
        process = await anyio.open_process(
            [*HERMES, *words], stdin=DEVNULL, stdout=stdout, cwd=self.folder, env=dict(os.environ)
        )
        async with process:
            try:
                yield process
            finally:
                if process.returncode is None:
                    process.kill()

    def terminal(
        self, *words: str, rows: int = 24, columns: int = 80, env: dict[str, str] | None = None
    ) -> AbstractAsyncContextManager[Terminal]:
        """Run in a terminal beside the test."""
        return _in_terminal([*HERMES, *words], self.folder, rows, columns, env or {})


@asynccontextmanager
async def _in_terminal(
    command: list[str], folder: Path, rows: int, columns: int, env: dict[str, str]
) -> AsyncGenerator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = await anyio.open_process(
        [sys.executable, "-c", OWN_TERMINAL, *command],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env={**os.environ, "TERM": "xterm-256color", **env},
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(process, master, rows, columns)
    finally:
        if process.returncode is None:
            process.kill()
            with anyio.CancelScope(shield=True):
                await process.wait()
        os.close(master)
