"""The chat: what the person does becomes commands to the session, and what happens in it comes to the screen."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from hermes_core.commands import AnswerQuestion, BusyMode, Interrupt, Submit
from hermes_core.config import Config, ensure_home
from hermes_core.content import TextPart
from hermes_core.errors import HermesError, QuestionError
from hermes_core.questions import Answer
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.session.subscription import SlowReader

from hermes_cli import launch, slash
from hermes_cli.answering import advice, name_of
from hermes_cli.chat.actions import Action, Choose, Leave, Line, Stop
from hermes_cli.chat.commands import run_command
from hermes_cli.chat.inquiry import Inquiry
from hermes_cli.chat.markdown import Painter
from hermes_cli.chat.scene import TICK, Scene
from hermes_cli.chat.screen import Screen
from hermes_cli.chat.scroll import Scroll
from hermes_cli.chat.watch import Watch
from hermes_cli.exits import Exit
from hermes_cli.ink import Ink, wants_colour
from hermes_cli.options import ChatOptions

HISTORY = "history"
AGAIN = 2.0
"""Seconds within which a second Ctrl-C at an idle prompt leaves."""
IDLE_TICK = 0.5
"""Seconds between two looks at the clock while nothing runs."""
_SIGNALS = {signal.SIGTERM: Exit.TERMINATED, signal.SIGHUP: Exit.HUNG_UP}


def run(options: ChatOptions) -> int:
    """Chat until the person leaves; return the exit code."""
    return anyio.run(_chat, options)


async def _chat(options: ChatOptions) -> int:
    config = launch.settings(options)
    ensure_home(config.home)
    ink = Ink(coloured=wants_colour(terminal=True))
    code: int = Exit.OK
    async with Runtime(config) as runtime:
        session = await launch.session_for(runtime, options, answerable=True)
        screen = Screen(Scene(ink), config.home / HISTORY)
        screen.scene.unasked = config.approvals.mode == "off"
        with contextlib.closing(screen):
            async with anyio.create_task_group() as beside:
                chat = Chat(runtime, config, screen, ink, beside)
                code = await chat.run(session, asked_for=bool(options.model))
                session = chat.session
                beside.cancel_scope.cancel()
    if session.rows:
        again = ink.dim(f"hermes --resume {session.stored_id}")
        sys.stdout.write(f"\n{again}\n")
    return code


class Chat:
    """One chat in one terminal. The session it is about can change (`/new`, `/resume`)."""

    def __init__(self, runtime: Runtime, config: Config, screen: Screen, ink: Ink, beside: TaskGroup) -> None:
        self.runtime = runtime
        self.config = config
        self.screen = screen
        self.ink = ink
        self._painter = Painter(coloured=ink.coloured)
        self.scroll = Scroll(ink, self._painter, screen.print, lambda: screen.width)
        self.inquiry = Inquiry(screen, self.scroll)
        self.listed: list[str] = []
        """The stored ids of the last `/sessions` list, by number."""
        self._watch = Watch(screen, self.scroll, self.inquiry, reasoning=config.display.show_reasoning)
        self._beside = beside
        self._session: Session | None = None
        self._stopped_at = 0.0
        self._leaving: int | None = None

    @property
    def session(self) -> Session:
        """The session that is talked to."""
        assert self._session is not None
        return self._session

    async def run(self, session: Session, *, asked_for: bool) -> int:
        """Talk until the person leaves; return the exit code."""
        self.scroll.lines(f"{self.ink.bold('Hermes')} {self.ink.dim('· /help lists the commands')}")
        self.attach(session)
        self._beside.start_soon(self._drawn)
        self._beside.start_soon(self._tick)
        self._beside.start_soon(self._watch_signals)
        self._beside.start_soon(self._introduce, asked_for)
        async for action in self.screen.actions:
            try:
                await self._do(action)
            except HermesError as error:
                self.scroll.fault(str(error))
            self.scroll.flush()
            self.screen.redraw()
            if self._leaving is not None:
                return self._leaving
        return Exit.OK

    # -- what commands need

    def attach(self, session: Session) -> None:
        """Talk to `session` from now on, and show the end of what it holds."""
        self._session = session
        scene = self.screen.scene
        scene.cwd = short_path(session.record.cwd)
        scene.title = session.record.title
        scene.context = ""
        if session.rows:
            self.scroll.replay(session.rows)
        self.scroll.flush()
        self._beside.start_soon(self._follow, session)

    async def leave_session(self, reason: str) -> None:
        """Close the present session; a running turn is stopped."""
        await self.runtime.close_session(self.session, reason)

    async def say(self, text: str, busy: BusyMode | None = None) -> None:
        """Send a message; while a turn runs, what happens to it is the session's busy mode."""
        await self.session.dispatch(Submit(parts=(TextPart(text),), busy=busy))

    def leave(self, code: int = Exit.OK) -> None:
        """End the chat after the present action."""
        self._leaving = code

    # -- what the person does

    async def _do(self, action: Action) -> None:
        match action:
            case Line():
                await self._line(action.text)
            case Choose():
                await self._answer(action.request_id, self.inquiry.choose(action.choice))
            case Stop():
                await self._stop()
            case Leave():
                self.leave(action.code)

    async def _line(self, text: str) -> None:
        asked = self.inquiry.current
        if asked is not None and self.screen.scene.asked:
            answer = self.inquiry.typed(text)
            if answer is not None:
                await self._answer(asked.id, answer)
            return
        read = slash.read(text)
        match read:
            case slash.Said():
                await self.say(read.text)
            case slash.Slip():
                self.scroll.command(text)
                self.scroll.note(read.hint)
            case slash.Called():
                self.scroll.command(text)
                await run_command(self, read.command.name, read.rest)

    async def _answer(self, request_id: str, answer: Answer) -> None:
        try:
            await self.session.dispatch(AnswerQuestion(request_id, answer))
        except QuestionError as error:
            self.scroll.note(str(error))

    async def _stop(self) -> None:
        """Stop the turn; at an idle prompt, leave at the second time."""
        scene = self.screen.scene
        if scene.busy:
            scene.begin("stopping")
            self.screen.redraw()
            await self.session.dispatch(Interrupt())
            return
        now = time.monotonic()
        if scene.leaving and now - self._stopped_at < AGAIN:
            self.leave()
        self._stopped_at = now
        scene.leaving = True

    # -- what goes on beside

    async def _drawn(self) -> None:
        """Draw until the end. A terminal that went away ends the chat."""
        with contextlib.suppress(EOFError, OSError):
            await self.screen.run()
        self.screen.act(Leave(Exit.HUNG_UP))

    async def _follow(self, session: Session) -> None:
        """Show what happens in `session` until it is closed."""
        cursor = ""
        while True:
            with session.subscribe(cursor) as events:
                try:
                    while batch := await events.batch():
                        self._watch.show(batch)
                    return
                except SlowReader as late:
                    cursor = late.cursor

    async def _tick(self) -> None:
        """Keep clocks and spinners going while there are some."""
        scene = self.screen.scene
        while True:
            await anyio.sleep(TICK if scene.busy else IDLE_TICK)
            if scene.leaving and time.monotonic() - self._stopped_at > AGAIN:
                scene.leaving = False
                self.screen.redraw()
            if scene.busy:
                self._watch.look()

    async def _watch_signals(self) -> None:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            async for number in signals:
                self.screen.act(Leave(_SIGNALS[number]))

    async def _introduce(self, asked_for: bool) -> None:
        """Say which model will answer, and load what its first answer needs."""
        record, models = self.session.record, self.runtime.models
        try:
            endpoint = await models.resolve(record.model, record.provider)
        except HermesError as error:
            self.scroll.warn(str(error))
        else:
            self.screen.scene.model = name_of(endpoint)
            hint = advice(endpoint, self.config, asked_for=asked_for or bool(record.model))
            if hint:
                self.scroll.note(f"{models.note} {hint}")
        self.scroll.flush()
        self.screen.redraw()
        await anyio.to_thread.run_sync(self._painter.warm)
        await self.runtime.warm()


def short_path(path: str) -> str:
    """Return a path for people: below the home it begins with `~`."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(home + "/") else path
