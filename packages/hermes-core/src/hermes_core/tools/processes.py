"""The background processes of one session: a bounded number, bounded output of each, all ended with the session."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from hermes_core.errors import ToolFailed
from hermes_core.tools.child import GRACE, Child, running, shell_command
from hermes_core.tools.output import OutputDecoder

MAX_RUNNING = 16
MAX_KEPT = 32
"""Processes listed, the ended ones included; the oldest ended one is forgotten first."""
MAX_OUTPUT = 200_000
"""Characters kept of the output of each: the last ones."""
WRITE_TIMEOUT = 10.0


class _Entry:
    """One process, from its start to the moment it is forgotten."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.begun = time.monotonic()
        self.output = ""
        self.total = 0
        self.shown = 0
        """Characters of `total` that `poll` or `wait` has shown."""
        self.child: Child | None = None
        self.exit_code: int | None = None
        self.stop = anyio.CancelScope()
        self.started = anyio.Event()
        self.ended = anyio.Event()
        self.failure = ""

    @property
    def status(self) -> str:
        if not self.ended.is_set():
            return f"running for {time.monotonic() - self.begun:.0f} s"
        return "killed" if self.exit_code is None else f"ended with exit code {self.exit_code}"

    def add(self, text: str) -> None:
        self.total += len(text)
        self.output = (self.output + text)[-MAX_OUTPUT:]

    def take_new(self) -> str:
        """Return the output that was not shown yet, as far as it is kept."""
        count = self.total - self.shown
        self.shown = self.total
        lost = count - len(self.output)
        text = self.output[-count:] if count else ""
        return f"[... {lost:,} characters were dropped ...]\n{text}" if lost > 0 else text


class BackgroundProcesses:
    """Implements `Processes`. `tasks` is the session's task group: each process is read by a task in it.

    Cancelling the group, or `aclose`, ends every process group (SIGTERM, SIGKILL after half a second).
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._entries: dict[str, _Entry] = {}
        self._folder: Path | None = None

    async def start(self, command: str, *, cwd: Path, env: dict[str, str]) -> str:
        """See `Processes.start`."""
        if sum(not entry.ended.is_set() for entry in self._entries.values()) >= MAX_RUNNING:
            raise ToolFailed(f"{MAX_RUNNING} background processes run already; end one first.")
        self._forget()
        process_id = f"proc_{secrets.token_hex(4)}"
        entry = self._entries[process_id] = _Entry(command)
        self._tasks.start_soon(self._run, entry, cwd, env)
        await entry.started.wait()
        if entry.failure:
            del self._entries[process_id]
            raise ToolFailed(entry.failure)
        return process_id

    async def _run(self, entry: _Entry, cwd: Path, env: dict[str, str]) -> None:
        decoder = OutputDecoder()
        try:
            with entry.stop:
                async with running(
                    shell_command(entry.command, keep_children=True), cwd=cwd, env=env, stdin=True
                ) as child:
                    entry.child = child
                    entry.started.set()
                    entry.exit_code = await child.read_all(lambda data: entry.add(decoder.decode(data)))
        except ToolFailed as error:
            entry.failure = error.message
        finally:
            entry.add(decoder.decode(b"", final=True))
            entry.ended.set()
            entry.started.set()

    def folder(self) -> Path:
        """See `Processes.folder`."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="hermes-"))
        return self._folder

    def listing(self) -> str:
        """See `Processes.listing`."""
        if not self._entries:
            return "There are no background processes."
        return "\n".join(f"{key}: {entry.status}: {entry.command[:200]}" for key, entry in self._entries.items())

    async def poll(self, process_id: str) -> str:
        """See `Processes.poll`."""
        entry = self._entry(process_id)
        await anyio.lowlevel.checkpoint()
        return self._report(entry, entry.take_new())

    async def wait(self, process_id: str, timeout: float) -> str:
        """See `Processes.wait`."""
        entry = self._entry(process_id)
        with anyio.move_on_after(timeout):
            await entry.ended.wait()
        return self._report(entry, entry.take_new())

    def log(self, process_id: str, offset: int, limit: int) -> str:
        """See `Processes.log`."""
        entry = self._entry(process_id)
        lines = entry.output.splitlines()
        chosen = lines[-limit:] if not offset else lines[offset - 1 : offset - 1 + limit]
        return self._report(entry, "\n".join(chosen))

    async def kill(self, process_id: str) -> str:
        """See `Processes.kill`."""
        entry = self._entry(process_id)
        if entry.child is not None and not entry.ended.is_set():
            await entry.child.terminate(GRACE)
            entry.stop.cancel()
            await entry.ended.wait()
        return self._report(entry, entry.take_new())

    async def write(self, process_id: str, data: str) -> None:
        """See `Processes.write`."""
        entry = self._entry(process_id)
        if entry.child is None or entry.ended.is_set():
            raise ToolFailed(f"{process_id} has {entry.status}; it reads no input.")
        try:
            with anyio.fail_after(WRITE_TIMEOUT):
                await entry.child.write(data.encode("utf-8", "replace"))
        except TimeoutError:
            raise ToolFailed(f"{process_id} did not read its input within {WRITE_TIMEOUT:.0f} s.") from None

    async def aclose(self) -> None:
        """See `Processes.aclose`."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as ending:
                for process_id in self._entries:
                    ending.start_soon(self.kill, process_id)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _entry(self, process_id: str) -> _Entry:
        entry = self._entries.get(process_id)
        if entry is None:
            raise ToolFailed(f"There is no background process {process_id!r}.\n{self.listing()}")
        return entry

    def _report(self, entry: _Entry, text: str) -> str:
        return f"[{entry.status}]\n{text.rstrip()}" if text.strip() else f"[{entry.status}, no new output]"

    def _forget(self) -> None:
        ended = [key for key, entry in self._entries.items() if entry.ended.is_set()]
        for key in ended[: max(0, len(self._entries) - MAX_KEPT + 1)]:
            del self._entries[key]
