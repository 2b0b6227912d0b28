"""Words of a shell text: quotes and escapes taken off, known variables put in, the unknown marked as such."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

UNKNOWN = "\0"
"""Stands in a word's text for a part that is only known when the command runs."""

_PATTERN = re.compile(r"(?<!\\)[*?\[{]")
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_SPLITS = re.compile(r"[\s*?\[]")
_PLAIN_USE = re.compile(r"(\w+)(?::?[-?].*|%/|)", re.DOTALL)

Node = Any
"""A tree-sitter node; the library is not imported here."""


class Word(msgspec.Struct, frozen=True):
    """One word after quotes and escapes are taken off. `pattern`: unquoted wildcards or braces are left in it."""

    text: str
    pattern: bool = False

    @property
    def certain(self) -> bool:
        """Whether the text is exactly what the program will see (wildcards aside)."""
        return UNKNOWN not in self.text


class WordReader:
    """Reads the words of one text. `variables` are those whose values are known."""

    def __init__(self, source: bytes, variables: Mapping[str, str]) -> None:
        self._source = source
        self.variables = dict(variables)

    def text(self, node: Node) -> str:
        """Return the source of a node."""
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def between(self, before: Node, after: Node) -> str:
        """Return the source between two nodes."""
        return self._source[before.end_byte : after.start_byte].decode("utf-8", "replace")

    def heredoc(self, node: Node) -> Word:
        """Return the text of a here-document."""
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if start is None or body is None:
            return Word(UNKNOWN)
        text = self.text(body)
        quoted = any(mark in self.text(start) for mark in "'\"\\")
        return Word(text if quoted or not re.search(r"[$`]", text) else UNKNOWN + text)

    def word(self, node: Node) -> Word:
        """Return what a node stands for as one word."""
        match node.type:
            case "word" | "number" | "extglob_pattern" | "regex":
                return self._plain(self.text(node))
            case "raw_string":
                return Word(self.text(node)[1:-1])
            case "ansi_c_string":
                return Word(_ANSI.sub(_ansi, self.text(node)[2:-1]))
            case "string" | "translated_string":
                return self._string(node)
            case "concatenation":
                parts = [self.word(child) for child in node.children]
                text = "".join(part.text for part in parts)
                return Word(text, any(part.pattern for part in parts) or "{" in self.text(node))
            case "variable_assignment":
                value = node.child_by_field_name("value")
                return Word(self.text(node.children[0]) + "=" + ("" if value is None else self.word(value).text))
            case "simple_expansion" | "expansion" | "command_substitution":
                # Unquoted, a value is split into words and its wildcards count: known only if it has neither.
                known = self._variable(node)
                return Word(known if known is not None and not _SPLITS.search(known) else UNKNOWN)
            case _ if node.is_named:
                return Word(UNKNOWN)
            case _:
                return Word(self.text(node))

    def _plain(self, text: str) -> Word:
        pattern = _PATTERN.search(text) is not None
        if text == "~" or text.startswith("~/"):
            text = self.variables.get("HOME", UNKNOWN) + text[1:]
        elif text.startswith("~"):
            text = UNKNOWN + text[1:]
        return Word(_ESCAPE.sub(lambda found: "" if found[1] == "\n" else found[1], text), pattern)

    def _string(self, node: Node) -> Word:
        text = ""
        position = node.start_byte
        for child in node.children:
            if child.is_named and child.type != "string_content":
                text += self._literal(position, child.start_byte)
                position = child.end_byte
                known = self._variable(child)
                text += UNKNOWN if known is None else known
        text += self._literal(position, node.end_byte)
        return Word(text.removeprefix("$")[1:-1])

    def _literal(self, start: int, end: int) -> str:
        raw = self._source[start:end].decode("utf-8", "replace")
        return _IN_QUOTES.sub(lambda found: "" if found[1] == "\n" else found[1], raw)

    def _variable(self, node: Node) -> str | None:
        """Return the value of `$NAME` or `${NAME}` where it is known."""
        if node.type == "command_substitution":
            return self._echoed(node)
        name = self.text(node).removeprefix("$")
        if name.startswith("{") and name.endswith("}"):
            use = _PLAIN_USE.fullmatch(name[1:-1])
            name = use[1] if use else ""
        return self.variables.get(name) or None

    def _echoed(self, node: Node) -> str | None:
        """Return what `$(echo words)` gives, the one substitution that is read."""
        command = node.named_children[0] if len(node.named_children) == 1 else None
        if command is None or command.type != "command":
            return None
        known = [self.word(child.children[0] if child.type == "command_name" else child) for child in command.children]
        if not known or known[0].text not in ("echo", "printf"):
            return None
        if not all(word.certain and not word.pattern for word in known):
            return None
        if any(re.search(r"^-|[\\%]", word.text) for word in known):
            return None
        return " ".join(word.text for word in known[1:])


def _ansi(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else UNKNOWN)
