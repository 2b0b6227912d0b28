"""A shell command, read: which simple commands it holds, with what words, redirections and input.

The text is parsed as bash by tree-sitter, loaded at first use. Reading never runs anything. What cannot be known
from the text (a computed word, a syntax error, an unfamiliar construct) is never guessed: the word is marked as
uncertain, or the whole script carries a `doubt`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import msgspec

MAX_LENGTH = 50_000
"""Characters; a longer command is not read and carries a doubt."""
MAX_DEPTH = 150
UNKNOWN = "\0"
"""Stands in a word's text for a part that is only known when the command runs."""

_PATTERN = re.compile(r"(?<!\\)[*?\[{]")
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_ANSI = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

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


class Redirect(msgspec.Struct, frozen=True):
    """A redirection to or from a file; descriptors and here-documents are not among them."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether the file is opened for writing."""
        return ">" in self.operator


class Simple(msgspec.Struct, frozen=True):
    """One simple command. `upstream` names what is piped into it; `stdin` is the text of a here-document."""

    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    upstream: tuple[str, ...] = ()
    stdin: Word | None = None
    assigns: tuple[str, ...] = ()
    fed: bool = False
    """Whether a word of it is a process substitution."""


class Script(msgspec.Struct, frozen=True):
    """All simple commands of a text, in order, those in substitutions included.

    `doubt` is empty when the text was understood in full; else a short phrase that says what was not.
    """

    commands: tuple[Simple, ...]
    doubt: str = ""
    fork_bomb: bool = False


def read_script(text: str, variables: Mapping[str, str]) -> Script:
    """Return `text` read as bash. `variables` are those whose values are known, such as HOME."""
    if len(text) > MAX_LENGTH:
        return Script((), doubt="it is too long to be checked")
    if _ODD.search(text):
        return Script((), doubt="it holds control or invisible characters")
    source = text.encode("utf-8", "replace")
    reader = _Reader(_parser().parse(source).root_node, source, variables)
    return reader.script()


