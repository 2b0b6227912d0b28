"""`config.yaml` as a document: parsed with the line of what is wrong, its `${NAME}` placeholders expanded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hermes_core.content import clean
from hermes_core.errors import ConfigError

PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
MAX_DEPTH = 32


def parse_document(text: str, path: Path) -> dict[str, Any]:
    """Return the mapping that a YAML text holds; an empty text or `null` is an empty mapping.

    Raises ConfigError with the file and the line for broken YAML, and for a root that is no mapping.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        loaded: object = YAML(typ="safe", pure=True).load(text)  # pyright: ignore[reportUnknownMemberType]
    except MarkedYAMLError as error:
        flaw: Any = error
        mark = flaw.problem_mark or flaw.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else str(path)
        raise ConfigError(f"{where}: the YAML is broken ({_problem(flaw.problem)}).") from error
    except YAMLError as error:
        raise ConfigError(f"{path}: the YAML is broken (it holds a character that is not allowed).") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: the YAML is nested too deeply.") from error
    except ValueError as error:
        raise ConfigError(f"{path}: the YAML holds a value that cannot be read.") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise ConfigError(f"{path}: the settings must be a mapping of names to values, not {kind_of(loaded)}.")
    return cast("dict[str, Any]", loaded)


def _problem(text: str | None) -> str:
    """Return what the parser says, without the values it quotes: they may be secrets."""
    return re.sub(r"\s*(with value|\(original value).*", "", text or "no valid YAML", flags=re.DOTALL)


def kind_of(value: object) -> str:
    """Return what a value is, in the words of a person."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return f"a {type(value).__name__}"


def expand(value: Any, environ: Mapping[str, str], depth: int = 0) -> Any:
    """Return `value` with each `${NAME}` in its texts replaced from `environ`; unknown names stay as written.

    Half characters (lone surrogates, which an escape in YAML can make) are replaced: no transport could send them.
    """
    if depth > MAX_DEPTH:
        raise ConfigError(f"The settings are nested more than {MAX_DEPTH} levels deep.")
    match value:
        case str():
            return clean(PLACEHOLDER.sub(lambda match: environ.get(match[1], match[0]), value))
        case list():
            return [expand(item, environ, depth + 1) for item in cast("list[Any]", value)]
        case dict():
            return {key: expand(item, environ, depth + 1) for key, item in cast("dict[Any, Any]", value).items()}
        case _:
            return value
