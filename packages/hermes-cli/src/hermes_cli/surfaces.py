"""Commands that other packages bring: found by the entry point group `hermes.commands`, name -> `main(argv)`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import cast

from hermes_cli.exits import Exit

GROUP = "hermes.commands"
MESSAGE_ADVICE = 'A message goes behind -q, in quotes: hermes chat -q "What is new?"'
"""For words that stand where a command is expected."""

ABOUT = {
    "acp": "serve an editor over the Agent Client Protocol",
    "tui-gateway": "serve a user interface over JSON-RPC",
    "api": "serve HTTP clients of the OpenAI API",
}
"""Ours, and what they do: so that a missing one can be named."""

Main = Callable[[Sequence[str]], int]


def installed() -> list[str]:
    """Return the names of the commands that other packages bring."""
    from importlib.metadata import entry_points

    return [point.name for point in entry_points(group=GROUP)]


def run(name: str, argv: Sequence[str]) -> int:
    """Hand `argv` to the command `name` and return its exit code; a sentence on stderr when there is none."""
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        try:
            main = cast("Main", point.load())
        except ImportError as error:
            sys.stderr.write(f"hermes: `{name}` is installed, but cannot start: {error}\n")
            return Exit.FAILED
        return main(list(argv))
    sys.stderr.write(_missing(name))
    return Exit.USAGE


def _missing(name: str) -> str:
    if name not in ABOUT:
        return f"hermes: there is no command `{name}`; `hermes --help` lists them.\n{MESSAGE_ADVICE}\n"
    from importlib.metadata import version

    floor = version("hermes-cli").rpartition(".")[0]  # packages of these names on the public index are far below it
    return (
        f"hermes: `{name}` is in the package hermes-{name}, which is not installed here.\n"
        f"Install its wheel from where hermes-cli came from:\n"
        f'  pip install --find-links WHEELS "hermes-{name}>={floor}"\n'
    )
