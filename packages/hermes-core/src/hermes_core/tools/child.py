"""A shell command in a process group of its own: started, read, and always ended and reaped."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process

from hermes_core.errors import ToolFailed

CHUNK = 64 * 1024
PIPE = 64 * 1024
"""The most that a pipe holds, in bytes."""
GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL."""
_QUIET = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
}
"""Settings that keep programs from paging and prompting; nobody sits at this terminal."""


class Child:
    """A running shell, the read end of the pipe that carries its output, and its process group."""

    def __init__(self, process: Process, output: int) -> None:
        self._process = process
        self._output = output
        self.pid: int = process.pid

    @property
    def exit_code(self) -> int | None:
        """None while the shell runs; negative for a signal."""
        return self._process.returncode

    async def read_all(self, take: Callable[[bytes], None]) -> int:
        """Hand the output to `take` as it comes until the shell ends; return its exit code.

        A child that the shell left running may hold the pipe open for ever, so the end of the shell counts, not
        the end of the pipe: what the shell wrote before it ended is in the pipe by then and is read.
        """
        async with anyio.create_task_group() as beside:
            beside.start_soon(self._read, take)
            await self._process.wait()
            beside.cancel_scope.cancel()
        room = PIPE  # what was left running may go on writing; beyond a pipe's content nothing is the shell's
        while room > 0 and (data := self._read_now()):
            take(data)
            room -= len(data)
        return await self._process.wait()

    async def _read(self, take: Callable[[bytes], None]) -> None:
        while True:
            await anyio.wait_readable(self._output)
            data = self._read_now()
            if not data:
                return
            take(data)

    def _read_now(self) -> bytes:
        """Return what waits in the pipe; empty at its end, or when nothing waits."""
        try:
            return os.read(self._output, CHUNK)
        except BlockingIOError:
            return b""

    async def write(self, data: bytes) -> None:
        """Write to the shell's input. Raises ToolFailed when it is closed."""
        stdin = self._process.stdin
        if stdin is None or self.exit_code is not None:
            raise ToolFailed("The process does not read input any more.")
        try:
            await stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError) as error:
            raise ToolFailed("The process does not read input any more.") from error

    def group_alive(self) -> bool:
        """Say whether any process of the group is left."""
        try:
            os.killpg(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def signal_group(self, number: int) -> None:
        """Send a signal to every process of the group; none left is fine."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def terminate(self, grace: float) -> None:
        """Ask the whole group to end, and wait for that, `grace` seconds at most."""
        if not self.group_alive():
            return
        self.signal_group(signal.SIGTERM)
        with anyio.move_on_after(grace):
            await self._process.wait()
            while self.group_alive():  # noqa: ASYNC110 - a process that is no child of ours ends without an event
                await anyio.sleep(0.02)

    async def end(self, *, grace: float) -> None:
        """End the whole group: SIGTERM, after `grace` seconds SIGKILL (at once with 0), and reap the shell."""
        with anyio.CancelScope(shield=True):
            if grace:
                await self.terminate(grace)
            self.signal_group(signal.SIGKILL)
            await self._process.wait()
            os.close(self._output)
            await self._process.aclose()


@asynccontextmanager
async def running(command: list[str], *, cwd: Path, env: dict[str, str], stdin: bool = False) -> AsyncGenerator[Child]:
    """Run a program while the block lasts; afterwards its whole group is gone, also when the block is cancelled.

    Standard error goes where standard output goes. Without `stdin` the input is empty. Raises ToolFailed.
    """
    child = await _start(command, cwd, env, stdin=stdin)
    cancelled = True
    try:
        yield child
        cancelled = False
    finally:
        await child.end(grace=0 if cancelled else GRACE)


async def _start(command: list[str], cwd: Path, env: dict[str, str], *, stdin: bool) -> Child:
    from subprocess import DEVNULL, PIPE

    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    options: dict[str, Any] = {"stdout": write_end, "stderr": write_end, "stdin": PIPE if stdin else DEVNULL}
    process: Process | None = None
    with anyio.CancelScope(shield=True):  # a process that was started must not be lost
        try:
            process = await anyio.open_process(
                command, cwd=cwd, env={**_QUIET, **env}, start_new_session=True, **options
            )
        except OSError as error:
            os.close(read_end)
            raise ToolFailed(f"The command could not be started in {cwd}: {error.strerror}.") from error
        finally:
            os.close(write_end)
    assert process is not None
    return Child(process, read_end)


def shell_command(command: str, *, keep_children: bool = False) -> list[str]:
    """Return the program and arguments that run `command` in bash, or in sh where there is no bash.

    With `keep_children` the shell waits for what the command left running, and ends with the command's exit code.
    """
    import shutil

    shell = shutil.which("bash") or "/bin/sh"
    if not keep_children:
        return [shell, "-c", command]
    return [shell, "-c", 'eval "$1"; code=$?; wait; exit "$code"', shell, command]
