"""Rules for the programs that remove, overwrite or open up files: rm, find, chmod, dd, mkfs, mv and their kin."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from hermes_core.tools.calls import Call
from hermes_core.tools.danger import Danger, Grade, Where, alternatives, is_device
from hermes_core.tools.paths import inside
from hermes_core.tools.words import UNKNOWN, Word

EVERYTHING = "it removes the root, a home or a system folder"
_GENERATED = frozenset(
    {
        *("build", "dist", "out", "target", "node_modules", "coverage", "htmlcov", "__pycache__", ".cache", ".next"),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".venv", "venv", ".parcel-cache", ".turbo"),
    }
)
_TOP = frozenset(
    "/" + name
    for name in (
        *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "opt", "proc", "root", "run", "sbin", "srv"),
        *("sys", "usr", "var", "Users", "System", "Library"),
    )
)
_FILTERS = frozenset(
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-regex",
        "-mtime",
        "-mmin",
        "-size",
        "-newer",
        "-user",
        "-empty",
        "-perm",
        "-links",
    ]
)
_OPEN_MODE = re.compile(
    r"0?[0-7]?[0-7][0-7][2367]|[0-7]*[2467][0-7]{3}|(?:[uog]*[ao][uog]*|)[+=][rxX]*w[rwxX]*|\S*[+=]\S*s\S*"
)


def flags(call: Call) -> str:
    """Return the letters of all short options."""
    return "".join(word.text[1:] for word in call.args if re.fullmatch(r"-[A-Za-z0-9]+", word.text))


def has(call: Call, *names: str) -> bool:
    """Say whether one of the options is given: with or without `=value`, long ones also cut short (`--recurs`)."""
    for word in call.args:
        option = word.text.split("=", 1)[0]
        if option in names:
            return True
        if len(option) > 3 and option.startswith("--") and any(name.startswith(option) for name in names):
            return True
    return False


def targets(call: Call) -> list[Word]:
    """Return the arguments that are not options."""
    found: list[Word] = []
    only_names = False
    for word in call.args:
        if word.text == "--" and not only_names:
            only_names = True
        elif only_names or not word.text.startswith("-") or word.text == "-":
            found.append(word)
    return found


def is_everything(word: Word, where: Where) -> bool:
    """Say whether a word means the root, a home, a top folder of the system, or all that is in one of them."""
    user = str(where.places.user)
    all_of_it = {"/", user, os.path.realpath(user), *_TOP}
    return any(_means_one_of(where.path(each), all_of_it, pattern=word.pattern) for each in alternatives(word))


def _means_one_of(path: str, folders: set[str], *, pattern: bool) -> bool:
    while path.endswith(("/*", "/.*", "/**", "/?*")):
        path = posixpath.dirname(path)
    if UNKNOWN in path:
        return False
    if pattern and any(_fits(path, folder) for folder in folders):
        return True
    return path in folders or os.path.realpath(path) in folders


def _fits(pattern: str, path: str) -> bool:
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def rm(call: Call, where: Where) -> Iterator[Danger]:
    """Judge `rm`."""
    letters = flags(call)
    recursive = "r" in letters or "R" in letters or has(call, "--recursive")
    forced = "f" in letters or has(call, "--force")
    words = targets(call)
    if has(call, "--no-preserve-root") or (recursive and any(is_everything(word, where) for word in words)):
        yield Danger(Grade.REFUSE, EVERYTHING)
    elif recursive:
        made_again = bool(words) and all(_is_generated(word, where) for word in words)
        yield Danger(Grade.MILD if made_again else Grade.ASK, "it removes folders with all they hold")
    elif forced:
        plain = bool(words) and all(_is_plain(word, where) for word in words)
        yield Danger(Grade.MILD if plain else Grade.ASK, "it removes files without asking")
    elif not all(word.certain for word in call.args):
        yield Danger(Grade.ASK, "it removes files whose names are computed")


def _is_plain(word: Word, where: Where) -> bool:
    path = where.path(word)
    return word.certain and not word.pattern and UNKNOWN not in path and inside(Path(path), where.places.cwd)


def _is_generated(word: Word, where: Where) -> bool:
    if not _is_plain(word, where):
        return False
    path = where.path(word)
    itself = os.path.realpath(path) == os.path.realpath(where.places.cwd)
    return posixpath.basename(path) in _GENERATED and not itself


def find(call: Call, where: Where) -> Iterator[Danger]:
    """Judge `find -delete`; what it executes is judged as calls of their own."""
    texts = [word.text for word in call.args]
    first_test = next((place for place, text in enumerate(texts) if text.startswith(("-", "(", "!"))), len(texts))
    starts = call.args[:first_test]
    whole = _FILTERS.isdisjoint(texts) and any(is_everything(word, where) for word in starts)
    if "-delete" in texts or ("rm" in texts and any(text.startswith("-exec") for text in texts)):
        yield Danger(Grade.REFUSE, EVERYTHING) if whole else Danger(Grade.ASK, "it removes every file that it finds")
    if any(text.startswith(("-fprint", "-fls")) for text in texts):
        yield Danger(Grade.ASK, "it writes what it finds to a file")


def permissions(call: Call, where: Where) -> Iterator[Danger]:
    """Judge chmod, chown and their kin."""
    recursive = "R" in flags(call) or has(call, "--recursive")
    words = targets(call)
    if recursive and any(is_everything(word, where) for word in words[1:]):
        yield Danger(Grade.REFUSE, "it changes the permissions of the root, a home or a system folder")
    elif recursive:
        yield Danger(Grade.ASK, "it changes the permissions or the owner of everything below a folder")
    elif call.name == "chmod" and words and _opens(words[0]):
        yield Danger(Grade.ASK, "it lets everybody write, or gives a program its owner's rights")


def _opens(mode: Word) -> bool:
    return not mode.certain or any(_OPEN_MODE.fullmatch(part) for part in mode.text.split(","))


def dd(call: Call, where: Where) -> Iterator[Danger]:
    """Judge `dd` by what it writes."""
    for word in call.args:
        if word.text.startswith("of="):
            path = where.path(Word(word.text[3:]))
            if is_device(path) or not word.certain:
                yield Danger(Grade.REFUSE, "it writes to a device")
            else:
                yield Danger(Grade.ASK, "it overwrites a file block by block")


def disk_format(call: Call, where: Where) -> Iterator[Danger]:
    """Judge mkfs, fdisk and their kin."""
    looks = has(call, "-l", "--list", "--version", "--help") and call.name in ("fdisk", "sfdisk", "parted", "wipefs")
    device = any(word.text.startswith("/dev/") or not word.certain for word in call.args)
    if not looks:
        yield Danger(Grade.REFUSE if device else Grade.ASK, "it formats or repartitions a disk")


def move(call: Call, where: Where) -> Iterator[Danger]:
    """Judge mv and rsync by what goes away at the source or the destination."""
    if call.name == "mv" and any(is_everything(word, where) for word in targets(call)[:-1]):
        yield Danger(Grade.REFUSE, "it moves the root, a home or a system folder away")
    if call.name == "mv" and any(where.path(word).startswith("/dev/") for word in targets(call)[-1:]):
        yield Danger(Grade.ASK, "it moves a file over a device")
    if call.name == "rsync" and any(word.text.startswith(("--delete", "--remove-source")) for word in call.args):
        yield Danger(Grade.ASK, "it removes files at the source or the destination")
