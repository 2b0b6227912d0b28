"""An editor: raw JSON-RPC with a `hermes-acp` process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from acp_editor import Editor, choose, spawned

from surfaces import Surface


class EditorSession:
    """A session in an editor. See Surface."""

    def __init__(self, editor: Editor, session: str) -> None:
        self._editor = editor
        self._session = session
        self._request = 0
        self._begun = 0

    async def prompt(self, text: str) -> None:
        self._begun = len(self._editor.frames)
        self._request = self._editor.start_prompt(self._session, text)

    async def reads(self, text: str) -> None:
        await self._editor.until(lambda _: text in self._editor.said(session=self._session, after=self._begun))

    async def answered(self, text: str) -> None:
        assert await self._over() == "end_turn"
        assert self._editor.said(session=self._session, after=self._begun).endswith(text)

    async def approve(self, command: str) -> None:
        await self._answer(command, "allow_once")

    async def deny(self, command: str) -> None:
        await self._answer(command, "deny")

    async def interrupt(self) -> None:
        self._editor.notify("session/cancel", sessionId=self._session)
        assert await self._over() == "cancelled"

    async def _over(self) -> str:
        answer = await self._editor.answer(self._request)
        assert "result" in answer, answer
        return answer["result"]["stopReason"]

    async def _answer(self, command: str, option: str) -> None:
        question: dict[str, Any] = await self._editor.request(after=self._begun)
        assert command in str(question["params"]["toolCall"])
        answer = choose(option)(question)
        assert answer is not None
        self._editor.send({"id": question["id"], **answer})


@asynccontextmanager
async def editor_session(folder: Path) -> AsyncGenerator[Surface]:
    """Start the process, begin a session in `folder`, and end both with the block."""
    async with spawned(folder.with_suffix(".stderr")) as agent:
        editor = agent.editor
        editor.decide = None
        await editor.initialize()
        yield EditorSession(editor, await editor.new(folder))
        agent.end_input()
        assert await agent.wait() == 0
