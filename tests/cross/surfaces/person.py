"""A person: the `hermes` command in a terminal, read as it stands on the screen."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from hermes_process import Hermes, Terminal

from surfaces import Surface

ENTER, CTRL_C, CTRL_D = "\r", "\x03", "\x04"
FOOT = "m (custom)"


class TerminalSession:
    """The interactive chat. See Surface. Whatever is waited for must be on the screen for the first time."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    async def prompt(self, text: str) -> None:
        self._terminal.type(text + ENTER)

    async def reads(self, text: str) -> None:
        await self._terminal.until(text)

    async def answered(self, text: str) -> None:
        await self._terminal.until(text)
        await self._terminal.until(_idle)

    async def approve(self, command: str) -> None:
        await self._answer(command, "o")

    async def deny(self, command: str) -> None:
        await self._answer(command, "d")

    async def interrupt(self) -> None:
        self._terminal.type(CTRL_C)
        await self._terminal.until("Interrupted.")
        await self._terminal.until(_idle)

    async def _answer(self, command: str, key: str) -> None:
        # The key is shown as soon as it counts.
        await self._terminal.until(lambda terminal: "[o] allow once" in _screen(terminal))
        assert command in _screen(self._terminal)
        self._terminal.type(key)
        await self._terminal.until(lambda terminal: "allow once" not in _screen(terminal))


def _screen(terminal: Terminal) -> str:
    return "\n".join(terminal.lines)


def _idle(terminal: Terminal) -> bool:
    """Whether the foot shows that nothing goes on."""
    return FOOT in _screen(terminal) and "Ctrl-C stops" not in _screen(terminal)


@asynccontextmanager
async def terminal_session(folder: Path) -> AsyncGenerator[Surface]:
    """Start the chat in `folder`, and leave it as a person does."""
    async with Hermes(Path(os.environ["HERMES_HOME"]), folder).terminal(rows=40) as terminal:
        await terminal.until(FOOT)
        yield TerminalSession(terminal)
        terminal.type(CTRL_D)
        assert await terminal.ended() == 0
