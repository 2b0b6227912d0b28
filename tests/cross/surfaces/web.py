"""A program on the web: runs over HTTP with a `hermes-api` process."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import httpx2
import msgspec
from anyio.streams.text import TextReceiveStream
from hermes_core.models.sse import SseParser

from surfaces import PATIENCE, Surface

KEY = "a-key-for-tests-0123456789"
COMMAND = Path(sys.executable).parent / "hermes-api"
_LISTENING = re.compile(r"listening on (http://\S+)")


@asynccontextmanager
async def api_process(folder: Path) -> AsyncGenerator[str]:
    """Serve the home that the environment names, with sessions in `folder`, and yield the server's URL.

    Leaving the block ends the process by SIGTERM and checks that it went in order.
    """
    environ = {**os.environ, "API_SERVER_KEY": KEY, "TERMINAL_CWD": str(folder)}
    process = await anyio.open_process([str(COMMAND), "--port", "0"], env=environ, cwd=folder)
    log = _Log(process)
    async with process, anyio.create_task_group() as tasks:
        tasks.start_soon(log.read)
        try:
            yield await log.address()
            process.send_signal(signal.SIGTERM)
            with anyio.fail_after(PATIENCE):
                assert await process.wait() == 0
            assert "Traceback" not in log.text
        finally:
            if process.returncode is None:
                process.kill()


class _Log:
    """What the process writes to its standard error."""

    def __init__(self, process: anyio.abc.Process) -> None:
        self.text = ""
        self._process = process
        self._changed = anyio.Event()
        self._over = False

    async def read(self) -> None:
        assert self._process.stderr is not None
        async for text in TextReceiveStream(self._process.stderr):
            self.text += text
            self._wake()
        self._over = True
        self._wake()

    async def address(self) -> str:
        """Wait until the server listens, and return where."""
        with anyio.fail_after(PATIENCE):
            while not (found := _LISTENING.search(self.text)):
                assert not self._over, f"the server ended: {self.text}"
                await self._changed.wait()
        return found[1]

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class WebSession:
    """A session that is driven by runs, one for each turn. See Surface."""

    def __init__(self, http: httpx2.AsyncClient, tasks: anyio.abc.TaskGroup) -> None:
        self._http = http
        self._tasks = tasks
        self._session = ""
        self._run = ""
        self._events: list[dict[str, Any]] = []
        self._changed = anyio.Event()

    async def prompt(self, text: str) -> None:
        body = {"input": text, **({"session_id": self._session} if self._session else {})}
        reply = await self._http.post("/v1/runs", json=body)
        assert reply.status_code == 202, reply.text
        self._run, self._session = reply.json()["run_id"], reply.json()["session_id"]
        self._events = []
        self._tasks.start_soon(self._watch, self._run, self._events)

    async def reads(self, text: str) -> None:
        await self._until(lambda: text in self._said())

    async def answered(self, text: str) -> None:
        end = await self._event("run.completed")
        assert end["output"] == text
        assert self._said().endswith(text)

    async def approve(self, command: str) -> None:
        await self._answer(command, "once")

    async def deny(self, command: str) -> None:
        await self._answer(command, "deny")

    async def interrupt(self) -> None:
        reply = await self._http.post(f"/v1/runs/{self._run}/stop")
        assert reply.status_code == 200, reply.text
        await self._event("run.cancelled")

    async def _answer(self, command: str, choice: str) -> None:
        question = await self._event("approval.request")
        assert question["command"] == command
        body = {"choice": choice, "request_id": question["request_id"]}
        reply = await self._http.post(f"/v1/runs/{self._run}/approval", json=body)
        assert reply.status_code == 200, reply.text
        assert reply.json()["resolved"] == 1

    def _said(self) -> str:
        return "".join(event["delta"] for event in self._events if event["event"] == "message.delta")

    async def _event(self, name: str) -> dict[str, Any]:
        """Wait for the first event of this run with that name."""
        await self._until(lambda: any(event["event"] == name for event in self._events))
        return next(event for event in self._events if event["event"] == name)

    async def _until(self, holds: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE):
            while not holds():
                assert not self._ended(), f"the run ended: {self._events[-1]}"
                await self._changed.wait()

    def _ended(self) -> bool:
        return bool(self._events) and self._events[-1]["event"] in ("run.completed", "run.failed", "run.cancelled")

    async def _watch(self, run: str, events: list[dict[str, Any]]) -> None:
        parser = SseParser()
        async with self._http.stream("GET", f"/v1/runs/{run}/events") as reply:
            assert reply.status_code == 200
            async for block in reply.aiter_bytes():
                events += [msgspec.json.decode(event.data) for event in parser.feed(block)]
                self._changed.set()
                self._changed = anyio.Event()


@asynccontextmanager
async def web_session(folder: Path) -> AsyncGenerator[Surface]:
    """Start the server; its session works in `folder`. Leaving the block ends it."""
    async with api_process(folder) as url:
        headers = {"Authorization": f"Bearer {KEY}"}
        async with (
            httpx2.AsyncClient(base_url=url, headers=headers, timeout=PATIENCE) as http,
            anyio.create_task_group() as tasks,
        ):
            yield WebSession(http, tasks)
