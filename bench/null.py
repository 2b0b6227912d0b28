"""The least that a Python agent on an event loop can be: it answers the first frame and waits for the end.

Run as a script (`python null.py acp`, `python null.py gateway`), with nothing imported but the standard library: the
start of this process is what the machine asks of any such agent.
"""

from __future__ import annotations

import asyncio
import json
import sys

READY = {"jsonrpc": "2.0", "method": "event", "params": {"type": "gateway.ready"}}


async def serve(kind: str) -> None:
    """Say that the gateway is ready, or answer `initialize`; then read to the end of the input."""
    if kind == "gateway":
        say(READY)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        request = json.loads(line)
        say({"jsonrpc": "2.0", "id": request["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})


def say(frame: object) -> None:
    """Write one frame."""
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1]))
