"""`.env`: the home's own variables, and the environment that child processes get."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING

from hermes_core.config.home import ENV_NAME, read_text, write_lock, write_private
from hermes_core.config.redaction import is_secret_name
from hermes_core.config.settings import Config
from hermes_core.errors import InvalidInput

if TYPE_CHECKING:
    from dotenv.parser import Original

log = logging.getLogger(__name__)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PLAIN = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")
MAX_VALUE = 32 * 1024


def read_env(home: Path) -> dict[str, str]:
    """Return the variables of the home's `.env`, values as written; empty if there is none. Raises ConfigError."""
    text = read_text(home / ENV_NAME)
    if not text:
        return {}
    from io import StringIO

    from dotenv.parser import parse_stream

    found: dict[str, str] = {}
    for binding in parse_stream(StringIO(text.removeprefix("\ufeff"))):
        if binding.error:  # the line itself is not told: it may hold a key
            log.warning("%s, line %d is no NAME=value and is ignored.", home / ENV_NAME, _line(binding.original))
        elif binding.key is not None and binding.value is not None:
            found[binding.key] = binding.value
    return found


def _line(original: Original) -> int:
    """Return the line of a piece, whose text may begin with the blank lines before it."""
    text = original.string
    return original.line + text[: len(text) - len(text.lstrip())].count("\n")


def set_env(home: Path, name: str, value: str | None) -> None:
    """Write one variable to the home's `.env`, or take it out (None). All other lines stay as they are.

    Raises InvalidInput for a name or a value that `.env` cannot hold, ConfigError when it cannot be written.
    """
    if not NAME.fullmatch(name):
        raise InvalidInput("The name of a variable has letters, digits and underscores only.", "name")
    if value is not None and (len(value) > MAX_VALUE or not value.isprintable()):
        raise InvalidInput(f"The value of {name} is too long, or holds a line break or control character.", "value")
    with write_lock(home):
        path = home / ENV_NAME
        write_private(path, _with_variable(read_text(path) or "", name, value))


def _with_variable(text: str, name: str, value: str | None) -> str:
    """Return the text of a `.env` with one variable set or removed. Where a name stands twice, the last one counts."""
    from io import StringIO

    from dotenv.parser import parse_stream

    pieces: list[str] = []
    place: int | None = None
    prefix = ""
    for binding in parse_stream(StringIO(text)):
        original = binding.original.string
        if binding.key == name and not binding.error:
            if place is not None:
                pieces[place] = ""
            place = len(pieces)
            prefix = "export " if original.lstrip().startswith("export") else ""
            # The parser counts blank lines before a binding as a part of it.
            pieces.append(original[: len(original) - len(original.lstrip())])
        pieces.append(original if binding.key != name or binding.error else "")
    if value is None:
        return "".join(pieces) if place is not None else text
    line = f"{prefix}{name}={_quoted(value)}\n"
    if place is not None:
        pieces[place + 1] = line
        return "".join(pieces)
    return text + ("" if not text or text.endswith("\n") else "\n") + line


def _quoted(value: str) -> str:
    if PLAIN.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def child_env(config: Config) -> dict[str, str]:
    """Return the environment for child processes: `config.environ` without keys, tokens and passwords.

    Names in `terminal.env_passthrough` are kept. What the home's `.env` holds for hermes itself (`API_SERVER_*`)
    is left out too.
    """
    listed = frozenset(config.terminal.env_passthrough)
    return {
        name: value
        for name, value in config.environ.items()
        if name in listed or not (is_secret_name(name) or name.startswith("API_SERVER_"))
    }
