"""The tool `terminal`: a command in bash, in the foreground or left running in the background.

Each command runs in a shell and a process group of its own, in the session's folder or `workdir`; nothing of the
shell (folder, variables) is kept for the next. Its input is empty. When the shell ends, the call ends, and whatever
the command left running in its group (`server &`) is stopped; what shall go on is started with `background`, is
listed by the tool `process`, and ends with the session. An interrupt kills the group at once; a time-out as well,
after half a second's notice.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta

from hermes_core.errors import ToolFailed
from hermes_core.tools.child import running, shell_command
from hermes_core.tools.output import BoundedOutput, OutputDecoder
from hermes_core.tools.tool import ToolContext, ToolResult

DEFAULT_TIMEOUT = 180.0
MAX_TIMEOUT = 3600
MAX_OUTPUT = 20_000
"""Characters of the output that the model reads."""
MAX_SAVED = 10 * 1024 * 1024
"""Bytes of a longer output that are kept in a file for it to look into."""
MAX_PROGRESS = 100_000
"""Characters of the output handed on while the command runs."""
MAX_SAVED_FILES = 8


class TerminalArgs(msgspec.Struct, frozen=True):
    """Arguments of `terminal`."""

    command: Annotated[str, Meta(description="Bash command.", min_length=1)]
    background: Annotated[bool, Meta(description="Start it and return at once, for servers and long jobs.")] = False
    timeout: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_TIMEOUT)] | None, Meta(description="Seconds before it is stopped.")
    ] = None
    workdir: Annotated[str, Meta(description="Folder to run in; default: the session's.")] = ""


class Terminal:
    """The tool with its setting: `timeout` is in seconds, for calls that give none."""

    def __init__(self, timeout: float = DEFAULT_TIMEOUT) -> None:
        self._timeout = timeout

    async def run(self, args: TerminalArgs, ctx: ToolContext) -> ToolResult:
        """Run `terminal`."""
        folder = ctx.resolve(args.workdir) if args.workdir else ctx.cwd
        if "\0" in args.command:
            return ToolResult("The command holds a NUL character.", outcome="error")
        if not folder.is_dir():
            return ToolResult(f"There is no folder {folder}; the command was not run.", outcome="error")
        try:
            if args.background:
                return await _background(args.command, folder, ctx)
            return await _foreground(args.command, folder, args.timeout or self._timeout, ctx)
        except ToolFailed as error:
            return ToolResult(error.message, outcome="error")


async def _background(command: str, folder: Path, ctx: ToolContext) -> ToolResult:
    process_id = await ctx.processes.start(command, cwd=folder, env=ctx.env)
    return ToolResult(f"Started in the background as {process_id}. Use the tool process to see or end it.")


async def _foreground(command: str, folder: Path, timeout: float, ctx: ToolContext) -> ToolResult:
    import anyio

    output = _Output(ctx)
    code: int | None = None
    left = False
    try:
        async with running(shell_command(command), cwd=folder, env=ctx.env) as child:
            with anyio.move_on_after(timeout):
                code = await child.read_all(output.add)
                left = child.group_alive()
    finally:
        output.close()
    return _result(output, code, timeout, left=left)


def _result(output: _Output, code: int | None, timeout: float, *, left: bool) -> ToolResult:
    text = output.text().rstrip()
    notes: list[str] = []
    if code is None:
        notes.append(f"[stopped: it did not end within {timeout:g} s; use background for long jobs]")
    elif code < 0:
        notes.append(f"[ended by signal {-code}]")
    elif code:
        notes.append(f"[exit code {code}]")
    if left:
        notes.append("[what it left running was stopped with it; use background to keep a process]")
    shown = "\n".join(part for part in (text, *notes) if part)
    exit_code = 124 if code is None else code if code >= 0 else 128 - code
    return ToolResult(shown or "(no output)", outcome="ok" if code == 0 else "error", exit_code=exit_code)


class _Output:
    """What a command prints: shown as it comes, kept within bounds, and saved to a file where it is long."""

    def __init__(self, ctx: ToolContext) -> None:
        self._ctx = ctx
        self._kept = BoundedOutput(MAX_OUTPUT - 400)  # the notes need a little room
        self._decoder = OutputDecoder()
        self._progress_room = MAX_PROGRESS
        self._start: bytearray | None = bytearray()
        self._saved = 0
        self._file: BinaryIO | None = None
        self._path = ""

    def add(self, data: bytes) -> None:
        self._save(data)
        self._kept.add(data)
        if self._progress_room > 0:
            self._show(self._decoder.decode(data))

    def close(self) -> None:
        if self._progress_room > 0:
            self._show(self._decoder.decode(b"", final=True))
        if self._file is not None:
            self._file.close()

    def text(self) -> str:
        if not self._path:
            return self._kept.text()
        return self._kept.text(where=f"its first {self._saved:,} bytes are in {self._path}")

    def _show(self, text: str) -> None:
        self._progress_room -= len(text)
        if text:
            self._ctx.progress(text)

    def _save(self, data: bytes) -> None:
        """Keep the beginning in memory until it is clear that the output is long; then write it to a file."""
        if self._start is not None:
            self._start += data
            if len(self._start) <= MAX_OUTPUT:
                return
            self._file, self._path = _new_file(self._ctx)
            data, self._start = bytes(self._start), None
        if self._file is not None and self._saved < MAX_SAVED:
            self._saved += self._file.write(data[: MAX_SAVED - self._saved])


def _new_file(ctx: ToolContext) -> tuple[BinaryIO, str]:
    """Open a file for a long output. The folder belongs to the session's processes and goes with them."""
    import tempfile

    folder = ctx.processes.folder()
    old = sorted(folder.glob("output-*.txt"), key=lambda path: path.stat().st_mtime)
    for path in old[: max(0, len(old) - MAX_SAVED_FILES + 1)]:
        path.unlink(missing_ok=True)
    descriptor, name = tempfile.mkstemp(prefix="output-", suffix=".txt", dir=folder)
    return os.fdopen(descriptor, "wb"), name
