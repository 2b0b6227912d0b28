"""`hermes setup`: the core's set-up, where there is a person to ask."""

from __future__ import annotations

import sys

from hermes_core.config.setup import setup

from hermes_cli.exits import Exit


def run() -> int:
    """Ask for a provider and a model and write them down; return the exit code. Raises HermesError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("hermes: setup asks questions, so it needs a terminal; `hermes config set` does not.\n")
        return Exit.USAGE
    return setup()
