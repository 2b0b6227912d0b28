"""A shell command, read: which simple commands it holds, with what words, redirections and input.

The text is parsed as bash by tree-sitter, loaded at first use. Reading never runs anything. What cannot be known
from the text (a computed word, a syntax error, an unfamiliar construct) is never guessed: the word is marked as
uncertain, or the whole script carries a `doubt`.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_core.tools.simple import NOTHING, Feed, Redirect, Simple
from hermes_core.tools.words import UNKNOWN, Node, Word, WordReader

MAX_LENGTH = 50_000
"""Characters; a longer command is not read and carries a doubt."""
MAX_MARKS = 4000
"""Brackets, pipes and the like; the time to parse them can grow with their square."""
MAX_DEPTH = 150
MAX_COMMANDS = 500
"""Simple commands in one text; the rest of a longer one is not read, and the text carries a doubt."""
_ODD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

_MARKS = re.compile(r"[|&;()<>`{}\[]")
_GAP = re.compile(r"(?:[ \t]|\\\n|(?<=[ \t])-(?=[ \t]))*")
"""What may stand between the parts of a command; the grammar leaves out a lone dash before a here-document."""
_BROKEN_WORD = re.compile(r"[^\s\\](?:\\\\)*\\\n\S")
"""A backslash and a line feed inside a word: bash joins the two halves, the grammar does not."""


_FORGETFUL = re.compile(r"(?:eval|source|\.|let|getopts|trap|unset)\s")
"""Commands that may set variables out of sight."""


class _Around(msgspec.Struct):
    """What stands around the body of a redirected command. `words` belong to the command, `after` runs behind it."""

    redirects: list[Redirect] = []
    stdin: Word | None = None
    words: list[Word] = []
    after: list[Node] = []


_SIMPLE = frozenset({"command", "declaration_command", "unset_command", "test_command"})
_WORDS = frozenset(
    {
        *("word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "number"),
        *("simple_expansion", "expansion", "command_substitution", "process_substitution", "brace_expression"),
    }
)


class Script(msgspec.Struct, frozen=True):
    """All simple commands of a text, in order, those in substitutions included.

    `doubt` is empty when the text was understood in full; else a short phrase that says what was not.
    """

    commands: tuple[Simple, ...]
    doubt: str = ""
    fork_bomb: bool = False


def read_script(text: str, variables: Mapping[str, str]) -> Script:
    """Return `text` read as bash. `variables` are those whose values are known, such as HOME."""
    if len(text) > MAX_LENGTH or len(_MARKS.findall(text)) > MAX_MARKS:
        return Script((), doubt="it is too long to be checked")
    if _ODD.search(text):
        return Script((), doubt="it holds control or invisible characters")
    if _BROKEN_WORD.search(text):
        return Script((), doubt="a word in it is broken over two lines")
    source = text.encode("utf-8", "replace")
    try:
        tree = _parse(source)
        return _Reader(tree.root_node, source, variables).script()
    except RecursionError:
        return Script((), doubt="it is nested too deeply to be checked")


def _parse(source: bytes) -> Any:
    """Return the syntax tree. Each text has its own parser: they are cheap, and not safe to share by threads."""
    import tree_sitter

    return tree_sitter.Parser(_language()).parse(source)


@functools.cache
def _language() -> Any:
    """Return the grammar of bash, loaded once; it is never changed."""
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Language(tree_sitter_bash.language())


class _Reader:
    """Walks one syntax tree and collects what `Script` holds."""

    def __init__(self, root: Node, source: bytes, variables: Mapping[str, str]) -> None:
        self._root = root
        self._words = WordReader(source, variables)
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
        forgetful = False
        waiting = [(self._root, "")]
        while waiting:
            node, parent = waiting.pop()
            if node.type == "variable_assignment":
                # Before a command (`X=1 cmd $X`) the words of the command do not see the new value.
                name = self._words.text(node.children[0])
                if parent == "command":
                    unclear.add(name)
                value = node.child_by_field_name("value")
                found.setdefault(name, []).append(value)
                if node.children[0].type != "variable_name" or any(child.type == "+=" for child in node.children):
                    unclear.add(name.split("[")[0])
            elif node.type in ("for_statement", "select_statement"):
                unclear.update(self._words.text(child) for child in node.children if child.type == "variable_name")
            elif node.type in ("command", "unset_command"):
                text = self._words.text(node)
                forgetful = forgetful or bool(_FORGETFUL.match(text))
                if text.startswith(("read", "printf", "mapfile", "readarray")):
                    unclear.update(self._words.text(child) for child in node.children if child.type == "word")
            waiting.extend((child, node.type) for child in node.children)
        for name in (*found, *unclear):
            self._words.variables.pop(name, None)
        for name, values in found.items():
            value = self._words.word(values[0]) if values[0] is not None else Word("")
            if len(values) == 1 and name not in unclear and value.certain and not forgetful:
                self._words.variables[name] = value.text

    # -- commands ----------------------------------------------------------------------------------

    def _visit(self, node: Node, depth: int, feed: Feed = NOTHING) -> None:
        if depth > MAX_DEPTH or len(self._commands) >= MAX_COMMANDS:
            self._doubt = self._doubt or "it is too long or nested too deeply to be checked"
            return
        match node.type:
            case kind if kind in _SIMPLE:
                self._command(node, depth, feed, _Around())
            case "redirected_statement":
                self._redirected(node, depth, feed)
            case "pipeline":
                self._pipeline(node, depth, feed)
            case "function_definition":
                self._function(node, depth)
            case _:
                for child in node.children:
                    self._visit(child, depth + 1, feed)

    def _pipeline(self, node: Node, depth: int, feed: Feed) -> None:
        for child in node.named_children:
            start = len(self._commands)
            self._visit(child, depth + 1, feed)
            feed = feed.behind(self._commands[start:])

    def _function(self, node: Node, depth: int) -> None:
        name = self._words.text(node.child_by_field_name("name"))
        start = len(self._commands)
        around = _Around()
        for child in node.children:
            self._around(child, around, depth)
        self._commands.append(Simple(redirects=tuple(around.redirects)))
        for child in node.named_children[1:]:
            self._visit(child, depth + 1)
        calls_itself = any(simple.words and simple.words[0].text == name for simple in self._commands[start:])
        body = self._words.text(node)[len(name) :]
        if calls_itself and ("&" in body or "|" in body):
            self._fork_bomb = True

    def _redirected(self, node: Node, depth: int, feed: Feed) -> None:
        self._check_gaps(node)
        body = node.child_by_field_name("body")
        around = _Around()
        for child in node.children:
            self._around(child, around, depth)
        start = len(self._commands)
        if body is not None and body.type in _SIMPLE:
            self._command(body, depth, feed, around)
        else:
            # The redirections belong to the whole group: they stand as a command of their own without words.
            self._commands.append(Simple(redirects=tuple(around.redirects)))
            if around.words:
                self._doubt = self._doubt or "words in it stand behind a redirection of a group"
            if around.stdin is not None:
                feed = Feed((*feed.names, UNKNOWN), around.stdin)
            elif any(not redirect.writes for redirect in around.redirects):
                feed = Feed((*feed.names, UNKNOWN))
            if body is not None:
                self._visit(body, depth + 1, feed)
        behind = feed.behind(self._commands[start:])
        for part in around.after:
            self._visit(part, depth + 1, behind)

    def _around(self, node: Node, around: _Around, depth: int) -> None:
        """Collect what a redirection brings: the grammar puts the words behind one inside it."""
        if node.type == "file_redirect":
            found, words = self._redirect(node)
            around.redirects.extend(found)
            around.words.extend(words)
            self._nested(node, depth)
        elif node.type == "herestring_redirect":
            around.stdin = self._words.word(node.named_children[-1])
            self._nested(node, depth)
        elif node.type == "heredoc_redirect":
            around.stdin = self._words.heredoc(node)
            if not around.stdin.certain and not self._substitutions_seen(node):
                self._doubt = self._doubt or "a here-document in it was not understood"
            for part in node.children:
                if part.type == "heredoc_body":
                    self._nested(part, depth)
                elif part.type in _WORDS:
                    around.words.append(self._words.word(part))
                    self._nested(part, depth)
                elif part.type in ("file_redirect", "herestring_redirect"):
                    self._around(part, around, depth)
                elif part.is_named and part.type not in ("heredoc_start", "heredoc_end", "file_descriptor"):
                    around.after.append(part)

    def _substitutions_seen(self, heredoc: Node) -> bool:
        """Say whether the grammar saw every substitution in a here-document: after tabs it misses some."""
        expected = len(re.findall(r"(?<!\\)(?:\$\((?!\()|`[^`]*`)", self._words.text(heredoc)))
        waiting, found = [heredoc], 0
        while waiting:
            node = waiting.pop()
            found += node.type == "command_substitution"
            waiting.extend(node.children)
        return found >= expected

    def _command(self, node: Node, depth: int, feed: Feed, around: _Around) -> None:
        self._check_gaps(node)
        words: list[Word] = []
        assigns: list[str] = []
        fed = False
        for child in node.children:
            match child.type:
                case "variable_assignment":
                    assigns.append(self._words.text(child.children[0]))
                    if node.type == "declaration_command":
                        words.append(self._words.word(child))
                case "file_redirect":
                    found, more = self._redirect(child)
                    around.redirects.extend(found)
                    words.extend(more)
                case "herestring_redirect":
                    around.stdin = self._words.word(child.named_children[-1])
                case "command_name":
                    words.append(self._words.word(child.children[0]))
                case "process_substitution":
                    words.append(Word(UNKNOWN))
                    fed = True
                case _:
                    if child.is_named or node.type != "test_command":
                        words.append(self._words.word(child))
        if node.type == "test_command":
            words.insert(0, Word("["))
        words.extend(around.words)
        stdin = feed.text if around.stdin is None else around.stdin
        self._commands.append(Simple(tuple(words), tuple(around.redirects), feed.names, stdin, tuple(assigns), fed))
        self._nested(node, depth)

    def _check_gaps(self, node: Node) -> None:
        """Doubt a command that goes on over a line end: before a backslash the grammar overlooks that it ended."""
        for before, after in itertools.pairwise(node.children):
            gap = self._words.between(before, after)
            if not _GAP.fullmatch(gap) or self._words.text(after).startswith("\n"):
                self._doubt = self._doubt or "where a command in it ends was not understood"

    def _nested(self, node: Node, depth: int) -> None:
        """Visit the substitutions below `node`: they run commands wherever they stand."""
        waiting = list(node.children)
        while waiting:
            child = waiting.pop()
            if child.type in ("command_substitution", "process_substitution"):
                text = self._words.text(child)
                if text.startswith("`") and "\\" in text:
                    self._doubt = self._doubt or "it has escapes inside backticks"
                for part in child.named_children:
                    self._visit(part, depth + 1)
            else:
                waiting.extend(child.children)

    def _redirect(self, node: Node) -> tuple[list[Redirect], list[Word]]:
        """Return the redirection, and the words behind it that belong to the command."""
        self._check_gaps(node)
        operator = next((child.type for child in node.children if not child.is_named), "")
        targets = node.children_by_field_name("destination")
        words = [self._words.word(target) for target in targets[1:]]
        if not targets or (operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", self._words.text(targets[0]))):
            return [], words
        return [Redirect(operator, self._words.word(targets[0]))], words
