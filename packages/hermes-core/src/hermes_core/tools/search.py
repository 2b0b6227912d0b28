"""The tool `search_files`: contents by regular expression, or names by wildcard, below one folder.

Files that .gitignore files (of the folder searched, those above it in the same repository, and those below) leave
out are skipped, and so are `.git`, binary files, large files, and files that may hold keys. The search runs in a
worker thread and ends soon after the turn is interrupted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hermes_core.errors import ToolFailed
from hermes_core.tools.tool import ToolContext, ToolResult

MAX_RESULTS = 500
MAX_CHARACTERS = 30_000
MAX_LINE = 400


class SearchFilesArgs(msgspec.Struct, frozen=True):
    """Arguments of `search_files`."""

    pattern: Annotated[str, Meta(description="Regular expression (content) or wildcard such as *.py (files).")]
    target: Literal["content", "files"] = "content"
    path: Annotated[str, Meta(description="Folder or file to search; default: the session's folder.")] = ""
    file_glob: Annotated[str, Meta(description="Only files of this name pattern, such as *.ts (content).")] = ""
    limit: Annotated[int, Meta(description="Most results.", ge=1, le=MAX_RESULTS)] = 50
    offset: Annotated[int, Meta(description="Results to skip.", ge=0)] = 0
    output_mode: Annotated[
        Literal["content", "files_only", "count"], Meta(description="Lines, file names, or matches per file (content).")
    ] = "content"
    context: Annotated[int, Meta(description="Lines around each match.", ge=0, le=20)] = 0


async def search_files(args: SearchFilesArgs, ctx: ToolContext) -> ToolResult:
    """Run `search_files`."""
    import anyio.to_thread

    try:
        return ToolResult(await anyio.to_thread.run_sync(partial(_search, args, ctx)))
    except ToolFailed as error:
        return ToolResult(error.message, outcome="error")


def _search(args: SearchFilesArgs, ctx: ToolContext) -> str:
    from hermes_core.tools.walk import files_below

    if "\0" in args.path:
        raise ToolFailed("path holds a NUL character.")
    root = ctx.resolve(args.path) if args.path else ctx.cwd
    if not root.exists():
        raise ToolFailed(f"There is no file or folder {root}.")
    files = files_below(root)
    results = _names(args, root, files) if args.target == "files" else _matches(args, root, files)
    return _page(args, results)


def _page(args: SearchFilesArgs, results: Iterator[str]) -> str:
    """Return the results from `offset` on, within the bounds, and say where to go on."""
    shown: list[str] = []
    room = MAX_CHARACTERS
    for number, result in enumerate(results):
        if number < args.offset:
            continue
        room -= len(result) + 1
        if len(shown) == args.limit or (room < 0 and shown):
            shown.append(f"[more results; go on with offset {args.offset + len(shown)}]")
            break
        shown.append(result)
    if shown:
        return "\n".join(shown)
    return "No more results." if args.offset else "Nothing was found."


def _names(args: SearchFilesArgs, root: Path, files: Iterator[Path]) -> Iterator[str]:
    fits = _name_filter(args.pattern)
    for path in files:
        if fits(path, root):
            yield _relative(path, root)


def _matches(args: SearchFilesArgs, root: Path, files: Iterator[Path]) -> Iterator[str]:
    from hermes_core.tools.walk import text_lines

    expression = _compiled(args.pattern)
    literal = args.pattern.encode() if re.fullmatch(r"[\w \-/:;,=<>@!%&'\"~`#]+", args.pattern) else b""
    fits = _name_filter(args.file_glob) if args.file_glob else None
    for path in files:
        if fits is not None and not fits(path, root):
            continue
        lines = text_lines(path, literal)
        name = _relative(path, root)
        found = [i for i, line in enumerate(lines) if expression.search(line)]
        if not found:
            continue
        match args.output_mode:
            case "files_only":
                yield name
            case "count":
                yield f"{name}: {len(found)}"
            case "content":
                yield from _excerpts(name, lines, found, args.context)


def _excerpts(name: str, lines: list[str], found: list[int], context: int) -> Iterator[str]:
    """Yield one result per match: `name:line:text`, and `name-line-text` for the lines around it."""
    for index in found:
        around = range(max(0, index - context), min(len(lines), index + context + 1))
        rows = [
            f"{name}{':' if i == index else '-'}{i + 1}{':' if i == index else '-'}{_cut(lines[i])}" for i in around
        ]
        yield "\n".join(rows) + ("\n--" if context else "")


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + " [...]"


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path != root else str(path)


def _name_filter(glob: str) -> Callable[[Path, Path], bool]:
    """Return a test of a path below a root: a bare name pattern fits in every folder, one with `/` from the root."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines([glob.lstrip("!") or "*"])

    def fits(path: Path, root: Path) -> bool:
        return spec.match_file(path.relative_to(root).as_posix() if path != root else path.name)

    return fits


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern. Raises ToolFailed for one that is wrong, or could take for ever on an ordinary line."""
    try:
        expression = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolFailed(
            f"The pattern is not a regular expression: {error}. Escape special characters with \\."
        ) from None
    if _explodes(pattern):
        raise ToolFailed("The pattern repeats a repetition, such as (a+)+, which can take for ever. Make it simpler.")
    return expression


def _explodes(pattern: str) -> bool:
    """Say whether an unbounded repetition stands inside another one, outside of an atomic group.

    Matching holds the interpreter's lock, so a pattern that backtracks exponentially would stop everything.
    """
    from importlib import import_module

    parser: Any = import_module("re._parser")  # the parse tree of the standard library's own compiler
    return _nested(parser.parse(pattern), inside=False)


def _nested(part: Any, *, inside: bool) -> bool:
    for operation, value in part:
        name = str(operation)
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            unbounded = int(value[1]) > 20
            if (unbounded and inside) or _nested(value[2], inside=inside or unbounded):
                return True
        elif name == "SUBPATTERN":
            if _nested(value[3], inside=inside):
                return True
        elif name == "BRANCH":
            if any(_nested(branch, inside=inside) for branch in value[1]):
                return True
        elif name in ("ASSERT", "ASSERT_NOT") and _nested(value[1], inside=inside):
            return True
    return False
