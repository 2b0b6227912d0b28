"""The log of the chat: a file in the home, so that nothing is ever written across the screen."""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from pathlib import Path

from hermes_core.config import find_home

BIGGEST = 1024 * 1024
"""Bytes at which the log of earlier runs is set aside; one such older file is kept."""
NAME = "cli.log"


class _PrivateFile(logging.FileHandler):
    """A log file that only its owner reads, made with its folder when the first line comes."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > BIGGEST:
            path.replace(path.with_suffix(".old.log"))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="replace")


def log_to_home() -> None:
    """Send warnings and errors of this process to `logs/cli.log` in the home, and nowhere else."""
    handler = _PrivateFile(find_home() / "logs" / NAME, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    # A log that cannot be written (a full disk) must not be told on the screen either.
    logging.raiseExceptions = False
