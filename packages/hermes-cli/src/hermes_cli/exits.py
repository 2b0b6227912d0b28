"""The exit codes of `hermes`: a contract with scripts, documented in the package's README."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_core.errors import HermesError


class Exit(IntEnum):
    """What the process says to whoever started it. Signals and closed pipes follow the shell: 128 + signal."""

    OK = 0
    FAILED = 1
    """The turn failed, or the command could not do its work; stderr holds the sentence."""
    USAGE = 2
    """The command line is wrong, or names something that does not exist."""
    NO_MODEL = 3
    """No model can answer; stderr says what to do."""
    HUNG_UP = 129
    INTERRUPTED = 130
    CLOSED_PIPE = 141
    TERMINATED = 143


class OutputFailed(Exception):
    """Stdout or stderr cannot be written (a full disk, say); the message is a sentence."""


def exit_for(error: HermesError) -> Exit:
    """Return the exit code of an error that ended the command."""
    return exit_for_code(error.code)


def exit_for_code(code: str) -> Exit:
    """Return the exit code for the `code` of an error or of a failed turn."""
    match code:
        case "no_model":
            return Exit.NO_MODEL
        case "invalid_input" | "session_not_found":
            return Exit.USAGE
        case "interrupted":
            return Exit.INTERRUPTED
        case _:
            return Exit.FAILED
