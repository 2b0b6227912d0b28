"""The `hermes-api` command: serve the HTTP API, or make a key for it."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from hermes_core.config.config import load_config
from hermes_core.config.settings import Config
from hermes_core.errors import HermesError

from hermes_api import __version__
from hermes_api.keys import checked_key, new_key

if TYPE_CHECKING:
    import socket


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, 1 when the server cannot start, 2 for wrong arguments."""
    options = _parser().parse_args(argv)
    if options.generate_key:
        sys.stdout.write(new_key() + "\n")
        sys.stderr.write("Set it as API_SERVER_KEY, in the environment or in the home's .env file.\n")
        return 0
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("hermes_api").setLevel(logging.INFO)
    try:
        return _serve(_configured(load_config(), options.host, options.port))
    except HermesError as error:
        sys.stderr.write(f"hermes-api: {error.message}\n")
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hermes-api",
        description="Serve Hermes over an OpenAI-compatible HTTP API.",
        epilog="The key that clients must send is read from API_SERVER_KEY (environment, .env) or from "
        "gateway.api_server.key in config.yaml; it is no argument, since every process can read those.",
    )
    parser.add_argument("--host", help="address to listen on (API_SERVER_HOST, default 127.0.0.1)")
    parser.add_argument("--port", type=_port, help="port, 0 for a free one (API_SERVER_PORT, default 8642)")
    parser.add_argument("--generate-key", action="store_true", help="print a new key and exit")
    parser.add_argument("--version", action="version", version=f"hermes-api {__version__}")
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError("must be from 0 to 65535")
    return port


def _configured(config: Config, host: str | None, port: int | None) -> Config:
    settings = config.api_server
    settings = msgspec.structs.replace(
        settings, host=settings.host if host is None else host, port=settings.port if port is None else port
    )
    checked_key(settings.key)
    return msgspec.structs.replace(config, api_server=settings)


def _serve(config: Config) -> int:
    import anyio
    from hermes_core.serving.listen import listener

    sock = listener(config.api_server.host, config.api_server.port, name="The API server")
    # Requests make many objects that live shortly: looking for cycles less often saves a tenth of the CPU.
    gc.set_threshold(50_000, 20, 50)
    anyio.run(partial(_run, config, sock))
    return 0


async def _run(config: Config, sock: socket.socket) -> None:
    from hermes_core.runtime import Runtime

    from hermes_api.serve import serve_until_signal

    async with Runtime(config) as runtime:
        await serve_until_signal(runtime, sock)


if __name__ == "__main__":
    sys.exit(main())
