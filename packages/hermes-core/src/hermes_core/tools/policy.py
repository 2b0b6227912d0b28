"""The policy: whether a tool call runs, is asked about, or is refused. Pure: it reads paths, and changes nothing.

Modes (`approvals.mode` of the configuration):

- `manual`: whatever is dangerous, or cannot be understood with certainty, is asked.
- `smart`: the same, but for dangers that only touch what a build makes again inside the session's folder
  (`rm -rf node_modules`), and plain files there removed by name: those run.
- `off`: nothing is asked. What stands below the floor is refused all the same: removal of the root, a home or a
  system folder, writing to a disk, fork bombs, and the product's own credential stores.

Deny rules refuse in every mode and no grant goes past them. With rules present, a command that cannot be understood
is asked even in mode `off`, since it could hide what a rule forbids.

A grant is exact: `terminal:` with the very text of a command, or `edit:` with the path of a file.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import msgspec

from hermes_core.commands import EditMode
from hermes_core.tools.calls import INTERPRETERS, SHELLS, Call, Reading, read_calls
from hermes_core.tools.danger import Danger, Grade, Where
from hermes_core.tools.edits import PatchArgs, WriteFileArgs, edited_paths
from hermes_core.tools.git_rules import split_git
from hermes_core.tools.paths import Care, Places, inside, judge
from hermes_core.tools.process import ProcessArgs
from hermes_core.tools.programs import dangers
from hermes_core.tools.reading import ReadFileArgs
from hermes_core.tools.readonly import only_looks
from hermes_core.tools.search import SearchFilesArgs
from hermes_core.tools.terminal import TerminalArgs
from hermes_core.tools.tool import Verdict

ApprovalMode = Literal["manual", "smart", "off"]
ALLOW = Verdict("allow")
PLANNING = "this session is in planning mode, which changes nothing"
_PLAN_TOOLS = frozenset({"todo", "clarify", "session_search", "skills_list", "skill_view"})
"""Tools that planning mode lets through as they are; those with arguments of their own are judged by them."""


class Policy:
    """Judges calls. `deny` are rules such as `sudo *` or `git push*`: wildcards over a program and its arguments."""

    def __init__(self, mode: ApprovalMode = "manual", deny: Iterable[str] = ()) -> None:
        self.mode: ApprovalMode = mode
        self.deny = tuple(rule.strip() for rule in deny if rule.strip())

    def review(
        self,
        tool_name: str,
        args: msgspec.Struct,
        *,
        cwd: Path,
        edits: EditMode,
        granted: Container[str],
        home: Path,
    ) -> Verdict:
        """Say what becomes of a call. `home` is the product's home; `granted` the patterns a person has allowed."""
        places = Places(cwd, home, Path.home())
        match args:
            case TerminalArgs(command=command, workdir=workdir, background=background):
                where = Where(places, _absolute(cwd, workdir) if workdir else cwd)
                pattern = f"terminal:{f'[{workdir}] ' if workdir else ''}{command.strip()}"
                return self._command(command, pattern, where, edits, granted, background=background)
            case ProcessArgs(action="write" | "submit", data=data):
                # What goes to a program's input may be a command for a shell.
                return self._command(data, f"process:{data.strip()}", Where(places, cwd), edits, granted)
            case ReadFileArgs(path=path) | SearchFilesArgs(path=path):
                return self._read(_absolute(cwd, path), places)
            case WriteFileArgs() | PatchArgs():
                return self._edit([_absolute(cwd, path) for path in edited_paths(args)], places, edits, granted)
            case ProcessArgs():
                return ALLOW
            case _:
                if edits == "plan" and tool_name not in _PLAN_TOOLS:
                    return Verdict("deny", reason=PLANNING)
                return ALLOW

    # -- commands ----------------------------------------------------------------------------------

    def _command(
        self,
        text: str,
        pattern: str,
        where: Where,
        edits: EditMode,
        granted: Container[str],
        *,
        background: bool = False,
    ) -> Verdict:
        reading = read_calls(text, _variables(where.places))
        rule = self._denied(reading)
        if rule:
            return Verdict("deny", reason=f"the rule {rule!r} forbids this command")
        found = _all_dangers(reading, where)
        worst = max(found, key=lambda danger: danger.grade, default=None)
        if worst is not None and worst.grade is Grade.REFUSE:
            return Verdict("deny", reason=f"{worst.reason}; this is never allowed")
        if edits == "plan" and (reading.doubts or not all(only_looks(call) for call in reading.calls)):
            return Verdict("deny", reason=PLANNING)
        if background and any(_listens(call) for call in reading.calls):
            found.append(Danger(Grade.ASK, "it starts a shell or interpreter that would run whatever it is sent"))
        if pattern in granted or not self._asks(found, reading):
            return ALLOW
        reasons = [danger.reason for danger in sorted(found, key=lambda danger: -danger.grade)] + reading.doubts
        return Verdict(
            "ask",
            reason="; ".join(dict.fromkeys(reasons[:4])),
            command=text.strip(),
            patterns=(pattern,),
        )

    def _denied(self, reading: Reading) -> str:
        """Return the first deny rule that a call falls under, or nothing.

        A call of a program that a rule names, with computed arguments, adds a doubt.
        """
        for call in reading.calls:
            for rule in self.deny:
                if any(fnmatchcase(line, rule) for line in _lines(call)):
                    return rule
                named = fnmatchcase(call.name, rule.split(None, 1)[0])
                if named and not all(arg.certain for arg in call.args):
                    reading.doubts.append(f"the rule {rule!r} may forbid it, and its arguments are computed")
        return ""

    def _asks(self, found: list[Danger], reading: Reading) -> bool:
        match self.mode:
            case "manual":
                return bool(found or reading.doubts)
            case "smart":
                return bool(reading.doubts) or any(danger.grade > Grade.MILD for danger in found)
            case "off":
                hidden = any(call.stdin_code or call.code is not None for call in reading.calls)
                return bool(self.deny) and (hidden or bool(reading.doubts))

    # -- files -------------------------------------------------------------------------------------

    def _read(self, path: Path, places: Places) -> Verdict:
        care, reason = judge(path, places, writing=False)
        if care is Care.STORE:
            return Verdict("deny", reason=f"{path.name} cannot be read: {reason}")
        if care is Care.SENSITIVE and self.mode != "off":
            return Verdict("ask", reason=reason, command=f"read {path}", choices=("once", "deny"))
        return ALLOW

    def _edit(self, paths: list[Path], places: Places, edits: EditMode, granted: Container[str]) -> Verdict:
        judged = [judge(path, places, writing=True) for path in paths]
        care, reason = max(judged, default=(Care.NONE, ""))
        command = "write " + ", ".join(str(path) for path in paths)
        if care is Care.STORE:
            return Verdict("deny", reason=f"it cannot be changed: {reason}")
        if edits == "plan":
            return Verdict("deny", reason=PLANNING)
        if self.mode == "off":
            return ALLOW
        if care is Care.SENSITIVE:
            return Verdict("ask", reason=reason, command=command, choices=("once", "deny"))
        patterns = tuple(dict.fromkeys(f"edit:{os.path.realpath(path)}" for path in paths))
        local = edits == "workspace" and all(inside(path, places.cwd) for path in paths)
        if edits == "allow" or local or (patterns and all(pattern in granted for pattern in patterns)):
            return ALLOW
        if not patterns:
            return ALLOW  # nothing that could be edited is named: the tool itself says what is wrong
        return Verdict("ask", reason="it changes files", command=command, patterns=patterns)