@functools.cache
def _parser() -> Any:
    """Return the bash parser; made once, since loading the grammar costs more than a parse."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


class _Reader:
    """Walks one syntax tree and collects what `Script` holds."""

    def __init__(self, root: Node, source: bytes, variables: Mapping[str, str]) -> None:
        self._root = root
        self._source = source
        self._variables = dict(variables)
        self._commands: list[Simple] = []
        self._doubt = "its syntax was not understood" if root.has_error else ""
        self._fork_bomb = False

    def script(self) -> Script:
        self._learn_variables()
        self._visit(self._root, 0)
        return Script(tuple(self._commands), self._doubt, self._fork_bomb)

    # -- variables ---------------------------------------------------------------------------------

    def _learn_variables(self) -> None:
        """Know the variables that are set once, to a literal; forget those that are set in any other way."""
        found: dict[str, list[Node]] = {}
        unclear: set[str] = set()
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            if node.type == "variable_assignment":
                name = self._text(node.children[0])
                value = node.child_by_field_name("value")
                found.setdefault(name, []).append(value)
                if node.children[0].type != "variable_name" or any(child.type == "+=" for child in node.children):
                    unclear.add(name.split("[")[0])
            elif node.type in ("for_statement", "select_statement"):
                unclear.update(self._text(child) for child in node.children if child.type == "variable_name")
            elif node.type == "command" and self._text(node).startswith(("read", "printf", "mapfile", "readarray")):
                unclear.update(self._text(child) for child in node.children if child.type == "word")
            waiting.extend(node.children)
        for name in (*found, *unclear):
            self._variables.pop(name, None)
        for name, values in found.items():
            value = self._word(values[0]) if values[0] is not None else Word("")
            if len(values) == 1 and name not in unclear and value.certain:
                self._variables[name] = value.text

    # -- commands ----------------------------------------------------------------------------------

    def _visit(self, node: Node, depth: int, upstream: tuple[str, ...] = ()) -> None:
        if depth > MAX_DEPTH:
            self._doubt = self._doubt or "it is nested too deeply to be checked"
            return
        match node.type:
            case "command" | "declaration_command" | "unset_command" | "test_command":
                self._command(node, depth, upstream, (), None)
            case "redirected_statement":
                self._redirected(node, depth, upstream)
            case "pipeline":
                self._pipeline(node, depth, upstream)
            case "function_definition":
                self._function(node, depth)
            case _:
                for child in node.children:
                    self._visit(child, depth + 1, upstream)

    def _pipeline(self, node: Node, depth: int, upstream: tuple[str, ...]) -> None:
        before = upstream
        for child in node.named_children:
            start = len(self._commands)
            self._visit(child, depth + 1, before)
            names = [simple.words[0].text for simple in self._commands[start:] if simple.words]
            before = (*before, *names) or (UNKNOWN,)

    def _function(self, node: Node, depth: int) -> None:
        name = self._text(node.child_by_field_name("name"))
        start = len(self._commands)
        for child in node.named_children[1:]:
            self._visit(child, depth + 1)
        calls_itself = any(simple.words and simple.words[0].text == name for simple in self._commands[start:])
        body = self._text(node)[len(name) :]
        if calls_itself and ("&" in body or "|" in body):
            self._fork_bomb = True

    def _redirected(self, node: Node, depth: int, upstream: tuple[str, ...]) -> None:
        body = node.child_by_field_name("body")
        redirects: list[Redirect] = []
        stdin: Word | None = None
        after: list[Node] = []
        for child in node.children:
            if child.type == "file_redirect":
                redirects.extend(self._redirect(child))
                self._nested(child, depth)
            elif child.type == "herestring_redirect":
                stdin = self._word(child.named_children[-1])
                self._nested(child, depth)
            elif child.type == "heredoc_redirect":
                stdin = self._heredoc(child)
                for part in child.children:
                    if part.type == "file_redirect":
                        redirects.extend(self._redirect(part))
                    elif part.type == "heredoc_body":
                        self._nested(part, depth)
                    elif part.is_named and part.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
                        after.append(part)
        start = len(self._commands)
        if body is not None and body.type in ("command", "declaration_command", "unset_command", "test_command"):
            self._command(body, depth, upstream, tuple(redirects), stdin)
        else:
            # The redirections belong to the whole group: they stand as a command of their own without words.
            self._commands.append(Simple(redirects=tuple(redirects)))
            feeding = upstream if stdin is None else (*upstream, UNKNOWN)
            if body is not None:
                self._visit(body, depth + 1, feeding)
        names = tuple(simple.words[0].text for simple in self._commands[start:] if simple.words)
        for part in after:
            self._visit(part, depth + 1, (*upstream, *names) or (UNKNOWN,))

    def _command(
        self,
        node: Node,
        depth: int,
        upstream: tuple[str, ...],
        redirects: tuple[Redirect, ...],
        stdin: Word | None,
    ) -> None:
        words: list[Word] = []
        assigns: list[str] = []
        fed = False
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    assigns.append(self._text(child.children[0]))
                    if node.type == "declaration_command":
                        words.append(self._word(child))
                case "file_redirect":
                    redirects = (*redirects, *self._redirect(child))
                case "herestring_redirect":
                    stdin = self._word(child.named_children[-1])
                case "command_name":
                    words.append(self._word(child.children[0]))
                case "process_substitution":
                    words.append(Word(UNKNOWN))
                    fed = True
                case _:
                    if child.is_named or node.type != "test_command":
                        words.append(self._word(child))
        if node.type == "test_command":
            words.insert(0, Word("["))
        self._commands.append(Simple(tuple(words), redirects, upstream, stdin, tuple(assigns), fed))
        self._nested(node, depth)

    def _nested(self, node: Node, depth: int) -> None:
        """Visit the substitutions below `node`: they run commands wherever they stand."""
        waiting = list(node.children)
        while waiting:
            child = waiting.pop()
            if child.type in ("command_substitution", "process_substitution"):
                for part in child.named_children:
                    self._visit(part, depth + 1)
            else:
                waiting.extend(child.children)

    # -- words -------------------------------------------------------------------------------------

    def _redirect(self, node: Node) -> tuple[Redirect, ...]:
        operator = next((child.type for child in node.children if not child.is_named), "")
        target = node.child_by_field_name("destination")
        if target is None or (operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", self._text(target))):
            return ()
        return (Redirect(operator, self._word(target)),)

    def _heredoc(self, node: Node) -> Word:
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        if start is None or body is None:
            return Word(UNKNOWN)
        text = self._text(body)
        quoted = any(mark in self._text(start) for mark in "'\"\\")
        return Word(text if quoted or not re.search(r"[$`]", text) else UNKNOWN + text)

    def _word(self, node: Node) -> Word:
        match node.type:
            case "word" | "number" | "extglob_pattern" | "regex":
                return self._plain(self._text(node))
            case "raw_string":
                return Word(self._text(node)[1:-1])
            case "ansi_c_string":
                return Word(_ANSI.sub(_ansi, self._text(node)[2:-1]))
            case "string" | "translated_string":
                return self._string(node)
            case "concatenation":
                parts = [self._word(child) for child in node.children]
                text = "".join(part.text for part in parts)
                return Word(text, any(part.pattern for part in parts) or "{" in self._text(node))
            case "variable_assignment":
                value = node.child_by_field_name("value")
                return Word(self._text(node.children[0]) + "=" + ("" if value is None else self._word(value).text))
            case "simple_expansion" | "expansion":
                # Unquoted, a value is split into words and its wildcards count: known only if it has neither.
                known = self._variable(node)
                return Word(known if known is not None and not re.search(r"[\s*?\[]", known) else UNKNOWN)
            case _ if node.is_named:
                return Word(UNKNOWN)
            case _:
                return Word(self._text(node))

    def _plain(self, text: str) -> Word:
        pattern = _PATTERN.search(text) is not None
        if text == "~" or text.startswith("~/"):
            text = self._variables.get("HOME", UNKNOWN) + text[1:]
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
        name = self._text(node).removeprefix("$")
        if name.startswith("{") and name.endswith("}"):
            name = name[1:-1]
        return self._variables.get(name)

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _ansi(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else UNKNOWN)
