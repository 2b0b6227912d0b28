"""One mapping of the settings, read key by key: each value has the right type, or the error names file and key."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar, cast, get_args

from hermes_core.config.document import PLACEHOLDER, kind_of
from hermes_core.errors import ConfigError

Word = TypeVar("Word", bound=str)

TRUE = frozenset({"true", "yes", "on", "1"})
FALSE = frozenset({"false", "no", "off", "0", ""})


class Section:
    """A view of one mapping. A key that is missing or null has its default.

    Numbers and booleans may be written as texts, since that is what a placeholder expands to.
    """

    def __init__(self, value: Any, path: Path, key: str = "") -> None:
        self.path = path
        self._key = key
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise self.wrong("", f"must be a mapping, not {kind_of(value)}")
        self.values = cast("dict[str, Any]", value)

    def wrong(self, name: str, problem: str) -> ConfigError:
        """Return the error that names the file and the dotted key, never the value."""
        key = ".".join(part for part in (self._key, name) if part)
        return ConfigError(f"{self.path}: {key or 'the root'} {problem}.")

    def section(self, name: str) -> Section:
        """Return the mapping below a key; an empty one if it is missing."""
        return Section(self.values.get(name), self.path, ".".join(part for part in (self._key, name) if part))

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Yield the mappings below all keys."""
        for name in self.values:
            yield str(name), self.section(name)

    def text(self, name: str, default: str = "") -> str:
        """Return a text. Numbers are taken as they are written."""
        value = self.values.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(name, f"must be a text, not {kind_of(value)}")
        return str(value).strip()

    def secret(self, name: str) -> str:
        """Return a key or password; empty as long as its placeholder names a variable that is not set."""
        value = self.text(name)
        return "" if PLACEHOLDER.search(value) else value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean; `yes`, `no`, `on`, `off`, `1` and `0` count as well."""
        value = self.values.get(name)
        if value is None:
            return default
        word = str(value).strip().lower()
        if word in TRUE:
            return True
        if word in FALSE:
            return False
        raise self.wrong(name, f"must be true or false, not {kind_of(value)}")

    def number(self, name: str, default: float, *, least: float = 0.0) -> float:
        """Return a number of at least `least`."""
        value = self.values.get(name)
        if value is None:
            return default
        try:
            if isinstance(value, bool):
                raise ValueError
            number = float(value)
        except (TypeError, ValueError):
            raise self.wrong(name, f"must be a number, not {kind_of(value)}") from None
        if not math.isfinite(number) or number < least:
            raise self.wrong(name, f"must be at least {least:g}")
        return number

    def whole(self, name: str, default: int, *, least: int = 0) -> int:
        """Return a whole number of at least `least`."""
        number = self.number(name, default, least=least)
        if number != int(number):
            raise self.wrong(name, "must be a whole number")
        return int(number)

    def choice(self, name: str, options: Any, default: Word) -> Word:
        """Return one of the words of a Literal type. A YAML 1.1 `off` that was read as false is the word `off`."""
        value = self.values.get(name)
        if value is None:
            return default
        word = "off" if value is False else value.strip().lower() if isinstance(value, str) else value
        words: tuple[str, ...] = get_args(options)
        if word not in words:
            raise self.wrong(name, f"must be one of {', '.join(words)}")
        return cast("Word", word)

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; one text is split at its commas."""
        value = self.values.get(name)
        if value is None:
            return ()
        items = value.split(",") if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in cast("list[Any]", items)):
            raise self.wrong(name, "must be a list of names")
        return tuple(item.strip() for item in cast("list[str]", items) if item.strip())
