"""The screen: text that stays goes up into the terminal's own scrollback, the foot is drawn below it.

One prompt_toolkit application lives as long as the chat, so that people can type at any time. What is printed
goes out together with the new foot, between the marks of a synchronised update, so that nothing flickers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.layout import (
    BufferControl,
    ConditionalContainer,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput, ConditionalProcessor, PasswordProcessor
from prompt_toolkit.output.vt100 import Vt100_Output

from hermes_cli import slash
from hermes_cli.chat.actions import Action
from hermes_cli.chat.keys import key_bindings
from hermes_cli.chat.scene import Scene

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.layout.containers import AnyContainer
    from prompt_toolkit.output import Output

MOST_ACTIONS = 1024
COMPOSER_ROWS = 8
SUGGESTED = 6
HISTORY_KEPT = 512 * 1024
"""Bytes of the history file that are kept when the chat begins."""
_HOLD, _SHOW = "\x1b[?2026h", "\x1b[?2026l"


class Screen:
    """Draws a scene and prints above it; tells `actions` what the person does. `output` is the terminal on stdout."""

    def __init__(self, scene: Scene, history: Path, output: Output | None = None) -> None:
        self.scene = scene
        self._send, self.actions = anyio.create_memory_object_stream[Action](MOST_ACTIONS)
        self.composer = Buffer(multiline=True, history=_history(history), enable_history_search=False)
        self._draft = ""
        self._output = output or _terminal()
        self._app: Application[None] = Application(
            layout=Layout(self._foot(), focused_element=self.composer),
            key_bindings=key_bindings(self),
            output=self._output,
            erase_when_done=True,
            after_render=lambda _: self._shown(),
        )
        self._held = False

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return max(20, self._output.get_size().columns)

    async def run(self) -> None:
        """Draw and take keys until cancelled; then leave the cursor on a clean line."""
        await self._app.run_async(handle_sigint=False, set_exception_handler=False)

    def close(self) -> None:
        """Hear nothing more."""
        self._send.close()
        self.actions.close()

    def act(self, action: Action) -> None:
        """Pass on what the person did; a person who is a thousand actions ahead is not heard."""
        try:
            self._send.send_nowait(action)
        except anyio.WouldBlock:
            self._output.bell()

    def print(self, text: str) -> None:
        """Put `text` (whole lines) into the scrollback, above the foot."""
        if not text:
            return
        self._held = True
        self._output.write_raw(_HOLD)
        self._app.renderer.erase(leave_alternate_screen=False)
        self._output.write_raw(text)
        self.redraw()
        if not self._app.is_running:
            self._shown()

    def redraw(self) -> None:
        """Draw the foot again, soon."""
        self._app.invalidate()

    def ask(self, label: str, *, hidden: bool = False) -> None:
        """Let the composer take an answer; the message that was being written comes back afterwards."""
        if not self.scene.asked:
            self._draft = self.composer.text
        self.composer.reset()
        self.scene.asked, self.scene.hidden = label, hidden
        self.redraw()

    def end_asking(self) -> None:
        """Let the composer take messages again."""
        if self.scene.asked:
            self.scene.asked, self.scene.hidden = "", False
            self.composer.text = self._draft
            self.composer.cursor_position = len(self._draft)
            self._draft = ""
            self.redraw()

    def suggestions(self) -> list[slash.SlashCommand]:
        """Return the commands that what is typed may become."""
        return [] if self.scene.asked else slash.matching(self.composer.text)

    # -- how it is drawn

    def _shown(self) -> None:
        if self._held:
            self._held = False
            self._output.write_raw(_SHOW)
        self._output.flush()

    def _foot(self) -> AnyContainer:
        scene = self.scene
        above = [
            _area(lambda: scene.tail(max(3, self._rows // 2)) if scene.growing else ""),
            _area(lambda: "\n".join(scene.tool_lines(self.width))),
            _area(lambda: "\n".join(scene.approval_lines(self.width, typing=bool(self.composer.text)))),
        ]
        return HSplit(
            [
                Window(height=1),
                *above,
                ConditionalContainer(Window(height=1), Condition(lambda: scene.filled)),
                _area(lambda: "\n".join(scene.queue_lines(self.width))),
                _area(lambda: scene.status_line(self.width)),
                self._composer(),
                _area(self._suggested),
                Window(FormattedTextControl(lambda: ANSI(scene.footer(self.width - 1))), height=1),
            ]
        )

    def _composer(self) -> Window:
        scene = self.scene
        control = BufferControl(
            self.composer,
            input_processors=[
                ConditionalProcessor(PasswordProcessor(), Condition(lambda: scene.hidden)),
                BeforeInput(lambda: ANSI(scene.ink.cyan(f"{scene.asked} ❯ " if scene.asked else "❯ "))),
            ],
        )
        return Window(
            control,
            wrap_lines=True,
            dont_extend_height=True,
            height=Dimension(min=1, max=COMPOSER_ROWS),
            get_line_prefix=lambda line, wrap: "  " if line or wrap else "",
        )

    def _suggested(self) -> str:
        ink = self.scene.ink
        found = self.suggestions()[:SUGGESTED]
        return "\n".join(f"  /{f'{c.name} {c.hint}'.strip():<22} {ink.dim(c.about)}" for c in found)

    @property
    def _rows(self) -> int:
        return self._output.get_size().rows


def _area(text: Callable[[], str]) -> ConditionalContainer:
    """Return a part of the foot that takes as many rows as its text has, none without text."""
    control = FormattedTextControl(lambda: ANSI(text()))
    return ConditionalContainer(
        Window(control, dont_extend_height=True, wrap_lines=False), Condition(lambda: bool(text()))
    )


def _terminal() -> Output:
    """Return the terminal on stdout, never asked where its cursor is: not all of them answer."""
    if sys.platform == "win32":
        from prompt_toolkit.output import create_output

        return create_output()
    from prompt_toolkit.data_structures import Size

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            columns, rows = 80, 24
        return Size(rows=rows or 24, columns=columns or 80)

    return Vt100_Output(sys.stdout, size, term=os.environ.get("TERM"), enable_cpr=False)


def _history(path: Path) -> History:
    """Return the lines typed before, kept in a file that only its owner reads; in memory where it cannot be written."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            if file.seek(0, os.SEEK_END) > HISTORY_KEPT:
                file.seek(-HISTORY_KEPT // 2, os.SEEK_END)
                kept = file.read().partition(b"\n\n")[2]
                file.seek(0)
                file.truncate()
                file.write(kept)
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)
