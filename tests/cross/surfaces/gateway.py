"""A host: raw JSON-RPC with a `hermes-tui-gateway` process."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from hermes_tui_gateway.testing import PipeHost, spawn_gateway

from surfaces import PATIENCE, Surface


class HostSession:
    """A session of a host. See Surface."""

    def __init__(self, host: PipeHost, session: str) -> None:
        self._host = host
        self._session = session
        self._told = ""

    async def prompt(self, text: str) -> None:
        reply = await self._host.call("prompt.submit", session_id=self._session, text=text)
        assert reply["status"] == "streaming"

    async def reads(self, text: str) -> None:
        with anyio.fail_after(PATIENCE):
            while text not in self._told:
                self._told += (await self._host.event("message.delta"))["payload"]["text"]

    async def answered(self, text: str) -> None:
        assert await self._end() == ("complete", text)

    async def approve(self, command: str) -> None:
        await self._answer(command, "once")

    async def deny(self, command: str) -> None:
        await self._answer(command, "deny")

    async def interrupt(self) -> None:
        reply = await self._host.call("session.interrupt", session_id=self._session)
        assert reply["interrupted"] is True
        assert (await self._end())[0] == "interrupted"

    async def _end(self) -> tuple[str, str]:
        end = (await self._host.event("message.complete"))["payload"]
        return end["status"], end["text"]

    async def _answer(self, command: str, choice: str) -> None:
        question = (await self._host.event("approval.request"))["payload"]
        assert question["command"] == command
        reply = await self._host.call(
            "approval.respond", session_id=self._session, request_id=question["request_id"], choice=choice
        )
        assert reply["resolved"] == 1


@asynccontextmanager
async def host_session(folder: Path) -> AsyncGenerator[Surface]:
    """Start the process, begin a session in `folder`, and end both with the block."""
    async with spawn_gateway(os.environ) as host:
        created = await host.call("session.create", cwd=str(folder))
        yield HostSession(host, created["session_id"])
        await host.hang_up()
        assert await host.wait() == 0
        assert host.errors == b""
