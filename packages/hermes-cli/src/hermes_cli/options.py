"""The command line: every flag and sub-command, parsed into plain values. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from hermes_cli import surfaces

BUILT_IN = ("chat", "sessions", "model", "config", "setup", "doctor")


class ChatOptions(NamedTuple):
    """What to say, to which model, in which session. Empty strings mean: not given."""

    text: str = ""
    """The one message to answer; without it the chat is interactive."""
    answer_only: bool = False
    model: str = ""
    cwd: str = ""
    yolo: bool = False
    """Run what would be asked about without asking, in this process only."""
    resume: str = ""
    """The stored id of a session to go on with."""
    newest: bool = False
    """Go on with the newest session."""


class Parser(argparse.ArgumentParser):
    """Says where a message goes, beside words that it cannot place."""

    def error(self, message: str) -> NoReturn:
        """Write what is wrong to stderr and leave."""
        misplaced = message.startswith("argument COMMAND: ") or re.match("unrecognized arguments: [^-]", message)
        super().error(f"{message}\n{surfaces.MESSAGE_ADVICE}" if misplaced else message)


def parser() -> argparse.ArgumentParser:
    """Return the parser of `hermes`."""
    top = Parser(
        prog="hermes",
        description="Chat with an agent that works in this folder.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("-V", "--version", action="store_true", help="print the version and leave")
    top.add_argument("-z", dest="only", metavar="TEXT", help="answer TEXT; stdout holds the answer and nothing else")
    _add_chat_flags(top, default=None)
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    chat = commands.add_parser("chat", help="chat here, or answer one message with -q", allow_abbrev=False)
    _add_chat_flags(chat, default=argparse.SUPPRESS)
    _add_sessions(commands.add_parser("sessions", help="list, show, search, export or delete stored sessions"))
    model = commands.add_parser("model", help="show which model answers and why, or set the default")
    model.add_argument("name", nargs="?", default="", help="NAME, PROVIDER:NAME or PROVIDER/NAME to use from now on")
    _add_config(commands.add_parser("config", help="read and change config.yaml"))
    commands.add_parser("setup", help="choose a provider and a model, step by step")
    commands.add_parser("doctor", help="say what is installed, what answers, and how to mend what is wrong")
    return top


def chat_options(found: argparse.Namespace) -> ChatOptions:
    """Return the chat flags of a parsed command line."""
    only: str | None = found.only
    text: str | None = found.query if only is None else only
    return ChatOptions(
        text=text or "",
        answer_only=only is not None,
        model=found.model or "",
        cwd=found.cwd or "",
        yolo=bool(found.yolo),
        resume=found.resume or "",
        newest=bool(found.newest),
    )


def contradiction(found: argparse.Namespace) -> str:
    """Return what cannot be done at once in a parsed command line; empty where all of it can."""
    if found.only is not None and found.query is not None:
        return "-z and -q each bring the message; give one of them."
    if found.command not in (None, "chat") and (found.only is not None or found.query is not None):
        return f"-z and -q answer a message, which `{found.command}` does not."
    if found.resume and found.newest:
        return "--resume and --continue each name a session; give one of them."
    return ""


def installed_command(words: Sequence[str]) -> bool:
    """Say whether the command line begins with a command that another package brings."""
    return bool(words) and not words[0].startswith("-") and words[0] not in BUILT_IN


def _add_chat_flags(to: argparse.ArgumentParser, default: str | None) -> None:
    to.add_argument(
        "-q", "--query", metavar="TEXT", default=default, help="answer TEXT and leave; - reads it from stdin"
    )
    to.add_argument("-m", "--model", metavar="NAME", default=default, help="the model to use, or PROVIDER:NAME")
    to.add_argument("-r", "--resume", metavar="ID", default=default, help="go on with a stored session")
    to.add_argument(
        "-c", "--continue", dest="newest", action="store_true", default=default, help="go on with the newest session"
    )
    to.add_argument("--cwd", metavar="FOLDER", default=default, help="work in FOLDER instead of this one")
    to.add_argument(
        "--yolo", action="store_true", default=default, help="never ask before running a command (this process only)"
    )


def _add_sessions(to: argparse.ArgumentParser) -> None:
    actions = to.add_subparsers(dest="action", metavar="ACTION")
    listing = actions.add_parser("list", help="the newest sessions (the default)")
    listing.add_argument("-n", "--limit", type=_count, default=20, help="how many (20)")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    show = actions.add_parser("show", help="print a transcript")
    show.add_argument("id")
    search = actions.add_parser("search", help="find messages that hold all the words")
    search.add_argument("words", nargs="+")
    search.add_argument("-n", "--limit", type=_count, default=20, help="how many (20)")
    export = actions.add_parser("export", help="print a session as JSON lines, one message each")
    export.add_argument("id")
    delete = actions.add_parser("delete", help="remove sessions for good")
    delete.add_argument("ids", nargs="+", metavar="id")
    delete.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _add_config(to: argparse.ArgumentParser) -> None:
    actions = to.add_subparsers(dest="action", metavar="ACTION")
    get = actions.add_parser("get", help="print a value, or everything")
    get.add_argument("key", nargs="?", default="", help="a dotted key, such as model.default")
    put = actions.add_parser("set", help="change a value")
    put.add_argument("key")
    put.add_argument("value")
    actions.add_parser("path", help="print where config.yaml is (the default)")


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= 1000:
        return int(text)
    raise argparse.ArgumentTypeError("a number from 1 to 1000 is expected")


def _epilog() -> str:
    names = surfaces.installed()
    lines = [f"  hermes {name:<14} {surfaces.ABOUT.get(name, '')}".rstrip() for name in sorted(names)]
    more = "\n".join(["commands of other installed packages:", *lines, ""]) if lines else ""
    return more + "In the chat, /help lists what can be typed."
