"""The console script: reads the command line, calls one command, turns its end into an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hermes_cli import options, surfaces
from hermes_cli.exits import Exit, OutputFailed, exit_for

if TYPE_CHECKING:
    import argparse

NO_PLACE = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF))
"""What writing to stdout fails with when it has no place to go."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `hermes`; return its exit code (see `hermes_cli.exits`). `argv` None means the process's own arguments."""
    words = list(sys.argv[1:] if argv is None else argv)
    _hold_streams()
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return Exit.CLOSED_PIPE
    except OSError as error:
        if error.errno not in NO_PLACE:
            raise
        _forget_stdout()
        return _failed(f"The output cannot be written: {error.strerror}.", Exit.FAILED)
    return code


def version() -> str:
    """Return the version of this package."""
    from importlib.metadata import version as version_of

    return version_of("hermes-cli")


def _run(words: list[str]) -> int:
    if options.installed_command(words):
        return surfaces.run(words[0], words[1:])
    if words in (["--version"], ["-V"]):
        sys.stdout.write(f"hermes {version()}\n")
        return Exit.OK
    parser = options.parser()
    try:
        found = parser.parse_args(words)
    except SystemExit as leave:  # argparse has said why, on stderr
        return Exit.USAGE if leave.code else Exit.OK
    if found.version:
        sys.stdout.write(f"hermes {version()}\n")
        return Exit.OK
    if wrong := options.contradiction(found):
        return _failed(wrong, Exit.USAGE)
    from hermes_core.errors import HermesError

    try:
        return _command(found)
    except BaseException as raised:  # whatever is no sentence for a person is raised again, as it was
        error = _only_error(raised)
        if isinstance(error, HermesError):
            return _failed(str(error), exit_for(error))
        if isinstance(error, OutputFailed):
            return _failed(str(error), Exit.FAILED)
        if isinstance(error, (BrokenPipeError, KeyboardInterrupt)):
            raise error from None
        raise


def _command(found: argparse.Namespace) -> int:
    """Call the command that was asked for; each imports what it needs, and nothing else does."""
    match found.command:
        case "sessions":
            from hermes_cli import sessions

            return sessions.run(found)
        case "model":
            from hermes_cli import model

            return model.run(found.name)
        case "config":
            from hermes_cli import settings

            return settings.run(found)
        case "setup":
            from hermes_cli import setup

            return setup.run()
        case "doctor":
            from hermes_cli import doctor

            return doctor.run()
        case _:
            return _chat(found)


def _chat(found: argparse.Namespace) -> int:
    from hermes_cli.log_file import log_to_home

    log_to_home()
    chosen = options.chat_options(found)
    if found.only is not None or found.query is not None:
        from hermes_cli import oneshot

        return oneshot.run(chosen)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("hermes: the chat needs a terminal; `hermes chat -q TEXT` answers one message without.\n")
        return Exit.USAGE
    from hermes_cli.chat import loop

    return loop.run(chosen)


def _failed(sentence: str, code: Exit) -> Exit:
    sys.stderr.write(f"hermes: {sentence}\n")
    return code


def _only_error(raised: BaseException) -> BaseException:
    """Return the one error inside the wrapping of task groups; what was raised, where there are several."""
    error = raised
    while (nested := _nested(error)) is not None:
        error = nested
    return error


def _nested(error: BaseException) -> BaseException | None:
    inner: Sequence[BaseException] = getattr(error, "exceptions", ())
    return inner[0] if len(inner) == 1 else None


def _hold_streams() -> None:
    """Occupy the numbers of standard streams that were closed: no file opened later may be taken for one of them.

    Writing to a closed stdout still fails, and is told; a closed stderr swallows what it is told.
    """
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, os.fdopen(fd, mode, closefd=False))


def _forget_stdout() -> None:
    """Let the interpreter's last flush go nowhere: the reader has left, and that is no error of ours."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main())
