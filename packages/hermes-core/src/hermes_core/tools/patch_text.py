"""Changing texts: replacing a passage that must be there once, and patches in the V4A form. Pure: no file is touched.

The V4A form: `*** Begin Patch`, then for each file `*** Add File: path` (lines with `+`), `*** Delete File: path`, or
`*** Update File: path` (optionally `*** Move to: path`) with hunks that begin with `@@` (text behind it names a line
above the change) and hold lines that begin with a blank, `-` or `+`; at last `*** End Patch`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from hermes_core.errors import ToolFailed


class Hunk(msgspec.Struct, frozen=True):
    """Lines to be found, the lines to stand in their place, and the line above them where one is named."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    anchor: str = ""
    at_end: bool = False


class FilePatch(msgspec.Struct, frozen=True):
    """What a patch does with one file."""

    action: Literal["add", "delete", "update"]
    path: str
    hunks: tuple[Hunk, ...] = ()
    text: str = ""
    move_to: str = ""


def replaced(text: str, old: str, new: str, *, every: bool, path: str) -> str:
    """Return `text` with `old` replaced. Raises ToolFailed unless it is there once (or `every`, at least once)."""
    if not old:
        raise ToolFailed("old_string is empty: give the text to be replaced, or write a new file with write_file.")
    if old == new:
        raise ToolFailed("old_string and new_string are the same; nothing would change.")
    count = text.count(old)
    if count == 0 and "\r\n" in old:
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        count = text.count(old)
    if count == 0:
        raise ToolFailed(f"old_string was not found in {path}.{_near(text, old)} Read the file and copy it exactly.")
    if count > 1 and not every:
        places = ", ".join(str(number) for number in _line_numbers(text, old))
        raise ToolFailed(
            f"old_string is found {count} times in {path} (lines {places}). Add lines around it until it is found "
            "once, or set replace_all."
        )
    return text.replace(old, new)


def _line_numbers(text: str, old: str) -> Iterator[int]:
    position = -1
    for _ in range(10):
        position = text.find(old, position + 1)
        if position < 0:
            return
        yield text.count("\n", 0, position) + 1


def _near(text: str, old: str) -> str:
    """Say where the first line of `old` stands when only white space differs."""
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    for number, line in enumerate(text.splitlines(), 1):
        if first and line.strip() == first:
            return f" Its first line stands at line {number}, but white space or the lines after it differ."
    return ""


# -- V4A ---------------------------------------------------------------------------------------------


def parse_patch(patch: str) -> tuple[FilePatch, ...]:
    """Return what a V4A patch does, file by file. Raises ToolFailed that names the line at fault."""
    lines = patch.replace("\r\n", "\n").strip("\n").split("\n")
    if lines[0].strip() != "*** Begin Patch":
        raise ToolFailed("The patch must begin with the line '*** Begin Patch'.")
    if lines[-1].strip() != "*** End Patch":
        raise ToolFailed("The patch must end with the line '*** End Patch'; it may have been cut off.")
    files: list[FilePatch] = []
    index = 1
    while index < len(lines) - 1:
        line = lines[index]
        if not line.strip():
            index += 1
            continue
        end = index + 1
        while end < len(lines) - 1 and not lines[end].startswith(("*** Add", "*** Delete", "*** Update")):
            end += 1
        files.append(_file_patch(line, lines[index + 1 : end], index + 1))
        index = end
    if not files:
        raise ToolFailed("The patch changes no file.")
    return tuple(files)


def _file_patch(header: str, body: Sequence[str], number: int) -> FilePatch:
    action, _, path = header.removeprefix("*** ").partition(" File:")
    path = path.strip()
    if not header.startswith("*** ") or not path:
        raise ToolFailed(f"Line {number} of the patch should name a file: '*** Update File: path'. It is {header!r}.")
    match action:
        case "Add":
            wrong = next((line for line in body if line and not line.startswith("+")), None)
            if wrong is not None:
                raise ToolFailed(f"Each line of the new file {path} must begin with '+'; this does not: {wrong!r}")
            return FilePatch("add", path, text="".join(f"{line[1:]}\n" for line in body if line))
        case "Delete":
            return FilePatch("delete", path)
        case "Update":
            move_to = ""
            if body and body[0].startswith("*** Move to:"):
                move_to, body = body[0].removeprefix("*** Move to:").strip(), body[1:]
            hunks = tuple(_hunks(body, path))
            if not hunks and not move_to:
                raise ToolFailed(f"The patch has no changed line for {path}.")
            return FilePatch("update", path, hunks, move_to=move_to)
        case _:
            raise ToolFailed(f"Line {number} of the patch: {action!r} is not Add, Delete or Update.")


def _hunks(body: Sequence[str], path: str) -> Iterator[Hunk]:
    anchor, at_end = "", False
    old: list[str] = []
    new: list[str] = []
    for line in body:
        if line.startswith("@@"):
            if old or new:
                yield Hunk(tuple(old), tuple(new), anchor, at_end)
            old, new, at_end = [], [], False
            anchor = line[2:].strip().removesuffix("@@").strip()
            if anchor.startswith("-") and "," in anchor:
                anchor = ""  # the numbers of a unified diff: the lines themselves say where
        elif line.startswith("*** End of File"):
            at_end = True
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith(" ") or not line:
            old.append(line[1:])
            new.append(line[1:])
        else:
            raise ToolFailed(f"In the patch of {path}, a line must begin with a blank, '-' or '+': {line!r}")
    if old or new:
        yield Hunk(tuple(old), tuple(new), anchor, at_end)


def applied(text: str, hunks: Sequence[Hunk], path: str) -> str:
    """Return `text` with the hunks applied, in order, each below the one before. Raises ToolFailed."""
    ends = text.endswith("\n") or not text
    lines = text.split("\n")[:-1] if text.endswith("\n") else (text.split("\n") if text else [])
    start = 0
    for number, hunk in enumerate(hunks, 1):
        place = _place(lines, hunk, start, f"Hunk {number} of {path}")
        lines[place : place + len(hunk.old)] = hunk.new
        start = place + len(hunk.new)
    return "\n".join(lines) + ("\n" if ends and lines else "")


def _place(lines: list[str], hunk: Hunk, start: int, name: str) -> int:
    """Return the index at which the hunk's old lines stand: exactly, else but for white space at line ends."""
    if hunk.anchor:
        start = next((i + 1 for i in range(start, len(lines)) if lines[i].strip() == hunk.anchor.strip()), -1)
        if start < 0:
            raise ToolFailed(f"{name}: the line {hunk.anchor!r} after '@@' was not found. Read the file again.")
    if not hunk.old:
        return start if hunk.anchor else len(lines)
    for strip in (False, True):
        found = [i for i in range(start, len(lines) - len(hunk.old) + 1) if _fits(lines, hunk.old, i, strip=strip)]
        if hunk.at_end and found:
            return found[-1]
        if len(found) > 1 and not hunk.anchor and start == 0:
            at = ", ".join(str(i + 1) for i in found[:5])
            raise ToolFailed(
                f"{name} fits at several places (lines {at}). Add lines around it, or name one after '@@'."
            )
        if found:
            return found[0]
    wanted = next((line for line in hunk.old if line.strip()), hunk.old[0])
    raise ToolFailed(
        f"{name} was not found: no place has its lines, the first of which is {wanted!r}. Read the file again."
    )


def _fits(lines: list[str], old: Sequence[str], at: int, *, strip: bool) -> bool:
    if strip:
        return all(lines[at + i].rstrip() == line.rstrip() for i, line in enumerate(old))
    return all(lines[at + i] == line for i, line in enumerate(old))
