"""A scripted model, served over real HTTP in the wires of OpenAI: Chat Completions and Responses.

In a test:

    async with ScriptedModel([answer("Hello"), answer(call("terminal", command="ls")), refusal(429)]) as model:
        ...point a provider at model.base_url, any key...
        model.requests            # the decoded bodies, in order
        await model.wait_for_requests(2)

Answers are given in order, one a request; when they are used up, the last user message steers (`directives`),
so that load tests need no script. Nothing waits for wall-clock time: a `Stall()` step holds an answer until
`model.release()`, and pauses go by `clock`. In strict mode, the default, a request whose transcript breaks the
rules of `legality` is answered 400 and noted in `model.violations`.

`model_server` runs it as a process. Besides POST /v1/chat/completions and POST /v1/responses, which share the script,
it serves GET /v1/models, /health and /stats.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, assert_never

import anyio
import msgspec
from anyio.abc import TaskGroup

from hermes_core.clock import SYSTEM_CLOCK, Clock
from hermes_core.testing.directives import steered
from hermes_core.testing.frames import Action, Burst
from hermes_core.testing.http_connection import HttpConnection, HttpRequest, chunk, head
from hermes_core.testing.script import Answer, Cut, Pause, Script, Stall
from hermes_core.testing.wires import WIRES, Wire

WRITE_BYTES = 64 * 1024
KEPT_REQUESTS = 10_000


class ScriptedModel:
    """A model that answers by script on a loopback port, while its block is entered."""

    def __init__(
        self,
        script: Script | Sequence[Answer] = (),
        *,
        strict: bool | None = None,
        clock: Clock = SYSTEM_CLOCK,
        port: int = 0,
        keep: int = KEPT_REQUESTS,
    ) -> None:
        """`strict` overrides the script's own word; the bodies of the first `keep` requests are kept."""
        self.script = script if isinstance(script, Script) else Script(answers=tuple(script))
        self.strict = self.script.strict if strict is None else strict
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.connections: set[HttpConnection] = set()
        self.counts: Counter[str] = Counter()
        self._answers = list(self.script.answers)
        self._clock = clock
        self._port = port
        self._keep = keep
        self._released: Counter[str] = Counter()
        self._stalled: Counter[str] = Counter()
        self._changed = anyio.Event()

    # -- life ----------------------------------------------------------------------------------

    async def __aenter__(self) -> ScriptedModel:
        loop = asyncio.get_running_loop()
        # Before the tasks: a port that is taken must leave nothing open behind it.
        self._server = await loop.create_server(self._connection, "127.0.0.1", self._port, backlog=1024)
        self._port = self._server.sockets[0].getsockname()[1]
        self._tasks: TaskGroup = anyio.create_task_group()
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._server.close()
        self._tasks.cancel_scope.cancel()
        for connection in list(self.connections):
            connection.transport.abort()
        return await self._tasks.__aexit__(kind, error, trace)

    @property
    def base_url(self) -> str:
        """The address to give to a provider: `http://127.0.0.1:PORT/v1`."""
        return f"http://127.0.0.1:{self._port}/v1"

    # -- what tests steer and see --------------------------------------------------------------

    def add(self, *answers: Answer) -> None:
        """Put answers behind those that wait."""
        self._answers += answers

    def release(self, name: str = "stall") -> None:
        """Let one stalled answer of this name go on: the one that waits, or the next to come."""
        self._released[name] += 1
        self._notify()

    async def wait_for_requests(self, number: int) -> None:
        """Wait until so many completion requests have arrived in all."""
        await self._until(lambda: self.counts["requests"] >= number)

    async def wait_for_stall(self, name: str = "stall", number: int = 1) -> None:
        """Wait until so many answers are at a Stall of this name."""
        await self._until(lambda: self._stalled[name] >= number)

    async def wait_for_hang_ups(self, number: int) -> None:
        """Wait until so many clients have closed their connection in mid-answer."""
        await self._until(lambda: self.counts["hang_ups"] >= number)

    async def wait_for_idle(self) -> None:
        """Wait until no connection is open."""
        await self._until(lambda: not self.connections)

    async def _until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            changed = self._changed
            await changed.wait()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    # -- serving -------------------------------------------------------------------------------

    def _connection(self) -> HttpConnection:
        return HttpConnection(self._connected)

    def _connected(self, connection: HttpConnection) -> None:
        self._tasks.start_soon(self._serve, connection)

    async def _serve(self, connection: HttpConnection) -> None:
        self.connections.add(connection)
        self.counts["connections"] += 1
        try:
            await connection.run(self._handle)
        finally:
            self.connections.discard(connection)
            if connection.busy and connection.lost:
                self.counts["hang_ups"] += 1
            self._notify()

    async def _handle(self, connection: HttpConnection, request: HttpRequest) -> None:
        match request.method, request.path:
            case "POST", path if path in WIRES:
                await self._complete(connection, request, WIRES[path])
            case "GET", "/v1/models":
                data = [{"id": name, "object": "model", "owned_by": "script"} for name in self.script.models]
                await connection.reply(200, msgspec.json.encode({"object": "list", "data": data}))
            case "GET", "/health":
                await connection.reply(200, b'{"status":"ok"}')
            case "GET", "/stats":
                await connection.reply(200, msgspec.json.encode({**self.counts, "open": len(self.connections)}))
            case _:
                await connection.reply(404, _error(f"There is no {request.method} {request.path}."))

    async def _complete(self, connection: HttpConnection, request: HttpRequest, wire: Wire) -> None:
        self.counts["requests"] += 1
        broken = list(wire.violations(request.body)) if self.strict else []
        try:
            body = msgspec.json.decode(request.body, type=dict[str, Any])
        except msgspec.DecodeError:
            body = {}
        if len(self.requests) < self._keep:
            self.requests.append(body)
            self.headers.append(request.headers)
        self._notify()
        if self.script.api_key and request.headers.get("authorization") != f"Bearer {self.script.api_key}":
            await connection.reply(401, _error("The key is wrong.", code="invalid_api_key"))
            return
        if broken:
            self.violations += broken
            await connection.reply(400, _error("; ".join(broken)))
            return
        self.counts["active"] += 1
        self.counts["peak_active"] = max(self.counts["peak_active"], self.counts["active"])
        try:
            answer = self._answers.pop(0) if self._answers else steered(wire.messages(body))
            await self._answer(connection, answer, body, wire)
        finally:
            self.counts["active"] -= 1

    async def _answer(self, connection: HttpConnection, answer: Answer, body: dict[str, Any], wire: Wire) -> None:
        number = self.counts["requests"]
        if answer.status != 200:
            text = answer.body if answer.body is not None else msgspec.json.encode({"error": answer.error}).decode()
            await connection.reply(answer.status, text.encode(), answer.headers)
        elif body.get("stream"):
            await self._stream(connection, answer, wire.frames(answer, body, number))
        else:
            for step in answer.steps:
                if isinstance(step, (Stall, Pause, Cut)) and await self._wait(connection, step):
                    return
            await connection.reply(200, wire.whole(answer, body, number), answer.headers)

    async def _stream(self, connection: HttpConnection, answer: Answer, frames: Iterable[Action]) -> None:
        headers = {"Content-Type": answer.content_type, "Transfer-Encoding": "chunked", **answer.headers}
        opening = pending = head(200, headers)
        for action in frames:
            match action:
                case Burst():
                    pending = await self._burst(connection, answer, action, pending)
                case Stall() | Pause() | Cut():
                    held = isinstance(action, Stall) or (isinstance(action, Cut) and action.early)
                    if not held or pending != opening:
                        await connection.write(pending)
                        pending = b""
                    if await self._wait(connection, action):
                        return
                case _:
                    assert_never(action)
        await connection.write(pending + b"0\r\n\r\n")

    async def _burst(self, connection: HttpConnection, answer: Answer, burst: Burst, pending: bytes) -> bytes:
        """Send a burst behind `pending`; return what may still wait to be sent together with more."""
        size = answer.split or len(burst.event)
        framed = b"".join(chunk(burst.event[at : at + size]) for at in range(0, len(burst.event), size))
        if burst.gap:
            for _ in range(burst.times):
                await connection.write(pending)
                pending = framed
                await self._clock.sleep(burst.gap)
            await connection.write(pending)
            return b""
        left = burst.times
        while left:
            number = min(left, 1 + max(0, WRITE_BYTES - len(pending)) // len(framed))
            pending += framed * number
            left -= number
            if len(pending) >= WRITE_BYTES:
                await connection.write(pending)
                await anyio.lowlevel.checkpoint()
                pending = b""
        return pending

    async def _wait(self, connection: HttpConnection, step: Stall | Pause | Cut) -> bool:
        """Do what holds an answer up; True if it ended the connection."""
        match step:
            case Stall():
                self._stalled[step.name] += 1
                self._notify()
                await self._until(lambda: self._released[step.name] > 0)
                self._released[step.name] -= 1
                self._stalled[step.name] -= 1
            case Pause():
                await self._clock.sleep(step.seconds)
            case Cut():
                connection.busy = False
                connection.close(reset=step.reset)
                return True
            case _:
                assert_never(step)
        return False


def _error(message: str, *, type: str = "invalid_request_error", code: str | None = None) -> bytes:
    return msgspec.json.encode({"error": {"message": message, "type": type, "param": None, "code": code}})
