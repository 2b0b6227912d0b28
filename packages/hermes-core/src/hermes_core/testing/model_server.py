"""The scripted model as a process, which prints its base URL as its first line:

    python -m hermes_core.testing.model_server [--port N] [--script FILE.json]

Without a script the last user message steers every answer (`directives`).
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

import anyio
import msgspec

from hermes_core.testing.script import Script
from hermes_core.testing.scripted_model import ScriptedModel


async def serve(script: Script, port: int) -> None:
    """Serve until cancelled, having printed the base URL."""
    async with ScriptedModel(script, port=port, keep=0) as model:
        sys.stdout.write(model.base_url + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


def main() -> None:
    """Run the server as a process; SIGINT and SIGTERM end it."""
    parser = argparse.ArgumentParser(
        description="A scripted model in the wires of OpenAI: Chat Completions and Responses."
    )
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--script", type=Path, help="a JSON file with the fields of hermes_core.testing.script.Script")
    options = parser.parse_args()
    script = msgspec.json.decode(options.script.read_bytes(), type=Script) if options.script else Script()

    if not 0 <= options.port < 65536:
        parser.error("argument --port: a number from 0 to 65535 is expected")

    async def until_signal() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, script, options.port)
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                async for _ in signals:
                    tasks.cancel_scope.cancel()

    try:
        anyio.run(until_signal)
    except* OSError as errors:
        sys.exit(f"The scripted model cannot listen on port {options.port}: {errors.exceptions[0]}")


if __name__ == "__main__":
    main()
