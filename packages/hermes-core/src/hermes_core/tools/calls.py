"""What a shell text really runs: programs behind wrappers, in `bash -c` texts, here-documents and `find -exec`.

`sudo`, `/usr/bin/sudo`, `env sudo`, `xargs sudo` and `bash -c 'sudo id'` all give a call whose name is `sudo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from posixpath import basename

import msgspec

from hermes_core.tools.shell import UNKNOWN, Redirect, Simple, Word, read_script

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


class _Wrapper(msgspec.Struct, frozen=True):
    """How a program that runs another one reads its arguments.

    `valued`: options that take a value of their own; `flags`: all other known ones (single letters may stand
    together); `skip`: positional arguments before the inner program; `assigns`: `NAME=value` may come first.
    """

    valued: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    appends: bool = False
    """It adds words of its own to the inner program's."""


def _w(valued: str = "", *, skip: int = 0, assigns: bool = False, appends: bool = False) -> _Wrapper:
    return _Wrapper(frozenset(valued.split()), skip, assigns, appends)


WRAPPERS: dict[str, _Wrapper] = {
    "env": _w("-u --unset -C --chdir -P", assigns=True),
    "command": _w(),
    "builtin": _w(),
    "exec": _w("-a"),
    "nohup": _w(),
    "nice": _w("-n --adjustment"),
    "ionice": _w("-c -n -p --class --classdata"),
    "chrt": _w("-T -P -D", skip=1),
    "taskset": _w(skip=1),
    "time": _w("-f --format -o --output"),
    "timeout": _w("-k --kill-after -s --signal", skip=1),
    "stdbuf": _w("-i --input -o --output -e --error"),
    "unbuffer": _w(),
    "setsid": _w(),
    "coproc": _w(),
    "caffeinate": _w("-t -w"),
    "xargs": _w(
        "-I -i -n -P -L -l -s -d -E -a -J -R -S --max-args --max-procs --replace --delimiter --arg-file --max-lines",
        appends=True,
    ),
    "parallel": _w("-j --jobs -N -n --colsep -a --arg-file --delay --timeout", appends=True),
    "sudo": _w("-u -g -h -p -U -C -D -R -T -r -t --user --group --host --prompt --chdir --close-from", assigns=True),
    "doas": _w("-u -C"),
    "pkexec": _w("--user"),
    "run0": _w("-u --user"),
    "chroot": _w("--userspec --groups", skip=1),
    "unshare": _w("-R -S -G -w --root --wd --setuid --setgid"),
    "nsenter": _w("-t -S -G --target --setuid --setgid"),
    "flock": _w("-w -E --timeout --wait --conflict-exit-code", skip=1),
    "strace": _w("-o -e -p -s -E -u -P -S -a -b -X"),
    "ltrace": _w("-o -e -p -s -u -l -a -n"),
    "busybox": _w(),
    "toybox": _w(),
    "proxychains": _w("-f"),
    "proxychains4": _w("-f"),
    "dbus-run-session": _w("--config-file"),
    "systemd-run": _w("-u -p -M -H --unit --property --slice --uid --gid --working-directory -E --setenv"),
}

_JOINED = {
    "watch": _w("-n --interval -d -t"),
    "ssh": _w("-p -i -l -o -F -J -L -R -D -b -c -e -m -S -W -w -E -B", skip=1),
}
"""Programs that join their arguments and give the text to a shell."""


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
        call = Call(name, args, simple.redirects, simple.upstream, simple.assigns)
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
        elif name in _JOINED:
            self._joined(_after_options(args, _JOINED[name]), depth, ())
        elif name == "find" or name == "fd" or name == "fdfind":
            for command in _executed(args):
                self._words((*command, Word(UNKNOWN)), bare, depth)
        elif name == "env" and any(arg.text.startswith(("-S", "--split-string")) for arg in args):
            self._doubt("env splits a text into a command in it")
        elif name in WRAPPERS and not (name == "command" and args and args[0].text in ("-v", "-V")):
            wrapper = WRAPPERS[name]
            inner = _after_options(args, wrapper)
            if name == "flock" and inner[:1] == (Word("-c"),):
                self._joined(inner[1:2], depth, ())
            elif inner:
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
        """Add the code that an interpreter is given, and say whether its program comes in by pipe."""
        base = call.name.rstrip("0123456789.") if call.name not in INTERPRETERS else call.name
        options = INTERPRETERS.get(base, ())
        if not options and call.name not in SHELLS and call.name not in ("source", ".", "eval"):
            return call
        code: Word | None = None
        for index, arg in enumerate(call.args):
            if arg.text in options and index + 1 < len(call.args):
                code = call.args[index + 1]
                break
            joined = next((option for option in options if len(option) == 2 and arg.text.startswith(option)), "")
            if joined:
                code = Word(arg.text[2:])
                break
        script = next((arg for arg in call.args if not arg.text.startswith("-")), None)
        if code is None and options and script is None and simple.stdin is not None:
            code = simple.stdin
        from_pipe = bool(simple.upstream) and code is None and (script is None or script.text.startswith("/dev/"))
        if call.name in SHELLS and any("c" in arg.text for arg in call.args if _short(arg.text)):
            from_pipe = False
        return msgspec.structs.replace(call, code=code, stdin_code=from_pipe or simple.fed)


def _short(text: str) -> bool:
    return text.startswith("-") and not text.startswith("--")


def _after_options(args: tuple[Word, ...], wrapper: _Wrapper) -> tuple[Word, ...]:
    """Return the words from the inner program on."""
    index = 0
    skip = wrapper.skip
    while index < len(args):
        text = args[index].text
        if text == "--":
            index += 1
        elif text.startswith("-") and len(text) > 1:
            # `-n 5` takes the next word; `-n5` and `--name=5` carry their value along.
            index += 2 if text in wrapper.valued else 1
        elif wrapper.assigns and "=" in text and not text.startswith("="):
            index += 1
        elif skip:
            skip -= 1
            index += 1
        else:
            return args[index:]
    return ()


def _executed(args: tuple[Word, ...]) -> Iterable[tuple[Word, ...]]:
    """Yield the commands that `find` (or fd) would run for what it finds."""
    marks = {"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}
    for index, arg in enumerate(args):
        if arg.text in marks:
            rest = args[index + 1 :]
            end = next((place for place, word in enumerate(rest) if word.text in (";", "+")), len(rest))
            if rest[:end]:
                yield rest[:end]
