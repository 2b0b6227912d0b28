"""What a shell text really runs: programs behind wrappers, in `bash -c` texts, here-documents and `find -exec`.

`sudo`, `/usr/bin/sudo`, `env sudo`, `xargs sudo` and `bash -c 'sudo id'` all give a call whose name is `sudo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from posixpath import basename

import msgspec

from hermes_core.tools.shell import read_script
from hermes_core.tools.simple import Redirect, Simple
from hermes_core.tools.words import UNKNOWN, Word
from hermes_core.tools.wrappers import WRAPPERS, inner_words

MAX_NESTING = 6
SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash"})
INTERPRETERS = {
    "python": ("-c",),
    "python2": ("-c",),
    "python3": ("-c",),
    "pypy3": ("-c",),
    "perl": ("-e", "-E"),
    "ruby": ("-e",),
    "node": ("-e", "--eval", "-p", "--print", "-pe"),
    "nodejs": ("-e", "--eval", "-p", "--print"),
    "deno": ("eval",),
    "bun": ("-e", "--eval"),
    "php": ("-r",),
    "lua": ("-e",),
    "osascript": ("-e",),
}
"""Programs that run code given as an argument, and the options that give it."""


class Call(msgspec.Struct, frozen=True):
    """One program that would run. `args` exclude its name. `code` is text that it would run in its own language."""

    name: str
    args: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    upstream: tuple[str, ...] = ()
    assigns: tuple[str, ...] = ()
    code: Word | None = None
    stdin: Word | None = None
    """The text it reads from its input, where that is given in the command."""
    stdin_code: bool = False
    """A shell or interpreter that runs whatever comes in by pipe or process substitution."""

    @property
    def line(self) -> str:
        """The call in one line, its name without folder, as deny rules see it."""
        return " ".join([self.name, *(arg.text for arg in self.args)])


class Reading(msgspec.Struct):
    """Everything a text would run, and every reason for not being sure of that."""

    calls: list[Call] = []
    doubts: list[str] = []
    fork_bomb: bool = False


def read_calls(text: str, variables: Mapping[str, str]) -> Reading:
    """Return everything that `text` would run when bash runs it."""
    reading = Reading([], [])
    _Unfolding(reading, variables).text(text, 0)
    return reading


class _Unfolding:
    """Unfolds a text and everything nested in it into one `Reading`."""

    def __init__(self, reading: Reading, variables: Mapping[str, str]) -> None:
        self._reading = reading
        self._variables = variables

    def text(self, text: str, depth: int, upstream: tuple[str, ...] = ()) -> None:
        if depth > MAX_NESTING:
            self._doubt("it is nested too deeply to be checked")
            return
        script = read_script(text, self._variables)
        if script.doubt:
            self._doubt(script.doubt)
        self._reading.fork_bomb |= script.fork_bomb
        for simple in script.commands:
            self._simple(simple, depth, upstream)

    def _doubt(self, why: str) -> None:
        if why not in self._reading.doubts:
            self._reading.doubts.append(why)

    def _simple(self, simple: Simple, depth: int, upstream: tuple[str, ...]) -> None:
        if upstream:
            simple = msgspec.structs.replace(simple, upstream=(*upstream, *simple.upstream))
        self._words(simple.words, simple, depth)

    def _words(self, words: tuple[Word, ...], simple: Simple, depth: int) -> None:
        """Note the program that `words` run, then whatever that program runs in turn."""
        if depth > MAX_NESTING:
            self._doubt("it is nested too deeply to be checked")
            return
        if not words:
            self._reading.calls.append(Call("", (), simple.redirects, simple.upstream, simple.assigns))
            return
        first, args = words[0], words[1:]
        if not first.certain or (first.pattern and first.text not in ("[", "[[", "{")):
            self._doubt("the name of a program in it is computed")
        name = basename(first.text) or first.text
        call = Call(name, args, simple.redirects, simple.upstream, simple.assigns, stdin=simple.stdin)
        self._reading.calls.append(self._with_code(call, simple))
        self._inner(name, args, simple, depth + 1)

    def _inner(self, name: str, args: tuple[Word, ...], simple: Simple, depth: int) -> None:
        bare = msgspec.structs.replace(simple, redirects=(), assigns=())
        if name in SHELLS or name == "su":
            self._shell(args, simple, depth, reads_stdin=name != "su")
        elif name == "eval":
            self._joined(args, depth, simple.upstream)
        elif name == "trap":
            self._joined(args[:1], depth, ())
        elif name in ("find", "fd", "fdfind"):
            for command in _executed(args):
                self._words((*command, Word(UNKNOWN)), bare, depth)
        elif name == "command" and args and args[0].text in ("-v", "-V"):
            return  # only says what the name means
        elif name in ("parallel", "coproc"):
            self._doubt(f"what {name} runs in it is not clear")
        elif name in ("source", ".") and simple.stdin is not None:
            self._joined((simple.stdin,), depth, ())
        elif name in WRAPPERS:
            self._wrapped(name, args, bare, depth)

    def _wrapped(self, name: str, args: tuple[Word, ...], bare: Simple, depth: int) -> None:
        if name == "flock":
            texts = [index for index, arg in enumerate(args[:-1]) if arg.text in ("-c", "--command")]
            if texts:
                self._joined((args[texts[0] + 1],), depth, ())
                return
        wrapper = WRAPPERS[name]
        inner, known = inner_words(args, wrapper)
        if not known:
            self._doubt(f"an option of {name} in it is not known")
        if not inner:
            return
        if wrapper.joins:
            self._joined(inner, depth, ())
        else:
            self._words((*inner, Word(UNKNOWN)) if wrapper.appends else inner, bare, depth)

    def _shell(self, args: tuple[Word, ...], simple: Simple, depth: int, *, reads_stdin: bool) -> None:
        for index, arg in enumerate(args):
            if arg.text.startswith("-") and not arg.text.startswith("--") and "c" in arg.text:
                rest = [word for word in args[index + 1 :] if not word.text.startswith(("-", "+"))]
                self._joined(tuple(rest[:1]), depth, simple.upstream)
                return
            if arg.text in ("--command",):
                self._joined(args[index + 1 : index + 2], depth, simple.upstream)
                return
        if reads_stdin and simple.stdin is not None:
            self._joined((simple.stdin,), depth, ())

    def _joined(self, words: Iterable[Word], depth: int, upstream: tuple[str, ...]) -> None:
        """Read the text that `words` make when they are joined; only a text that is known can be read."""
        known = tuple(words)
        text = " ".join(word.text for word in known)
        if not all(word.certain for word in known):
            self._doubt("it runs a computed text as a command")
            text = text.replace(UNKNOWN, "$UNKNOWN")
        self.text(text, depth, upstream)

    def _with_code(self, call: Call, simple: Simple) -> Call:
        """Add the code that an interpreter is given, and say whether its program comes from another command."""
        options = INTERPRETERS.get(call.name) or INTERPRETERS.get(call.name.rstrip("0123456789."), ())
        shell = call.name in SHELLS
        if not options and not shell and call.name not in ("source", "."):
            return call
        inline = shell and any(_short(arg.text) and "c" in arg.text for arg in call.args)
        code = _inline_code(call.args, options)
        script = next((arg for arg in call.args if not arg.text.startswith("-")), None)
        if shell and any(_short(arg.text) and "s" in arg.text for arg in call.args):
            script = None  # -s: what follows are arguments, the commands come in
        reads = code is None and not inline and (script is None or script.text.startswith(("/dev/", "/proc/")))
        if reads and not shell and simple.stdin is not None:
            code, reads = simple.stdin, False
        comes_in = bool(simple.upstream) and not (shell and simple.stdin is not None and simple.stdin.certain)
        comes_in = comes_in or any(not item.writes and not item.target.certain for item in simple.redirects)
        return msgspec.structs.replace(call, code=code, stdin_code=(reads and comes_in) or simple.fed)


def _inline_code(args: tuple[Word, ...], options: tuple[str, ...]) -> Word | None:
    """Return the code behind `-c`, `-e` and the like, also at the end of a cluster (`-ne`) or joined (`-cprint()`)."""
    for index, arg in enumerate(args):
        for option in options:
            short = len(option) == 2
            if arg.text == option or (short and re.fullmatch(rf"-[A-Za-z]*{option[1]}", arg.text)):
                return args[index + 1] if index + 1 < len(args) else None
            if short and arg.text.startswith(option):
                return Word(arg.text[2:])
        if not arg.text.startswith("-"):
            return None
    return None


def _short(text: str) -> bool:
    return text.startswith("-") and not text.startswith("--")


def _executed(args: tuple[Word, ...]) -> Iterable[tuple[Word, ...]]:
    """Yield the commands that `find` (or fd) would run for what it finds."""
    marks = {"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}
    for index, arg in enumerate(args):
        if arg.text in marks:
            rest = args[index + 1 :]
            end = next((place for place, word in enumerate(rest) if word.text in (";", "+")), len(rest))
            if rest[:end]:
                yield rest[:end]
