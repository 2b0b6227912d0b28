"""The options of the command line, for people."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int | None:
    """Read the options and do what they say; return the exit code, None where nothing but serving is asked for."""
    parser = argparse.ArgumentParser(
        prog="hermes-acp",
        description="Serve Hermes to an editor over the Agent Client Protocol, on standard input and output.",
    )
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="say which model would answer, and what is wrong")
    choice.add_argument("--setup", action="store_true", help="choose a provider, a key and a model")
    choice.add_argument("--version", action="store_true", help="print the version")
    options = parser.parse_args(arguments)
    if options.version:
        from hermes_acp import __version__

        sys.stdout.write(f"hermes-acp {__version__}\n")
        return 0
    if options.check:
        from hermes_acp.check import check

        return check()
    if options.setup:
        from hermes_core.config.setup import setup

        return setup()
    return None
