"""The processes that are measured, each with a home of its own: stdio servers, the HTTP server, the model."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import anyio
import msgspec
import psutil
from hermes_core.jsonrpc import LineSplitter

BIN = Path(sys.executable).parent
ACP = [str(BIN / "hermes-acp")]
GATEWAY = [str(BIN / "hermes-tui-gateway")]
API = [str(BIN / "hermes-api"), "--port", "0"]
MODEL = [sys.executable, "-m", "hermes_core.testing.model_server"]
KEY = "a-key-for-the-bench-0123456789"
BLOCK = 1024 * 1024
PATIENCE = 120.0
_LISTENING = re.compile(rb"listening on http://127\.0\.0\.1:(\d+)")


class Frame(msgspec.Struct):
    """A JSON-RPC frame, its parts unread."""

    id: int | None = None
    method: str = ""
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


_frames = msgspec.json.Decoder(Frame)


class Child:
    """A process with pipes; `spawned` is the moment before its start, by the clock of `perf_counter`."""

    def __init__(self, process: Process, spawned: float, folder: Path) -> None:
        self.process = process
        self.spawned = spawned
        self.folder = folder
        self._splitter = LineSplitter()
        self._waiting: list[Frame] = []
        self._last_id = 0

    @property
    def rss(self) -> float:
        """Resident memory in MB (10^6 bytes)."""
        return psutil.Process(self.process.pid).memory_info().rss / 1e6

    @property
    def cpu(self) -> float:
        """CPU seconds so far, user and system."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def send(self, method: str, params: object) -> int:
        """Send a request and return its id."""
        assert self.process.stdin is not None
        self._last_id += 1
        frame = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        self.process.stdin.write(msgspec.json.encode(frame) + b"\n")
        return self._last_id

    async def frames(self) -> list[Frame]:
        """Return the frames that came, at least one."""
        assert self.process.stdout is not None
        while not self._waiting:
            block = await self.process.stdout.read(BLOCK)
            if not block:
                raise EOFError("a process that is measured ended early")
            self._waiting = [_frames.decode(line) for line in self._splitter.feed(block) if isinstance(line, bytes)]
        frames, self._waiting = self._waiting, []
        return frames

    async def call(self, method: str, params: object) -> msgspec.Raw:
        """Send a request and return its result; what comes meanwhile is passed over."""
        number = self.send(method, params)
        while True:
            for frame in await self.frames():
                if frame.id == number:
                    if frame.error:
                        raise RuntimeError(f"{method}: {bytes(frame.error).decode()}")
                    return frame.result


@asynccontextmanager
async def child(command: Sequence[str], folder: Path) -> AsyncGenerator[Child]:
    """Run a command with the home `folder / "home"`; leaving the block ends its input and waits for it."""
    environ = {**os.environ, "HERMES_HOME": str(folder / "home"), "API_SERVER_KEY": KEY, "TERMINAL_CWD": str(folder)}
    with anyio.fail_after(PATIENCE), (folder / "stderr").open("ab") as errors:
        spawned = perf_counter()
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=errors, cwd=folder, env=environ, limit=BLOCK
        )
        assert process.stdin is not None
        try:
            yield Child(process, spawned, folder)
            process.stdin.close()
            with anyio.move_on_after(3):
                await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                with anyio.CancelScope(shield=True):
                    await process.wait()


@asynccontextmanager
async def scratch(base_url: str = "") -> AsyncGenerator[Path]:
    """Make a folder with a home, whose model answers at `base_url`."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "home").mkdir(mode=0o700)
        model = {"default": "scripted-model", "provider": "custom", "base_url": base_url, "api_key": "k"}
        config = {"model": model, "gateway": {"api_server": {"max_concurrent_runs": 0}}}
        # JSON is YAML.
        (folder / "home" / "config.yaml").write_bytes(msgspec.json.encode(config))
        yield folder


@asynccontextmanager
async def model_process() -> AsyncGenerator[str]:
    """Run the scripted model as a process of its own, and yield its base URL."""
    async with scratch() as folder, child(MODEL, folder) as model:
        assert model.process.stdout is not None
        base_url = (await model.process.stdout.readline()).decode().strip()
        yield base_url
        model.process.terminate()


@asynccontextmanager
async def api_process(base_url: str) -> AsyncGenerator[tuple[Child, int]]:
    """Run the HTTP server, and yield it with its port."""
    async with scratch(base_url) as folder, child(API, folder) as server:
        while not (found := _LISTENING.search((folder / "stderr").read_bytes())):
            if server.process.returncode is not None:
                raise EOFError((folder / "stderr").read_text())
            await anyio.sleep(0.01)
        yield server, int(found[1])
        server.process.terminate()
