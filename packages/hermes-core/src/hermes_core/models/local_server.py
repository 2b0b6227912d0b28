"""The child process that runs the local model: `python -m hermes_core.models.local_server WEIGHTS`.

It says one line on its stdout, `{"url": ..., "key": ...}` or `{"error": ...}`, and serves the OpenAI wire on a
loopback port until its stdin ends: then its parent has closed it, or is dead in whatever way.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from typing import Any

import msgspec

CONTEXT = 8192


class Ready(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the child says once: where it answers and with which key, or why it cannot."""

    url: str = ""
    key: str = ""
    error: str = ""

    def __repr__(self) -> str:
        return f"Ready({self.url or self.error})"


def load(weights: str, key: str) -> Any:
    """Load the weights and open the server. Raises what the engine raises."""
    import xllamacpp  # pyright: ignore[reportMissingTypeStubs]

    engine: Any = xllamacpp
    params = engine.CommonParams()
    params.model.path = weights
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.use_jinja = True
    params.warmup = False
    params.verbosity = -1
    # The engine's threads spin while they wait for each other: one core too many makes it many times slower.
    threads = max(1, (os.cpu_count() or 2) - 1)
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    # The likeliest word, but never the same words over and over: small weights fall into loops.
    params.sampling.temp = 0.0
    params.sampling.dry_multiplier = 0.8
    params.sampling.dry_allowed_length = 4
    params.sampling.dry_penalty_last_n = 256
    # Any web page could talk to the port otherwise.
    params.api_keys = [key]
    return engine.Server(params)


def main() -> int:
    """Serve until stdin ends. Nothing but the one line reaches stdout, whatever the engine prints."""
    out = os.dup(1)
    os.dup2(2, 1)
    key = secrets.token_urlsafe(24)
    try:
        server = load(sys.argv[1], key)
        ready = Ready(url=f"{server.listening_address}/v1", key=key)
    except Exception as error:  # noqa: BLE001 - the top of the process: the parent reports it
        server, ready = None, Ready(error=str(error)[:500] or type(error).__name__)
    # A parent that died meanwhile is told nothing, and the end of stdin is seen below.
    with contextlib.suppress(BrokenPipeError):
        os.write(out, msgspec.json.encode(ready) + b"\n")
    os.close(out)
    if server is None:
        return 1
    while os.read(0, 4096):
        pass
    # The engine's threads have nothing to save, and unwinding them takes time that the parent does not have.
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
