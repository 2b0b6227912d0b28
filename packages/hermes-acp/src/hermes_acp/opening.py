"""The first exchange: `initialize` is answered before the event loop is loaded, so that no editor waits for imports."""

from __future__ import annotations

import os

from hermes_core.jsonrpc import Peer, Request, result_line

from hermes_acp.capabilities import INITIALIZED
from hermes_acp.decode import decode
from hermes_acp.errors import InvalidParams
from hermes_acp.wire.params import InitializeParams

READ_BLOCK = 64 * 1024
FIRST_LINE = 1024 * 1024
"""Bytes of a first line that are waited for here; a longer one is left to the transport."""


def open_connection(source: int, target: int) -> tuple[bytes, InitializeParams | None]:
    """Wait for the first line on `source`, and answer it on `target` if it is a good `initialize`.

    Returns the bytes that were read and not answered, and what the client said of itself if it was answered.
    """
    received = b""
    while b"\n" not in received and len(received) < FIRST_LINE:
        block = os.read(source, READ_BLOCK)
        if not block:
            return received, None
        received += block
    line, _, rest = received.partition(b"\n")
    request = Peer().receive(line)
    if not isinstance(request, Request) or request.method != "initialize":
        return received, None
    try:
        client = decode(request.params, InitializeParams, strict=False)
    except InvalidParams:
        return received, None
    answer = result_line(request.id, INITIALIZED) + b"\n"
    while answer:
        answer = answer[os.write(target, answer) :]
    return rest, client
