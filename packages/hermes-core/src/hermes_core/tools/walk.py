"""Walking a folder as git sees it: ignore files are honoured, hidden stores and secrets left alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import anyio.from_thread
from pathspec import GitIgnoreSpec

from hermes_core.errors import ToolFailed
from hermes_core.tools.paths import Care, Places, judge, may_need_care, store_inodes

MAX_FILES = 50_000
"""Files looked at in one search."""
MAX_FILE = 4 * 1024 * 1024
"""Bytes; larger files are skipped."""
MAX_LINE = 2000
"""Characters of a line that are searched."""
_NEVER = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})
"""Folders skipped even where no ignore file names them."""

Rules = tuple[tuple[str, GitIgnoreSpec], ...]
"""Ignore rules with the folder that each starts from, outermost first."""


def files_below(root: Path) -> Iterator[Path]:
    """Yield the files below `root` in order of their names; `root` itself if it is a file.

    Must run in a worker thread of anyio: it ends with the cancellation of whoever waits for it. Raises ToolFailed
    after MAX_FILES files.
    """
    if root.is_file():
        yield root
        return
    care = _Care(Places(root, Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes"), Path.home()))
    rules = _rules_above(root)
    if _ignored(str(root), rules, directory=True):
        rules = ()  # who names an ignored folder wants to look into it
    for number, entry in enumerate(_walk(str(root), rules)):
        anyio.from_thread.check_cancelled()
        if number >= MAX_FILES:
            raise ToolFailed(f"There are more than {MAX_FILES:,} files below {root}; search a smaller folder.")
        if not care.needed(entry):
            yield Path(entry.path)


class _Care:
    """Which files a search leaves alone: those that a read would be asked about, or refused."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._inodes = store_inodes(places)
        self._root = str(places.cwd)
        self._real = os.path.realpath(places.cwd)

    def needed(self, entry: os.DirEntry[str]) -> bool:
        """Judge in full only what may need it: most files are plain ones with harmless names."""
        try:
            found = entry.stat()
        except OSError:
            return True
        linked = found.st_nlink > 1 and (found.st_dev, found.st_ino) in self._inodes
        real = self._real + entry.path[len(self._root) :]  # links to folders are not followed on the way
        doubtful = entry.is_symlink() or may_need_care(real, self._places)
        return linked or (doubtful and judge(Path(entry.path), self._places, writing=False)[0] is not Care.NONE)


def _walk(folder: str, rules: Rules) -> Iterator[os.DirEntry[str]]:
    rules = (*rules, *_rules_of(folder))
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return  # not readable: nothing to find there
    for entry in found:
        directory = entry.is_dir(follow_symlinks=False)
        if _ignored(entry.path, rules, directory=directory):
            continue
        if directory:
            if entry.name not in _NEVER:
                yield from _walk(entry.path, rules)
        elif entry.is_file():
            yield entry


def _ignored(path: str, rules: Rules, *, directory: bool) -> bool:
    """Ask the rules from the innermost out; the first that says something decides."""
    for folder, spec in reversed(rules):
        name = os.path.relpath(path, folder).replace(os.sep, "/") + ("/" if directory else "")
        include = spec.check_file(name).include
        if include is not None:
            return include
    return False


def _rules_above(root: Path) -> Rules:
    """Return the rules of the folders above `root`, up to the top of its repository."""
    found: list[tuple[str, GitIgnoreSpec]] = []
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    if top is None or top == root:
        return ()
    for folder in root.parents:
        found[:0] = _rules_of(str(folder))
        if folder == top:
            break
    return tuple(found)


def _rules_of(folder: str) -> Rules:
    try:
        text = Path(folder, ".gitignore").read_text("utf-8", "replace")
    except OSError:
        return ()
    return ((folder, GitIgnoreSpec.from_lines(text[:200_000].splitlines())),)


def text_lines(path: Path, literal: bytes = b"") -> list[str]:
    """Return the lines of a text file, cut to MAX_LINE characters; none for binary, large or unreadable files.

    None either where `literal` is nowhere in the file, which is cheaper to see before there are lines.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            return []
        data = path.read_bytes()
    except OSError:
        return []
    if literal not in data or b"\0" in data[:8192]:
        return []
    return [line[:MAX_LINE].rstrip("\r") for line in data.decode("utf-8", "replace").removesuffix("\n").split("\n")]
