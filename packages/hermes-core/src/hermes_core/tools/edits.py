"""The tools that change files: `write_file` and `patch`. An edit is planned whole before the first byte is written."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hermes_core.content import clean
from hermes_core.errors import ToolFailed
from hermes_core.questions import FileChange
from hermes_core.tools.patch_text import FilePatch, applied, parse_patch, replaced
from hermes_core.tools.text_file import TextFile, read_text, remove, write_text
from hermes_core.tools.tool import ToolContext, ToolResult

MAX_SHOWN = 1_000_000
"""Characters; a larger text before or after a change is not shown to those who watch."""


class WriteFileArgs(msgspec.Struct, frozen=True):
    """Arguments of `write_file`."""

    path: Annotated[str, Meta(description="File to create or replace; missing folders are created.")]
    content: Annotated[str, Meta(description="The whole new text.")]


class PatchArgs(msgspec.Struct, frozen=True):
    """Arguments of `patch`."""

    mode: Annotated[
        Literal["replace", "patch"],
        Meta(description="replace: swap old_string for new_string in one file; patch: apply a V4A patch."),
    ] = "replace"
    path: Annotated[str, Meta(description="File to change (replace).")] = ""
    old_string: Annotated[str, Meta(description="Exact text to find, with enough lines to be unique (replace).")] = ""
    new_string: Annotated[str, Meta(description="Text to put in its place; empty removes it (replace).")] = ""
    replace_all: Annotated[bool, Meta(description="Replace every occurrence.")] = False
    patch: Annotated[
        str,
        Meta(
            description="V4A text (patch): *** Begin Patch / *** Update File: p (or Add, Delete) / @@ / lines "
            "starting with ' ', '-' or '+' / *** End Patch."
        ),
    ] = ""


class _Edit(msgspec.Struct, frozen=True):
    """One planned change: `new` None removes the file; `old` None says that there is none yet."""

    path: Path
    old: TextFile | None
    new: TextFile | None


def edited_paths(args: WriteFileArgs | PatchArgs) -> tuple[str, ...]:
    """Return every path that a call would change, as written; none where its patch cannot be read."""
    if isinstance(args, WriteFileArgs):
        return (args.path,)
    if args.mode == "replace":
        return (args.path,) if args.path else ()
    try:
        files = parse_patch(args.patch)
    except ToolFailed:
        return ()
    return tuple(path for file in files for path in (file.path, file.move_to) if path)


async def write_file(args: WriteFileArgs, ctx: ToolContext) -> ToolResult:
    """Run `write_file`."""
    return await _in_thread(partial(_write, args, ctx))


async def patch(args: PatchArgs, ctx: ToolContext) -> ToolResult:
    """Run `patch`."""
    return await _in_thread(partial(_write, args, ctx))


async def preview(args: WriteFileArgs | PatchArgs, ctx: ToolContext) -> tuple[FileChange, ...]:
    """Return the edits that a call would make. Raises ToolFailed where it would fail."""
    import anyio.to_thread

    return _changes(await anyio.to_thread.run_sync(partial(_plan, args, ctx)))


async def _in_thread(work: partial[ToolResult]) -> ToolResult:
    import anyio.to_thread

    try:
        return await anyio.to_thread.run_sync(work)
    except ToolFailed as error:
        return ToolResult(error.message, outcome="error")


def _write(args: WriteFileArgs | PatchArgs, ctx: ToolContext) -> ToolResult:
    edits = _plan(args, ctx)
    done: list[_Edit] = []
    try:
        for edit in edits:
            if edit.new is None:
                remove(edit.path)
            else:
                write_text(edit.path, edit.new)
            ctx.files.seen(edit.path)
            done.append(edit)
    except ToolFailed as error:
        kept = f" Done before that: {', '.join(str(edit.path) for edit in done)}." if done else ""
        return ToolResult(error.message + kept, outcome="error", changes=_changes(done))
    return ToolResult("\n".join(_told(edit) for edit in edits), changes=_changes(edits))


def _plan(args: WriteFileArgs | PatchArgs, ctx: ToolContext) -> list[_Edit]:
    """Return the edits of a call, all checked, with nothing written."""
    match args:
        case WriteFileArgs(path=path, content=content):
            target = _target(path, ctx)
            before = read_text(target) if target.exists() else None
            style = before or TextFile("")
            return [_Edit(target, before, TextFile(content, style.newline, style.bom))]
        case PatchArgs(mode="replace"):
            if not args.path:
                raise ToolFailed("path is missing: mode 'replace' needs path, old_string and new_string.")
            target = _target(args.path, ctx)
            before = read_text(target)
            text = replaced(before.text, args.old_string, args.new_string, every=args.replace_all, path=args.path)
            return [_Edit(target, before, msgspec.structs.replace(before, text=text))]
        case PatchArgs():
            if not args.patch.strip():
                raise ToolFailed("patch is missing: mode 'patch' needs the V4A text.")
            return _plan_patch(parse_patch(args.patch), ctx)


def _plan_patch(files: tuple[FilePatch, ...], ctx: ToolContext) -> list[_Edit]:
    edits: list[_Edit] = []
    for file in files:
        target = _target(file.path, ctx)
        if any(edit.path == target for edit in edits):
            raise ToolFailed(f"The patch names {file.path} twice; put all its hunks under one header.")
        if file.action == "add":
            if target.exists():
                raise ToolFailed(f"{file.path} exists already; use '*** Update File:'.")
            edits.append(_Edit(target, None, TextFile(file.text)))
            continue
        before = read_text(target)
        if file.action == "delete":
            edits.append(_Edit(target, before, None))
            continue
        after = msgspec.structs.replace(before, text=applied(before.text, file.hunks, file.path))
        if file.move_to:
            moved = _target(file.move_to, ctx)
            if moved.exists():
                raise ToolFailed(f"{file.move_to} exists already; nothing was moved.")
            edits += [_Edit(moved, None, after), _Edit(target, before, None)]
        else:
            edits.append(_Edit(target, before, after))
    return edits


def _target(path: str, ctx: ToolContext) -> Path:
    """Return the file that is meant, unless it changed since the session saw it."""
    if not path.strip() or "\0" in path:
        raise ToolFailed("path is empty or holds a NUL character.")
    target = ctx.resolve(path)
    if ctx.files.changed_outside(target):
        raise ToolFailed(
            f"{path} was changed by somebody else since it was last read here. Nothing was written: read it again, "
            "then make the change on its present text."
        )
    return target


def _changes(edits: list[_Edit]) -> tuple[FileChange, ...]:
    return tuple(FileChange(str(edit.path), _shown(edit.old), _shown(edit.new)) for edit in edits)


def _shown(file: TextFile | None) -> str | None:
    if file is None:
        return None
    return clean(file.text) if len(file.text) <= MAX_SHOWN else f"[{len(file.text):,} characters, not shown]\n"


def _told(edit: _Edit) -> str:
    if edit.new is None:
        return f"Removed {edit.path}."
    lines = len(edit.new.text.splitlines())
    if edit.old is None:
        return f"Created {edit.path} ({lines} lines)."
    same = " Its text is the same as before." if edit.old.text == edit.new.text else ""
    return f"Changed {edit.path} (now {lines} lines).{same}"
