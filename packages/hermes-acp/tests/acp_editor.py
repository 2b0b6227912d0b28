"""An editor for tests: speaks the protocol over two pipes, keeps every frame, and checks what holds for all of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
from hermes_acp.serve import serve
from hermes_core.stdio import LineTransport

Frame = dict[str, Any]
Decide = Callable[[Frame], Frame | None]

COMMAND = Path(sys.executable).parent / "hermes-acp"
MAX_FRAME = 60 * 1024
PATIENCE = 60


def choose(option_id: str) -> Decide:
    """Answer permission requests with this option."""
    return lambda request: {"result": {"outcome": {"outcome": "selected", "optionId": option_id}}}


def text(*texts: str) -> list[Frame]:
    """Return a prompt of text blocks."""
    return [{"type": "text", "text": one} for one in texts]


def write_config(home: Path, base_url: str) -> None:
    """Let the settings of a home name a custom provider."""
    model = {"default": "m", "provider": "custom", "base_url": base_url, "api_key": "k", "context_length": 100_000}
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"model: {json.dumps(model)}\n", encoding="utf-8")


class Editor:
    """The client's side of one connection. `decide` answers permission requests; None leaves them open."""

    def __init__(self, transport: LineTransport) -> None:
        self.frames: list[Frame] = []
        self.decide: Decide | None = choose("allow_once")
        self.reading = anyio.Event()
        self.reading.set()
        self.ended = False
        self.may_be_cut = False
        """Whether the last frame may be half a one: of a client that stopped reading."""
        self._transport = transport
        self._last_id = 0
        self._changed = anyio.Event()

    async def run(self) -> None:
        """Keep what comes, until the agent closes its output."""
        while True:
            await self.reading.wait()
            lines = await self._transport.batch()
            if not lines:
                break
            for line in lines:
                assert isinstance(line, bytes)
                assert len(line) < MAX_FRAME, line[:200]
                if not self.may_be_cut or line.endswith(b"}"):
                    self._received(json.loads(line))
        self.ended = True
        self._changed.set()

    def _received(self, frame: Frame) -> None:
        assert frame["jsonrpc"] == "2.0"
        self.frames.append(frame)
        if frame.get("method") == "session/request_permission" and self.decide is not None:
            answer = self.decide(frame)
            if answer is not None:
                self.send({"id": frame["id"], **answer})
        self._changed.set()

    # -- out

    def send_line(self, line: bytes) -> None:
        """Send bytes as they are."""
        self._transport.send(line)

    def send(self, frame: Frame) -> None:
        """Send one frame."""
        self.send_line(json.dumps({"jsonrpc": "2.0", **frame}).encode())

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def start(self, method: str, /, **params: Any) -> int:
        """Send a request and return its id."""
        self._last_id += 1
        self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def start_prompt(self, session: str, *texts: str) -> int:
        """Send a prompt and return its id."""
        return self.start("session/prompt", sessionId=session, prompt=text(*texts))

    # -- in

    async def until(self, wanted: Callable[[Frame], bool], *, after: int = 0) -> Frame:
        """Wait for the first frame, from position `after` on, that is `wanted`."""
        with anyio.fail_after(PATIENCE):
            while True:
                for frame in self.frames[after:]:
                    if wanted(frame):
                        return frame
                assert not self.ended, f"the agent closed its output: {self.frames[-3:]}"
                self._changed = anyio.Event()
                await self._changed.wait()
        raise AssertionError

    async def answer(self, request: int | str | None) -> Frame:
        """Wait for the answer to a request."""
        return await self.until(lambda frame: "method" not in frame and frame.get("id") == request)

    async def ask(self, method: str, /, **params: Any) -> Frame:
        """Send a request and return its whole answer."""
        return await self.answer(self.start(method, **params))

    async def call(self, method: str, /, **params: Any) -> Frame:
        """Send a request and return its result."""
        answer = await self.ask(method, **params)
        assert "error" not in answer, answer
        return answer["result"]

    async def fails(self, method: str, /, **params: Any) -> Frame:
        """Send a request and return its error."""
        answer = await self.ask(method, **params)
        assert "result" not in answer, answer
        return answer["error"]

    async def update(self, kind: str, *, after: int = 0, **fields: Any) -> Frame:
        """Wait for an update of this kind with these fields."""

        def wanted(frame: Frame) -> bool:
            update = frame.get("params", {}).get("update", {})
            return update.get("sessionUpdate") == kind and all(
                update.get(name) == value for name, value in fields.items()
            )

        return (await self.until(wanted, after=after))["params"]["update"]

    async def request(self, *, after: int = 0) -> Frame:
        """Wait for a permission request."""
        return await self.until(lambda frame: frame.get("method") == "session/request_permission", after=after)

    # -- what was seen

    def updates(self, *kinds: str, session: str = "", after: int = 0) -> list[Frame]:
        """Return the updates so far, of these kinds or of all."""
        return [
            frame["params"]["update"]
            for frame in self.frames[after:]
            if frame.get("method") == "session/update"
            and session in ("", frame["params"]["sessionId"])
            and (not kinds or frame["params"]["update"]["sessionUpdate"] in kinds)
        ]

    def said(self, *, session: str = "", after: int = 0) -> str:
        """Return the agent's words so far."""
        return "".join(
            one["content"]["text"] for one in self.updates("agent_message_chunk", session=session, after=after)
        )

    # -- steps

    async def initialize(self, **capabilities: Any) -> Frame:
        """Begin the connection."""
        return await self.call("initialize", protocolVersion=1, clientCapabilities=capabilities)

    async def new(self, cwd: Path) -> str:
        """Begin a session and return its id."""
        return (await self.call("session/new", cwd=str(cwd), mcpServers=[]))["sessionId"]

    async def prompt(self, session: str, *texts: str) -> Frame:
        """Run one turn and return its result."""
        return await self.call("session/prompt", sessionId=session, prompt=text(*texts))


