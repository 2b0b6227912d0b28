"""The tool `read_file`: a window of lines of a text file, with their numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta

from hermes_core.errors import ToolFailed
from hermes_core.tools.text_file import MAX_BYTES, read_text, regular_file
from hermes_core.tools.tool import ToolContext, ToolResult

MAX_LINES = 2000
MAX_LINE = 2000
MAX_CHARACTERS = 40_000
"""Bounds of one answer: lines, characters of a line, characters in all."""


class ReadFileArgs(msgspec.Struct, frozen=True):
    """Arguments of `read_file`."""

    path: Annotated[str, Meta(description="File to read.")]
    offset: Annotated[int, Meta(description="First line, from 1.", ge=1)] = 1
    limit: Annotated[int, Meta(description="Most lines to return.", ge=1, le=MAX_LINES)] = 500


async def read_file(args: ReadFileArgs, ctx: ToolContext) -> ToolResult:
    """Run `read_file`."""
    import anyio.to_thread

    try:
        return ToolResult(await anyio.to_thread.run_sync(partial(_read, args, ctx)))
    except ToolFailed as error:
        return ToolResult(error.message, outcome="error")


def _read(args: ReadFileArgs, ctx: ToolContext) -> str:
    if not args.path.strip() or "\0" in args.path:
        raise ToolFailed("path is empty or holds a NUL character.")
    path = ctx.resolve(args.path)
    ctx.files.seen(path)
    if regular_file(path).st_size > MAX_BYTES:
        return _read_part(path, args)
    lines = read_text(path).text.removesuffix("\n").split("\n")
    if lines == [""]:
        return f"{args.path} is empty."
    if args.offset > len(lines):
        raise ToolFailed(f"{args.path} has {len(lines)} lines; offset {args.offset} is behind its end.")
    shown, count = _numbered(iter(lines[args.offset - 1 : args.offset - 1 + args.limit]), args.offset)
    last = args.offset + count - 1
    if last >= len(lines):
        return shown
    return f"{shown}\n[lines {args.offset}-{last} of {len(lines)}; go on with offset {last + 1}]"


def _read_part(path: Path, args: ReadFileArgs) -> str:
    """Read the window of a file that is too large to be held, line by line."""
    try:
        with path.open("rb") as file:
            if b"\0" in file.read(8192):
                raise ToolFailed(f"{path} is not a text file.")
            file.seek(0)
            wanted = itertools.islice(_long_lines(file), args.offset - 1, args.offset - 1 + args.limit)
            shown, count = _numbered(wanted, args.offset)
    except OSError as error:
        raise ToolFailed(f"{path} cannot be read: {error.strerror}.") from error
    if not count:
        raise ToolFailed(f"{args.path} has fewer than {args.offset} lines.")
    return f"{shown}\n[lines from {args.offset} of a file of {path.stat().st_size:,} bytes]"


def _long_lines(file: BinaryIO) -> Iterator[str]:
    while line := file.readline(64 * 1024):
        start = line
        while line and not line.endswith(b"\n"):
            line = file.readline(64 * 1024)
        yield start.decode("utf-8", "replace").rstrip("\r\n")


def _numbered(lines: Iterator[str], first: int) -> tuple[str, int]:
    """Return numbered lines within the bounds, and how many."""
    shown: list[str] = []
    room = MAX_CHARACTERS
    for number, line in enumerate(lines, first):
        text = line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} [... {len(line) - MAX_LINE:,} more characters]"
        row = f"{number:>5}|{text}"
        room -= len(row) + 1
        if room < 0 and shown:
            break
        shown.append(row)
    return "\n".join(shown), len(shown)
