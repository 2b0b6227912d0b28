"""Simple commands: words, redirections, and what comes in by pipe."""

from __future__ import annotations

import re

import msgspec

from hermes_core.tools.words import UNKNOWN, Word


class Redirect(msgspec.Struct, frozen=True):
    """A redirection to or from a file; descriptors and here-documents are not among them."""

    operator: str
    target: Word

    @property
    def writes(self) -> bool:
        """Whether the file is opened for writing."""
        return ">" in self.operator


class Simple(msgspec.Struct, frozen=True):
    """One simple command. `upstream` names what is piped into it; `stdin` is the text it reads, where that is known
    (a here-document, or what `echo` pipes into it)."""

    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    upstream: tuple[str, ...] = ()
    stdin: Word | None = None
    assigns: tuple[str, ...] = ()
    fed: bool = False
    """Whether a word of it is a process substitution."""


def printed(simple: Simple) -> Word | None:
    """Return the text that a plain `echo`, `printf` or `cat` of a here-document prints; None for all else."""
    if not simple.words or any(redirect.writes for redirect in simple.redirects):
        return None
    name, args = simple.words[0].text, list(simple.words[1:])
    if name == "cat" and not args:
        return simple.stdin
    if name not in ("echo", "printf"):
        return None
    while name == "echo" and args and re.fullmatch(r"-[neE]+", args[0].text):
        args.pop(0)
    text = " ".join(arg.text for arg in args)
    if name == "printf" and len(args) > 1:
        return Word(UNKNOWN + text)
    return Word(text.replace("\\n", "\n"))


class Feed(msgspec.Struct, frozen=True):
    """What comes in by pipe: the programs upstream, and the text where a plain `echo` or here-document makes it."""

    names: tuple[str, ...] = ()
    text: Word | None = None

    def behind(self, commands: list[Simple]) -> Feed:
        """Return what comes out behind these commands."""
        names = tuple(simple.words[0].text for simple in commands if simple.words)
        text = printed(commands[0]) if len(commands) == 1 else None
        return Feed(tuple(dict.fromkeys((*self.names, *names))) or (UNKNOWN,), text)


NOTHING = Feed()
