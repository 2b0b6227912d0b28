"""`set_value`: change one setting in `config.yaml` and leave every other byte as it is."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any, cast

from hermes_core.config.document import expand, kind_of, parse_document
from hermes_core.config.home import CONFIG_NAME, read_text, write_lock, write_private
from hermes_core.errors import ConfigError, InvalidInput

_YAML11_WORD = re.compile(r"(?:y|n|yes|no|on|off|true|false|null|~)", re.IGNORECASE)


def set_value(home: Path, key: str | Sequence[str], value: Any) -> None:
    """Write one setting: `key` is a dotted path, or its parts where a part holds a dot itself.

    Comments, order, placeholders, unknown keys and the link that the file may be are kept; the mode becomes 0600.
    Raises ConfigError, with the line, for a file whose YAML is broken (nothing is written), for a parent that is no
    mapping, and for a folder that cannot be written; InvalidInput for an empty key.
    """
    parts = tuple(key.split(".") if isinstance(key, str) else key)
    if not parts or not all(part.strip() for part in parts):
        raise InvalidInput("The name of the setting is empty.", "key")
    with write_lock(home):
        path = home / CONFIG_NAME
        text = read_text(path) or ""
        value = expand(value, {})  # whole characters only; placeholders stay
        wanted = _with_value(parse_document(text, path), parts, value, path)
        write_private(path, _edited(text, parts, value, wanted, path))


def _with_value(settings: dict[str, Any], parts: tuple[str, ...], value: Any, path: Path) -> dict[str, Any]:
    """Return a copy of the settings with one value changed."""
    settings = copy.deepcopy(settings)
    _place(settings, parts, value, path)
    return settings


def _place(settings: dict[str, Any], parts: tuple[str, ...], value: Any, path: Path) -> None:
    parent = settings
    for depth, part in enumerate(parts[:-1]):
        child = parent.get(part)
        if child is None:
            child = parent[part] = {}
        elif depth == 0 and part == "model" and isinstance(child, str):
            # `model: name` is the short form of `model: {default: name}`.
            child = parent[part] = {"default": child}
        elif not isinstance(child, dict):
            name = ".".join(parts[: depth + 1])
            raise ConfigError(f"{path}: {name} is {kind_of(child)}, so {'.'.join(parts)} cannot be set.")
        parent = cast("dict[str, Any]", child)
    parent[parts[-1]] = value


def _edited(text: str, parts: tuple[str, ...], value: Any, wanted: dict[str, Any], path: Path) -> str:
    """Return the new text: the smallest splice that gives the wanted settings, else a round trip of the whole."""
    for attempt in (_spliced, _round_trip):
        candidate = attempt(text, parts, value, path)
        if candidate is not None and _reads_as(candidate, wanted, path):
            return candidate
    raise ConfigError(f"{path}: {'.'.join(parts)} cannot be changed without harm to the rest; please edit the file.")


def _reads_as(text: str, wanted: dict[str, Any], path: Path) -> bool:
    try:
        return parse_document(text, path) == wanted
    except ConfigError:
        return False


def _spliced(text: str, parts: tuple[str, ...], value: Any, path: Path) -> str | None:
    """Return the text with only the one value replaced or one entry inserted; None where that is not possible."""
    from ruamel.yaml import YAML

    root: Any = YAML(typ="safe", pure=True).compose(text)  # pyright: ignore[reportUnknownMemberType]
    newline = "\r\n" if "\r\n" in text else "\n"
    if root is None:
        return _joined(text, _entry(parts, value, 0), newline)
    node = parent = key = root
    for depth, part in enumerate(parts):
        if node.id != "mapping":
            return None
        parent = node
        key, node = _child(parent, part)
        if node is None:
            lines = _entry(parts[depth:], value, parent.start_mark.column)
            return None if parent.flow_style else _inserted(text, parent, lines, newline)
    start, end = node.start_mark.index, node.end_mark.index
    scalar = _scalar(value)
    if node.id == "scalar" and scalar is not None:
        return text[:start] + (" " if start == end else "") + scalar + text[end:]
    if node.id == "scalar" or node.flow_style or parent.flow_style:
        return None
    head = text[: key.start_mark.index - key.start_mark.column]
    entry = _entry(parts[-1:], value, key.start_mark.column)
    return _joined(head, entry, newline) + text[_end_of(text, node) :]


def _child(node: Any, name: str) -> tuple[Any, Any]:
    """Return key and value of an entry of a mapping; None and None if there is no such entry."""
    return next(((key, child) for key, child in node.value if key.value == name), (None, None))


def _scalar(value: Any) -> str | None:
    """Return a value as it is written behind a key on one line; None for mappings, lists and long texts."""
    text = _dumped({"k": value}).removeprefix("k:").strip()
    return text if text and "\n" not in text and not isinstance(value, dict | list) else None


def _entry(parts: tuple[str, ...], value: Any, column: int) -> list[str]:
    """Return the lines that set a nested value, indented to stand in a mapping at `column`."""
    nested = value
    for part in reversed(parts):
        nested = {part: nested}
    return [" " * column + line for line in _dumped(nested).splitlines()]


def _inserted(text: str, node: Any, lines: list[str], newline: str) -> str:
    """Return the text with an entry behind the last one of a block mapping."""
    place = _end_of(text, node)
    return _joined(text[:place], lines, newline) + text[place:]


def _end_of(text: str, node: Any) -> int:
    """Return where the last line of a block ends, before the blank lines and comments that follow it."""
    kept = re.split(r"(?<=\n)", text[: node.end_mark.index])
    while kept and (not kept[-1].strip() or kept[-1].lstrip().startswith("#")):
        kept.pop()
    place = sum(map(len, kept))
    if not text[:place].endswith("\n") and place < len(text):
        place = text.find("\n", place) + 1 or len(text)
    return place


def _joined(head: str, lines: list[str], newline: str) -> str:
    if head and not head.endswith("\n"):
        head += newline
    return head + newline.join(lines) + newline


def _round_trip(text: str, parts: tuple[str, ...], value: Any, path: Path) -> str | None:
    """Return the text written anew from the parsed document, comments and quotes kept, indents as they were found."""
    from ruamel.yaml import util

    yaml = _writer()
    loaded, indent, block = cast("Any", util).load_yaml_guess_indent(text, yaml=yaml)
    yaml.indent(mapping=2, sequence=indent or 2, offset=block or 0)
    document: Any = {} if loaded is None else loaded
    _place(document, parts, _writable(value), path)
    return _text_of(yaml, document)


def _dumped(document: dict[str, Any]) -> str:
    return _text_of(_writer(), _writable(document))


def _writer() -> Any:
    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1_000_000  # never wrap a line that was not wrapped
    return yaml


def _text_of(yaml: Any, document: Any) -> str:
    stream = StringIO()
    yaml.dump(document, stream)
    return stream.getvalue().removesuffix("...\n")


def _writable(value: Any) -> Any:
    """Return a value with texts quoted that an older YAML would read as a boolean (`off`, `yes`, ...)."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    match value:
        case str() if _YAML11_WORD.fullmatch(value):
            return DoubleQuotedScalarString(value)
        case dict():
            return {key: _writable(item) for key, item in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [_writable(item) for item in cast("list[Any]", value)]
        case _:
            return value
