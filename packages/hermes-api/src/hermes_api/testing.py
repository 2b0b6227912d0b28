"""The HTTP surface in a test: the real server on a loopback port, over a scripted model."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

import anyio
from hermes_core.config.config import load_config
from hermes_core.config.settings import Config
from hermes_core.runtime import Runtime
from hermes_core.serving.listen import listener
from hermes_core.testing import Answer, ScriptedModel

from hermes_api.serve import serve

KEY = "a-key-for-tests-0123456789"


class ApiServer:
    """A running server. `url` is its root without a path; `stop` begins its orderly end."""

    def __init__(self, port: int, model: ScriptedModel, runtime: Runtime, stop: anyio.Event) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.model = model
        self.runtime = runtime
        self.stop = stop
        self.headers = {"Authorization": f"Bearer {KEY}"}


@contextlib.asynccontextmanager
async def api_server(
    home: Path, *answers: Answer, config: Sequence[str] = (), environ: Mapping[str, str] | None = None
) -> AsyncGenerator[ApiServer]:
    """Serve the home on a free port, with a model that gives `answers` and then does what it is told.

    `config` are more lines of config.yaml, `environ` more variables of the environment.
    """
    async with ScriptedModel(answers) as model:
        settings = _settings(home, model.base_url, config, environ or {})
        sock = listener("127.0.0.1", 0, name="The API server")
        port = sock.getsockname()[1]
        stop = anyio.Event()
        async with Runtime(settings) as runtime, anyio.create_task_group() as tasks:
            tasks.start_soon(serve, runtime, sock, stop.wait)
            try:
                yield ApiServer(port, model, runtime, stop)
            finally:
                stop.set()


def _settings(home: Path, base_url: str, config: Sequence[str], environ: Mapping[str, str]) -> Config:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    lines = [f"model: {{default: m, provider: custom, base_url: '{base_url}', api_key: provider-key-1}}"]
    (home / "config.yaml").write_text("\n".join([*lines, *config]) + "\n")
    return load_config(home, {"API_SERVER_KEY": KEY, "TERMINAL_CWD": str(home), **environ})
