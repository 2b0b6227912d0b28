"""`hermes-tui-gateway`: says that it is ready first, and only then loads what it needs to answer."""

from __future__ import annotations

import os
import sys

READY = b'{"jsonrpc":"2.0","method":"event","params":{"type":"gateway.ready","payload":{"skin":{}}}}'
"""The first frame of every connection. `skin` is empty: the host draws in its own colours."""

USAGE = """\
usage: hermes-tui-gateway [--help] [--version]

Serve the TUI gateway protocol on standard input and output: JSON-RPC 2.0, one
object a line. A host starts it and talks to it; see the package's README.

The arguments `-m tui_gateway.entry` are accepted and ignored, so that a host
which starts a Python module can be pointed at this command.
"""


def main(argv: list[str] | None = None) -> int:
    """Run the gateway; return the exit code: 0 when its host has gone or asked it to end, 2 for bad arguments."""
    words = list(sys.argv[1:] if argv is None else argv)
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            sys.stdout.write(USAGE)
            return 0
        if word in ("-V", "--version"):
            from hermes_tui_gateway import __version__

            sys.stdout.write(f"hermes-tui-gateway {__version__}\n")
            return 0
        if word == "-m" and words:
            words.pop(0)
            continue
        sys.stderr.write(f"hermes-tui-gateway: {word} is not understood; --help tells what is.\n")
        return 2
    try:
        os.write(1, READY + b"\n")
    except OSError:
        return 0  # the host is gone already
    from hermes_tui_gateway.stdio import serve

    return serve()


if __name__ == "__main__":
    sys.exit(main())
