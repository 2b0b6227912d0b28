"""The child process of the local model, as its parent sees it: started once, again if it died, and ended for sure."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec

from hermes_core.config.redaction import is_secret_name
from hermes_core.errors import NoModelError
from hermes_core.models.local_server import Ready

if TYPE_CHECKING:
    from anyio.abc import Process

START_TIMEOUT = 180.0
"""Seconds that loading the weights may take; a small model needs one."""
CLOSE_TIMEOUT = 0.5
MAX_LINE = 16 * 1024


class LocalEngine:
    """One engine process for one file of weights. Callers at the same time share it."""

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self._process: Process | None = None
        self._said = b""
        self._ready: Ready | None = None
        self._starting = anyio.Lock()

    @property
    def pid(self) -> int:
        """The process id of the child; 0 if none runs."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else 0

    async def ready(self) -> Ready:
        """Return where the engine answers. Starts it if it does not run; waits until it has loaded its weights.

        A caller that is cancelled leaves the child loading, for the next one. Raises NoModelError if it cannot start.
        """
        async with self._starting:
            if self._ready is not None and self.pid:
                return self._ready
            if not self.pid:
                await self.aclose()
                self._process = await self._started()
            with anyio.move_on_after(START_TIMEOUT):
                self._ready = await self._first_words(self._process)
            if self._ready is None:
                await self.aclose()
                raise NoModelError(f"The local model {self._weights.name} was not loaded within {START_TIMEOUT:g} s.")
            if self._ready.error:
                reason = self._ready.error
                await self.aclose()
                raise NoModelError(f"The local model {self._weights.name} cannot be loaded: {reason}")
            return self._ready

    async def _started(self) -> Process:
        import subprocess

        # -P: a file of the folder we happen to run in must not stand in for one of our modules.
        command = [sys.executable, "-P", "-m", "hermes_core.models.local_server", str(self._weights)]
        try:
            return await anyio.open_process(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if not is_secret_name(name)},
                # An interrupt at the terminal is for the parent, which ends the child when it is time.
                start_new_session=True,
            )
        except OSError as error:
            raise NoModelError(f"The local model cannot be started: {error.strerror}.") from error

    async def _first_words(self, process: Process | None) -> Ready:
        """Return the one line that the child says. What was read stays, should the caller be cancelled."""
        assert process is not None and process.stdout is not None
        while b"\n" not in self._said:
            try:
                self._said += await process.stdout.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return Ready(error=f"the engine ended while loading (code {await process.wait()})")
            if len(self._said) > MAX_LINE:
                return Ready(error="the engine said something that was not expected")
        try:
            return msgspec.json.decode(self._said, type=Ready)
        except msgspec.DecodeError:
            return Ready(error="the engine said something that was not expected")

    async def aclose(self) -> None:
        """End the child: by the end of its stdin, and by force if it has not gone after half a second."""
        process, self._process, self._ready, self._said = self._process, None, None, b""
        if process is None:
            return
        with anyio.CancelScope(shield=True):
            if process.stdin is not None:
                await process.stdin.aclose()
            with anyio.move_on_after(CLOSE_TIMEOUT):
                await process.wait()
            if process.returncode is None:
                process.kill()
            await process.aclose()
