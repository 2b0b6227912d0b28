"""The command `hermes-acp`: serve an editor on standard input and output, or check and set up."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv` (default: the process's own) and return its exit code."""
    arguments = sys.argv[1:] if argv is None else argv
    if arguments:
        from hermes_acp.options import run

        code = run(arguments)
        if code is not None:
            return code
    return serve_stdio()


def serve_stdio() -> int:
    """Serve the client at the other end of standard input and output."""
    import signal

    from hermes_core.descriptors import claim_stdio

    from hermes_acp.opening import open_connection

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        sys.exit(0)

    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    source, target = claim_stdio()
    received, client = open_connection(source, target)

    # Only now, while the editor has its answer: the event loop and everything behind it.
    import anyio

    from hermes_acp.serve import log_to_stderr, serve

    log_to_stderr()
    anyio.run(serve, source, target, received, client, _leave)
    return 0


def _leave() -> None:
    """End the process now: a client that waits for our end must not wait for an import that nobody needs any more."""
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
