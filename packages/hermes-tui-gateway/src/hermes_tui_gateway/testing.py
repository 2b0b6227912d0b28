"""A host in a few lines: what tests of a host, and our own, drive the gateway with.

    async with spawn_gateway({"HERMES_HOME": str(home)}) as host:
        created = await host.call("session.create")
        await host.call("prompt.submit", session_id=created["session_id"], text="Hello")
        end = await host.event("message.complete")

`PipeHost` talks to a process, `LocalHost` to a gateway in this one. Waits end with an error after a while.
"""

from __future__ import annotations

import contextlib
import os
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import msgspec
from hermes_core.jsonrpc import LineSplitter, TooLong
from hermes_core.runtime import Runtime
from hermes_core.tools.tool import Tool

from hermes_tui_gateway.connection import connect
from hermes_tui_gateway.gateway import Gateway

PATIENCE = 30.0
"""Seconds that any wait may take."""


class Refused(Exception):
    """The error that a request was answered with."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Host(ABC):
    """What both kinds of host share: sending requests, and waiting for what comes back."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        """Every frame so far, in order."""
        self._last_id = 0
        self._taken: Counter[str] = Counter()
        self._changed = anyio.Event()
        self._ended = False

    @abstractmethod
    async def write(self, line: bytes) -> None:
        """Send a line as it is."""

    async def send(self, method: str, **params: Any) -> str:
        """Send a request, and return its id without waiting for the answer."""
        self._last_id += 1
        identity = f"r{self._last_id}"
        await self.write(msgspec.json.encode({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}))
        return identity

    async def call(self, method: str, **params: Any) -> Any:
        """Send a request and return its result. Raises Refused."""
        return await self.reply(await self.send(method, **params))

    async def reply(self, identity: Any) -> Any:
        """Wait for the answer to a request; return its result. Raises Refused."""
        frame = await self._frame(lambda: next((f for f in self.frames if _answers(f, identity)), None))
        if "error" in frame:
            raise Refused(frame["error"])
        return frame["result"]

    async def event(self, kind: str) -> dict[str, Any]:
        """Wait for the next event of this kind that was not returned before; return its params."""
        place = self._taken[kind]
        self._taken[kind] += 1
        return await self._frame(lambda: next(iter(self.events(kind)[place:]), None))

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """Return the params of the events so far, of one kind or all."""
        params = [frame["params"] for frame in self.frames if frame.get("method") == "event"]
        return [event for event in params if not kind or event["type"] == kind]

    def received(self, line: bytes) -> None:
        """Take in a frame."""
        self.frames.append(msgspec.json.decode(line))
        self._wake()

    def ended(self) -> None:
        """Note that nothing more will come."""
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _frame(self, find: Callable[[], dict[str, Any] | None]) -> dict[str, Any]:
        with anyio.fail_after(PATIENCE):
            while (frame := find()) is None:
                if self._ended:
                    raise EOFError("The gateway ended, and what was waited for had not come.")
                await self._changed.wait()
        return frame


def _answers(frame: dict[str, Any], identity: Any) -> bool:
    return "method" not in frame and frame["id"] == identity


class PipeHost(Host):
    """A host of a gateway process."""

    def __init__(self, process: anyio.abc.Process) -> None:
        super().__init__()
        self.process = process
        self.errors = b""
        """What came on standard error."""

    async def write(self, line: bytes) -> None:
        """Send a line as it is."""
        assert self.process.stdin is not None
        await self.process.stdin.send(line + b"\n")

    async def hang_up(self) -> None:
        """Close the gateway's input."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def wait(self) -> int:
        """Wait until the process has ended and all that it wrote is read; return its exit code."""
        with anyio.fail_after(PATIENCE):
            while not self._ended:
                await self._changed.wait()
            return await self.process.wait()

    async def read_frames(self) -> None:
        """Take in frames until the output ends."""
        assert self.process.stdout is not None
        splitter = LineSplitter()
        async for block in self.process.stdout:
            for line in splitter.feed(block):
                assert not isinstance(line, TooLong)
                self.received(line)
        self.ended()

    async def read_errors(self) -> None:
        """Take in standard error."""
        assert self.process.stderr is not None
        async for block in self.process.stderr:
            self.errors += block


@contextlib.asynccontextmanager
async def spawn_gateway(environ: Mapping[str, str], *arguments: str) -> AsyncGenerator[PipeHost]:
    """Start a gateway process; leaving the block kills it if it still runs."""
    command = [sys.executable, "-m", "hermes_tui_gateway", *arguments]
    async with await anyio.open_process(command, env={**os.environ, **environ}) as process:
        host = PipeHost(process)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.read_frames)
            tasks.start_soon(host.read_errors)
            try:
                yield host
            finally:
                if process.returncode is None:
                    process.kill()
                tasks.cancel_scope.cancel()


class LocalHost(Host):
    """A host of a gateway in this process: the source of its lines and the outlet of its frames at once."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[bytes | TooLong] = []
        self._closed = False
        self._fed = anyio.Event()
        self._reading = anyio.Event()
        self._reading.set()

    async def write(self, line: bytes) -> None:
        """Send a line as it is."""
        self._lines.append(line)
        self._fed.set()

    async def batch(self) -> list[bytes | TooLong]:
        """Give the gateway the lines that wait."""
        while not self._lines and not self._closed:
            self._fed = anyio.Event()
            await self._fed.wait()
        lines, self._lines = self._lines, []
        return lines

    def send_frame(self, line: bytes) -> None:
        """Take in a frame of the gateway."""
        self.received(line)

    async def drain(self) -> None:
        """Hold the gateway up while the host does not read."""
        await self._reading.wait()

    def stop_reading(self) -> None:
        """Let the gateway wait for room with all it sends, until `read_on`."""
        self._reading = anyio.Event()

    def read_on(self) -> None:
        """Read again."""
        self._reading.set()

    def hang_up(self) -> None:
        """End the lines."""
        self._closed = True
        self._fed.set()


class _Outlet:
    def __init__(self, host: LocalHost) -> None:
        self.send = host.send_frame
        self.drain = host.drain


@contextlib.asynccontextmanager
async def local_host(gateway: Gateway) -> AsyncGenerator[LocalHost]:
    """Connect a host to `gateway`; leaving the block hangs up."""
    host = LocalHost()
    async with anyio.create_task_group() as tasks, connect(gateway, _Outlet(host)) as connection:

        async def serve() -> None:
            await connection.serve(host, patience=1.0)

        tasks.start_soon(serve)
        yield host
        host.hang_up()


def write_config(home: Path, base_url: str, more: str = "") -> None:
    """Make a home whose model answers at `base_url`; `more` is YAML to follow."""
    home.mkdir(parents=True, exist_ok=True)
    model = f"model: {{default: m, provider: custom, base_url: '{base_url}', api_key: key-of-the-test}}\n"
    (home / "config.yaml").write_text(model + more)


@contextlib.asynccontextmanager
async def local_gateway(*, tools: Sequence[Tool[Any]] | None = None) -> AsyncGenerator[Gateway]:
    """Run a gateway in this process, over the home that the environment names."""
    async with Runtime(tools=tools) as runtime:
        yield Gateway(runtime)
