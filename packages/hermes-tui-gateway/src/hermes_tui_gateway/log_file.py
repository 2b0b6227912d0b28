"""The log: a file in the home. Standard error belongs to the host, which shows every line of it to a person."""

from __future__ import annotations

import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from typing import cast

from hermes_core.config.redaction import redact, secrets_of
from hermes_core.config.settings import Config

MAX_BYTES = 1024 * 1024


def open_log(config: Config) -> None:
    """Send warnings and errors to `logs/tui_gateway.log`, two older files kept. It is made with its first line."""
    folder = config.home / "logs"
    handler = _PrivateFile(folder / "tui_gateway.log", maxBytes=MAX_BYTES, backupCount=2, encoding="utf-8", delay=True)
    handler.setFormatter(_Redacted(config))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _PrivateFile(RotatingFileHandler):
    """A file that only its owner reads."""

    def _open(self) -> TextIOWrapper:
        folder = os.path.dirname(self.baseFilename)  # noqa: PTH120 - a text already
        os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
        stream = open(self.baseFilename, self.mode, encoding=self.encoding, opener=_private)  # noqa: SIM115
        return cast("TextIOWrapper", stream)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class _Redacted(logging.Formatter):
    """Takes the secrets that the settings know out of every line."""

    def __init__(self, config: Config) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = secrets_of(config)

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record), self._secrets)
