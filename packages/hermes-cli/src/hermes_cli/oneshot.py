"""`hermes chat -q TEXT` and `hermes -z TEXT`: one turn. The answer goes to stdout, everything else to stderr."""

from __future__ import annotations

import signal
import sys
from typing import assert_never

import anyio
from hermes_core.commands import Interrupt, Submit
from hermes_core.config import Config
from hermes_core.content import TextPart
from hermes_core.events import (
    AgentComplete,
    AgentProgress,
    AgentRequested,
    AgentStarted,
    AgentThinking,
    AgentTool,
    ApprovalRequest,
    BackgroundComplete,
    ClarifyRequest,
    ErrorEvent,
    Event,
    MessageComplete,
    MessageDelta,
    MessageInterim,
    MessageStart,
    QuestionClosed,
    QueueChanged,
    ReasoningDelta,
    SecretRequest,
    SessionClosedEvent,
    SessionInfo,
    SessionTitle,
    StatusUpdate,
    SteerDelivered,
    SteerQueued,
    StepDone,
    SudoRequest,
    ToolComplete,
    ToolGenerating,
    ToolProgress,
    ToolsChanged,
    ToolStart,
    TranscriptCompacted,
    TranscriptCut,
    UserMessageAdded,
)
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.session.subscription import Subscription

from hermes_cli import launch
from hermes_cli.answering import advice, name_of
from hermes_cli.asking import Asker
from hermes_cli.exits import Exit, exit_for_code
from hermes_cli.ink import Ink, wants_colour
from hermes_cli.options import ChatOptions
from hermes_cli.outlet import Outlet
from hermes_cli.printable import one_line, printable
from hermes_cli.toollines import details, head

WIDTH = 100
SIGNALS = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED, signal.SIGHUP: Exit.HUNG_UP}


def run(options: ChatOptions) -> int:
    """Answer one message and return the exit code. A text of `-` is read from stdin."""
    if options.text == "-":
        options = options._replace(text=sys.stdin.read())
    if not options.text.strip():
        sys.stderr.write("hermes: the message is empty.\n")
        return Exit.USAGE
    return anyio.run(_answered, options)


async def _answered(options: ChatOptions) -> int:
    config = launch.settings(options)
    # `-z` is for scripts: it shows nothing, so it can ask nothing.
    person = not options.answer_only and sys.stdin.isatty() and sys.stderr.isatty()
    async with Runtime(config) as runtime:
        session = await launch.session_for(runtime, options, answerable=person)
        return await OneShot(session, options, config, person=person).run()


class OneShot:
    """One turn, from its message to the exit code."""

    def __init__(self, session: Session, options: ChatOptions, config: Config, *, person: bool) -> None:
        self._session = session
        self._options = options
        self._config = config
        self._out = Outlet(1)
        self._err = Outlet(2)
        self._ink = Ink(coloured=wants_colour(terminal=self._err.terminal))
        self._asker = Asker(session, self._err, self._ink) if person else None
        self._stopped_by: Exit | None = None
        self._denied = False

    async def run(self) -> int:
        """Send the message, show its turn, and return the exit code."""
        end: MessageComplete | None = None
        with self._session.subscribe() as events:
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._watch_signals)
                if self._asker is not None:
                    beside.start_soon(self._asker.run)
                await self._session.dispatch(Submit(parts=(TextPart(self._options.text),)))
                end = await self._shown(events)
                beside.cancel_scope.cancel()
        return await self._ended(end)

    async def _watch_signals(self) -> None:
        with anyio.open_signal_receiver(*SIGNALS) as signals:
            async for number in signals:
                self._stopped_by = SIGNALS[number]
                await self._session.dispatch(Interrupt())

    async def _shown(self, events: Subscription) -> MessageComplete | None:
        """Show what happens until the turn is over; None when the session ended under it."""
        async for event in events:
            if isinstance(event, MessageComplete):
                return event
            await self.show(event)
        return None

    async def show(self, event: Event) -> None:
        """Write what a person should see of an event, each thing to its own stream."""
        match event:
            case MessageDelta():
                await self._say(event.text)
            case MessageInterim():
                if not self._options.answer_only:
                    await self._out.end_line()
            case ToolComplete():
                self._denied |= event.outcome == "denied"
                await self._note(head(event, self._ink, WIDTH), *details(event, self._ink, WIDTH))
            case StatusUpdate():
                await self._note(self._ink.dim(f"· {one_line(event.text, WIDTH)}"))
            case ErrorEvent():
                await self._note(self._ink.red(one_line(event.message, 500)))
            case ApprovalRequest() | ClarifyRequest() | SudoRequest() | SecretRequest():
                if self._asker is not None:
                    await self._break()
                    await self._asker.ask(event.question)
            case QuestionClosed():
                if self._asker is not None:
                    self._asker.closed(event.request_id)
            case (
                UserMessageAdded()
                | MessageStart()
                | ReasoningDelta()
                | StepDone()
                | MessageComplete()
                | ToolGenerating()
                | ToolStart()
                | ToolProgress()
                | SteerQueued()
                | SteerDelivered()
                | QueueChanged()
                | SessionInfo()
                | SessionTitle()
                | SessionClosedEvent()
                | AgentRequested()
                | AgentStarted()
                | AgentThinking()
                | AgentTool()
                | AgentProgress()
                | AgentComplete()
                | BackgroundComplete()
                | TranscriptCut()
                | TranscriptCompacted()
                | ToolsChanged()
            ):
                pass
            case _:
                assert_never(event)

    async def _ended(self, end: MessageComplete | None) -> Exit:
        """Write what is still to be said; return the exit code."""
        if end is None:
            await self._fault("The session was closed before the answer was complete.")
            return self._stopped_by or Exit.FAILED
        if self._options.answer_only and end.status == "complete":
            await self._out.write(self._safe(end.text))
        await self._out.end_line()
        await self._note_model()
        match end.status:
            case "interrupted":
                await self._note(self._ink.yellow("Interrupted."))
                return self._stopped_by or Exit.INTERRUPTED
            case "error":
                await self._fault(end.error)
                return self._stopped_by or exit_for_code(end.code)
            case "complete" if not end.text.strip():
                await self._fault("The model ended the turn without an answer.")
                return Exit.FAILED
            case "complete":
                return Exit.OK
            case _:
                assert_never(end.status)

    async def _note_model(self) -> None:
        endpoint = self._session.endpoint
        if endpoint is None:
            return
        asked_for = bool(self._options.model or self._session.record.model)
        hint = advice(endpoint, self._config, asked_for=asked_for)
        await self._note(self._ink.dim(f"· {name_of(endpoint)}" + (f": {hint}" if hint else "")))
        if self._denied and self._asker is None:
            await self._note(
                self._ink.yellow("· Something was not run: it needs an approval, and nobody can be asked here.")
            )

    async def _say(self, text: str) -> None:
        if not self._options.answer_only:
            await self._out.write(self._safe(text))

    def _safe(self, text: str) -> str:
        return printable(text) if self._out.terminal else text

    async def _note(self, *lines: str) -> None:
        if self._options.answer_only:
            return
        await self._break()
        await self._err.write("".join(line + "\n" for line in lines))

    async def _break(self) -> None:
        """Begin a fresh line on a screen that shows the answer as well."""
        if self._out.terminal and self._err.terminal:
            await self._out.end_line()

    async def _fault(self, sentence: str) -> None:
        await self._err.write(f"hermes: {printable(sentence)}\n")
