"""Which calls only look: what planning mode lets through. A short list; everything else counts as a change."""

from __future__ import annotations

import re

from hermes_core.tools.calls import Call
from hermes_core.tools.paths import HARMLESS_DEVICES
from hermes_core.tools.words import Word

_ANY_ARGUMENT = frozenset(
    [
        "ls",
        "cat",
        "head",
        "tail",
        "wc",
        "grep",
        "egrep",
        "fgrep",
        "stat",
        "file",
        "du",
        "df",
        "pwd",
        "echo",
        "printf",
        "which",
        "type",
        "whoami",
        "id",
        "uname",
        "printenv",
        "cut",
        "tr",
        "diff",
        "cmp",
        "nl",
        "basename",
        "dirname",
        "realpath",
        "readlink",
        "true",
        "false",
        "test",
        "[",
        "[[",
        ":",
        "cd",
        "sleep",
        "jq",
        "column",
        "md5sum",
        "sha256sum",
        "ps",
        "uptime",
        "seq",
        "expr",
        "rev",
        "tac",
        "fold",
        "comm",
        "paste",
        "nproc",
        "free",
        "hostname",
        "cksum",
        "sha1sum",
        "strings",
        "od",
        "hexdump",
        "xxd",
    ]
)
_BUT_NOT = {
    "find": re.compile(r"-(?:delete|exec|execdir|ok|okdir|fprint.*|fls)"),
    "rg": re.compile(r"--pre(?:=.*)?|--hostname-bin.*"),
    "sort": re.compile(r"-\w*o.*|--output.*|--compress-program.*|-T.*"),
    "uniq": re.compile(r"(?!-).*"),
    "tree": re.compile(r"-\w*o.*|--output.*|-R"),
    "date": re.compile(r"-\w*s.*|--set.*|\d+"),
}
"""Programs that look unless one of their arguments matches in full."""
_GIT_LOOKS = frozenset(
    [
        "status",
        "log",
        "diff",
        "show",
        "ls-files",
        "ls-tree",
        "rev-parse",
        "blame",
        "describe",
        "grep",
        "shortlog",
        "rev-list",
    ]
)
_GIT_NOT = re.compile(r"--output.*|-O.*|--open-files.*|--ext-diff|--textconv|-c|--config-env.*|--exec-path.*")


def only_looks(call: Call) -> bool:
    """Say whether a call certainly changes nothing."""
    if call.assigns or call.stdin_code or call.code is not None:
        return False
    if any(redirect.writes and redirect.target.text not in HARMLESS_DEVICES for redirect in call.redirects):
        return False
    if call.name in _ANY_ARGUMENT or not call.name:
        return True
    if call.name == "git":
        return _git_looks(call.args)
    if call.name == "command":
        return bool(call.args) and call.args[0].text in ("-v", "-V")
    forbidden = _BUT_NOT.get(call.name)
    return forbidden is not None and all(word.certain and not forbidden.fullmatch(word.text) for word in call.args)


def _git_looks(args: tuple[Word, ...]) -> bool:
    if not args or not args[0].certain or args[0].text not in _GIT_LOOKS:
        return False
    return all(word.certain and not _GIT_NOT.fullmatch(word.text) for word in args[1:])
