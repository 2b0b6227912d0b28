"""The files a session has seen, and in which state: how an edit made outside is noticed before it is overwritten."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import OrderedDict
from pathlib import Path

import msgspec

from hermes_core.tools.text_file import MAX_BYTES

MAX_FILES = 4096
"""The files remembered; the one that was not touched for longest is forgotten first."""


class _State(msgspec.Struct, frozen=True):
    """Size, and the hash of the content; of files too large to hash, the time of the last change instead."""

    size: int
    mark: bytes


class SeenFiles:
    """Implements `SessionFiles`. Links are followed: a file is the same by whatever path it was reached.

    The content decides, not the time stamp: a file that was only touched has not changed.
    """

    def __init__(self) -> None:
        self._states: OrderedDict[str, _State | None] = OrderedDict()

    def seen(self, path: Path) -> None:
        """See `SessionFiles.seen`. That a file does not exist is a state as well."""
        key = os.path.realpath(path)
        self._states[key] = _state(key)
        self._states.move_to_end(key)
        while len(self._states) > MAX_FILES:
            self._states.popitem(last=False)

    def changed_outside(self, path: Path) -> bool:
        """See `SessionFiles.changed_outside`."""
        key = os.path.realpath(path)
        return key in self._states and self._states[key] != _state(key)


def _state(real: str) -> _State | None:
    try:
        found = Path(real).stat()
        if not stat.S_ISREG(found.st_mode):
            return None  # a pipe would wait for its other end
        if found.st_size > MAX_BYTES:
            return _State(found.st_size, str(found.st_mtime_ns).encode())
        with Path(real).open("rb") as file:
            return _State(found.st_size, hashlib.blake2b(file.read(MAX_BYTES), digest_size=16).digest())
    except OSError:
        return None