def _lines(call: Call) -> tuple[str, ...]:
    """Return the forms of a call that deny rules are held against: whole, and from the action of git on.

    The blank at the end lets `sudo *` cover a bare `sudo`.
    """
    if call.name != "git":
        return (call.line, f"{call.line} ")
    _, action, rest = split_git(call.args)
    return (call.line, " ".join(["git", action, *(word.text for word in rest)]) + " ")


def _listens(call: Call) -> bool:
    """Say whether a call is a shell or interpreter without a script, which reads commands from its input."""
    interactive = call.name in SHELLS or call.name.rstrip("0123456789.") in INTERPRETERS
    return interactive and call.code is None and all(arg.text.startswith("-") for arg in call.args)


def _all_dangers(reading: Reading, where: Where) -> list[Danger]:
    found: list[Danger] = []
    if reading.fork_bomb:
        found.append(Danger(Grade.REFUSE, "it starts copies of itself without end"))
    for call in reading.calls:
        found.extend(dangers(call, where))
        if call.name in ("cd", "pushd"):
            where = where.after_cd(call.args)
        elif call.name == "popd":
            where = Where(where.places, None)
    return found


def _variables(places: Places) -> dict[str, str]:
    # PWD as a dot: a `cd` in the text then moves it along.
    return {"HOME": str(places.user), "HERMES_HOME": str(places.home), "PWD": "."}


def _absolute(cwd: Path, path: str) -> Path:
    path = path.replace("\0", "\ufffd")  # no file can have such a name; the tool says so
    try:
        given = Path(path).expanduser()
    except RuntimeError:  # the home of a user that does not exist
        given = Path(path)
    return given if given.is_absolute() else cwd / given
