"""`hermes config`: read and change `config.yaml`. Secrets are never printed."""

from __future__ import annotations

import re
import sys
from io import StringIO
from typing import TYPE_CHECKING, Any, cast

from hermes_core.config import find_home, load_config, redact_settings, secrets_of, set_env, set_value
from hermes_core.config.env import read_env
from hermes_core.config.home import CONFIG_NAME, ENV_NAME, read_text, write_private
from hermes_core.config.redaction import MASK, is_secret_name
from hermes_core.errors import ConfigError

from hermes_cli.exits import Exit

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


def run(found: argparse.Namespace) -> int:
    """Carry out one action; return the exit code. Raises ConfigError, InvalidInput."""
    match found.action:
        case "get":
            return _get(found.key)
        case "set":
            _set(find_home(), found.key, found.value)
            return Exit.OK
        case _:
            sys.stdout.write(f"{find_home() / CONFIG_NAME}\n")
            return Exit.OK


def change(home: Path, key: str, value: object) -> None:
    """Set one value. A change that would make the settings unreadable is taken back. Raises ConfigError."""
    was_fine = _is_fine(home)
    before = read_text(home / CONFIG_NAME)
    set_value(home, key, value)
    try:
        load_config(home)
    except ConfigError:
        if was_fine:  # else this may be one of several mends
            if before is None:
                (home / CONFIG_NAME).unlink(missing_ok=True)
            else:
                write_private(home / CONFIG_NAME, before)
            raise


def value_of(text: str, key: str) -> object:
    """Return what a word of the command line means: a number, true, false, null, or the text itself."""
    if is_secret_name(key.rpartition(".")[2]):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text


def is_key_variable(name: str) -> bool:
    """Say whether a name is that of a variable with a key, such as OPENROUTER_API_KEY: these belong in `.env`."""
    return _VARIABLE.fullmatch(name) is not None and is_secret_name(name)


def _set(home: Path, key: str, text: str) -> None:
    if not is_key_variable(key):
        change(home, key, value_of(text, key))
        return
    set_env(home, key, text)
    sys.stderr.write(f"{key} is written to {home / ENV_NAME}.\n")


def _get(key: str) -> int:
    config = load_config()
    if is_key_variable(key) and key in read_env(config.home):
        sys.stdout.write(f"{MASK}\n")
        return Exit.OK
    value: Any = redact_settings(config.raw, secrets_of(config))
    for part in key.split(".") if key else ():
        if not isinstance(value, dict) or part not in value:
            sys.stderr.write(f"hermes: {key} is not set.\n")
            return Exit.FAILED
        value = cast("dict[str, Any]", value)[part]
    sys.stdout.write(_written(value))
    return Exit.OK


def _written(value: Any) -> str:
    if not isinstance(value, dict | list):
        return f"{'null' if value is None else str(value).lower() if isinstance(value, bool) else value}\n"
    from ruamel.yaml import YAML

    stream = StringIO()
    cast("Any", YAML()).dump(value, stream)
    return stream.getvalue()


def _is_fine(home: Path) -> bool:
    try:
        load_config(home)
    except ConfigError:
        return False
    return True
