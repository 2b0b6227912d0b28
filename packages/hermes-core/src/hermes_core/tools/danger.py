"""What a danger is, and the dangers of the files that a call names."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from enum import IntEnum
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from hermes_core.tools.paths import HARMLESS_DEVICES, Care, Places, judge
from hermes_core.tools.words import UNKNOWN, Word


class Grade(IntEnum):
    """How bad a danger is; the highest of a command decides."""

    MILD = 1
    """Asked in manual mode, allowed in smart mode: it touches only what a build makes again."""
    ASK = 2
    REFUSE = 3
    """Refused in every mode."""


class Danger(msgspec.Struct, frozen=True):
    """One reason for not simply running a call, as a sentence about "it"."""

    grade: Grade
    reason: str


class Where(msgspec.Struct, frozen=True):
    """The places, and the folder a call runs in; None after a `cd` to somewhere that is not known."""

    places: Places
    folder: Path | None

    def path(self, word: Word) -> str:
        """Return the absolute path that a word means, with UNKNOWN in it where it is not certain."""
        text = word.text
        if text.startswith("/"):
            return posixpath.normpath("/" + text.lstrip("/"))
        return posixpath.normpath(posixpath.join(UNKNOWN if self.folder is None else str(self.folder), text))

    def after_cd(self, args: tuple[Word, ...]) -> Where:
        """Return where the calls after a `cd` run."""
        targets = [word for word in args if word.text == "-" or not word.text.startswith("-")]
        path = str(self.places.user) if not targets else self.path(targets[0])
        known = UNKNOWN not in path and not any(word.pattern or word.text == "-" for word in targets)
        return Where(self.places, Path(path) if known else None)


_DISK = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|r?disk|loop|md|dm-|mapper/|sr|k?mem$|ram|zd|nbd)")
_LOOKS_LIKE_PATH = re.compile(r"[/.]|^(?:id_|credentials|shadow)")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_OTHERS_MEMORY = re.compile(r"/proc/[^/]*/(?:task/[^/]*/)?(?:environ|mem|maps|auxv)$")


def alternatives(word: Word) -> list[Word]:
    """Return the words that simple braces (`{a,b}`) make of one word; 64 at most."""
    done: list[str] = []
    waiting = [word.text]
    while waiting and len(done) + len(waiting) <= 64:
        text = waiting.pop()
        braces = _BRACES.search(text) if word.pattern else None
        if braces is None:
            done.append(text)
        else:
            waiting += [text[: braces.start()] + part + text[braces.end() :] for part in braces[1].split(",")]
    return [Word(text, word.pattern) for text in (*done, *waiting)]


def is_device(path: str) -> bool:
    """Say whether writing to `path` would write to a disk or to memory."""
    return path not in HARMLESS_DEVICES and _DISK.match(path) is not None


def touched(word: Word, where: Where, *, writing: bool) -> Iterator[Danger]:
    """Yield the dangers of a file that an argument (`path`, `--option=path`, `of=path`, `@path`) may name."""
    for each in alternatives(word):
        yield from _touched(each, where, writing=writing)


def _touched(word: Word, where: Where, *, writing: bool) -> Iterator[Danger]:
    text = word.text
    if "=" in text and not text.startswith("/"):
        text = text.split("=", 1)[1]
    text = text.lstrip("@")
    if not text or len(text) > 4096 or "://" in text or not _LOOKS_LIKE_PATH.search(text):
        return
    path = where.path(Word(text))
    if writing and is_device(path):
        yield Danger(Grade.REFUSE, f"it writes to the device {path}")
        return
    if path.startswith("/proc/self/") and path.endswith("/environ"):
        return  # a child's own environment, which holds no secret
    if _OTHERS_MEMORY.match(path):
        yield Danger(Grade.ASK, "it reads the memory or environment of another process")
        return
    if UNKNOWN in path:
        # Only the end is known: judge a file of that name in no particular folder.
        path = posixpath.join("/", path.rsplit(UNKNOWN, 1)[1].lstrip("/") or "unknown")
    care, reason = judge(Path(path), where.places, writing=writing)
    if care is Care.NONE and word.pattern:
        care, reason = _wildcards(path, where.places, writing=writing)
    if care is not Care.NONE:
        grade = Grade.REFUSE if care is Care.STORE else Grade.ASK
        yield Danger(grade, f"it {'changes' if writing else 'uses'} {_shown(text)}, and {reason}")


def _wildcards(path: str, places: Places, *, writing: bool) -> tuple[Care, str]:
    """Judge wildcards by the folder they stand in, and by whether they reach a hidden file of keys."""
    folder, name = posixpath.split(path)
    if os.path.realpath(folder) in places.roots:
        return Care.SENSITIVE, "its wildcards may reach the product's own files"
    if name.startswith((".", "[", "{")) and fnmatchcase(".env", re.sub(r"\{.*\}?", "*", name)):
        return Care.SENSITIVE, "its wildcards may reach files with keys"
    return judge(Path(folder), places, writing=True) if writing else (Care.NONE, "")


def _shown(text: str) -> str:
    return text.replace(UNKNOWN, "…")