@asynccontextmanager
async def connected() -> AsyncGenerator[Editor]:
    """Serve an editor in this process; leaving the block ends the input, and waits for the agent's end."""
    source, feed = os.pipe()
    sink, target = os.pipe()

    async def run_agent() -> None:
        await serve(source, target, b"", None)
        os.close(target)
        editor.reading.set()

    transport = LineTransport(sink, feed)
    editor = Editor(transport)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_agent)
        tasks.start_soon(editor.run)
        tasks.start_soon(transport.write)
        try:
            yield editor
        finally:
            transport.close()
            os.close(feed)
    os.close(source)
    os.close(sink)


class AgentProcess:
    """The installed command as a child, and the editor that speaks to it."""

    def __init__(self, process: anyio.abc.Process, sink: int, feed: int) -> None:
        self.process = process
        self.transport = LineTransport(sink, feed)
        self.editor = Editor(self.transport)
        self._open = {"sink": sink, "feed": feed}
        self._reading = anyio.CancelScope()

    async def read(self) -> None:
        """Keep what comes, until the child ends or its output is closed."""
        with self._reading:
            await self.editor.run()

    def end_input(self) -> None:
        """Close the child's standard input."""
        self.transport.close()
        self._close("feed")

    async def close_output(self) -> None:
        """Close our end of the child's standard output, as a client that dies does."""
        self._reading.cancel()
        await anyio.wait_all_tasks_blocked()
        self._close("sink")

    async def wait(self) -> int:
        """Return the exit code."""
        with anyio.fail_after(PATIENCE):
            return await self.process.wait()

    def _close(self, end: str) -> None:
        descriptor = self._open.pop(end, None)
        if descriptor is not None:
            os.close(descriptor)

    def close(self) -> None:
        """Close what is still open."""
        self.end_input()
        self._close("sink")


@asynccontextmanager
async def spawned(stderr: Path, *command: str, **environ: str) -> AsyncGenerator[AgentProcess]:
    """Run a command (default: the installed one), its stderr into a file. Leaving the block ends it."""
    source, feed = os.pipe()
    sink, target = os.pipe()
    with stderr.open("wb") as log:
        process = await anyio.open_process(
            command or [str(COMMAND)], stdin=source, stdout=target, stderr=log, env={**os.environ, **environ}
        )
    os.close(source)
    os.close(target)
    child = AgentProcess(process, sink, feed)
    async with process, anyio.create_task_group() as tasks:
        tasks.start_soon(child.read)
        tasks.start_soon(child.transport.write)
        try:
            yield child
        finally:
            with anyio.CancelScope(shield=True):
                child.end_input()
                await child.wait()
            tasks.cancel_scope.cancel()
    child.close()
