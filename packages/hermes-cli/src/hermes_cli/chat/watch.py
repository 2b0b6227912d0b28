"""From events to the screen: the one place that says what each event looks like."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import assert_never

from hermes_core.content import text_of
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

from hermes_cli.chat.inquiry import Inquiry
from hermes_cli.chat.scene import RunningTool
from hermes_cli.chat.screen import Screen
from hermes_cli.chat.scroll import Scroll
from hermes_cli.printable import last_lines, one_line

LOOK = 0.05
"""Seconds between two looks at a growing answer: rendering it for every fragment would be wasted."""


class Watch:
    """Shows the events of a session. Pure but for what it tells screen, scroll and inquiry."""

    def __init__(self, screen: Screen, scroll: Scroll, inquiry: Inquiry, *, reasoning: bool) -> None:
        self._screen = screen
        self._scene = screen.scene
        self._scroll = scroll
        self._inquiry = inquiry
        self._reasoning = reasoning
        self._thought = ""
        self._grown = False
        self._looked = 0.0

    def show(self, events: Sequence[Event]) -> None:
        """Show events that came together, with one change of the screen."""
        for event in events:
            self._one(event)
        self._grown = True
        # A block that is printed must not stand in the foot as well; else the next look is early enough.
        late = time.monotonic() - self._looked >= LOOK
        if late or self._scroll.unwritten or not self._scene.busy:
            self.look()

    def look(self) -> None:
        """Bring the screen up to date with what has grown since the last look."""
        if self._grown:
            self._grown = False
            self._looked = time.monotonic()
            self._scene.growing = self._scroll.growing
            self._scroll.flush()
        self._screen.redraw()

    def _one(self, event: Event) -> None:
        scene, scroll = self._scene, self._scroll
        match event:
            case UserMessageAdded():
                scroll.user(text_of(event.parts))
            case MessageStart():
                scene.begin("waiting for the model")
            case MessageDelta():
                scene.begin("writing")
                scroll.delta(event.text)
            case ReasoningDelta():
                self._think(event.text)
            case MessageInterim() | StepDone():
                scroll.end_text()
                self._thought = ""
            case MessageComplete():
                self._complete(event)
            case ToolGenerating():
                scene.begin(f"preparing {one_line(event.name, 40)}")
            case ToolStart() | ToolProgress() | ToolComplete():
                self._tool(event)
            case ApprovalRequest() | ClarifyRequest() | SudoRequest() | SecretRequest():
                scene.begin("waiting for you")
                self._inquiry.add(event.question)
            case QuestionClosed():
                scene.begin("working")
                self._inquiry.closed(event.request_id, event.reason, event.choice)
            case SteerQueued():
                scroll.note(f"→ {one_line(event.text, 400)} (read after the next tool)")
            case SteerDelivered():
                scroll.note("→ read")
            case QueueChanged():
                self._queue(event)
            case SessionInfo() | SessionTitle():
                self._info(event)
            case StatusUpdate():
                scroll.end_text()
                scroll.note(f"· {one_line(event.text, 400)}")
            case ErrorEvent():
                scroll.fault(event.message)
            case AgentRequested() | AgentStarted() | AgentThinking() | AgentTool() | AgentProgress() | AgentComplete():
                self._agent(event)
            case BackgroundComplete() | TranscriptCut() | TranscriptCompacted() | ToolsChanged():
                self._aside(event)
            case SessionClosedEvent():
                scene.rest()
                self._inquiry.drop()
            case _:
                assert_never(event)

    def _agent(
        self,
        event: AgentRequested | AgentStarted | AgentThinking | AgentTool | AgentProgress | AgentComplete,
    ) -> None:
        goal = one_line(event.agent.goal, 60)
        match event:
            case AgentStarted():
                self._scroll.note(f"⤷ sub-agent: {goal}")
            case AgentComplete():
                self._scroll.note(f"⤶ sub-agent {event.agent.status}: {goal}")
            case AgentRequested() | AgentThinking() | AgentTool() | AgentProgress():
                self._scene.begin(f"sub-agent: {goal}")
            case _:
                assert_never(event)

    def _aside(self, event: BackgroundComplete | TranscriptCut | TranscriptCompacted | ToolsChanged) -> None:
        match event:
            case BackgroundComplete():
                self._scroll.note(f"{event.task_id}: {one_line(event.text, 2000)}")
            case TranscriptCut():
                self._scroll.note(f"· Took back {event.removed} messages.")
            case TranscriptCompacted():
                self._scroll.note(f"· Summarised: {event.before_messages} messages are now {event.after_messages}.")
            case ToolsChanged():
                self._scroll.note(f"· Tools changed: {len(event.added)} more, {len(event.removed)} fewer.")
            case _:
                assert_never(event)

    def _think(self, text: str) -> None:
        self._thought = (self._thought + text)[-400:]
        last = last_lines(self._thought, 1) if self._reasoning else []
        self._scene.begin(f"thinking: {one_line(last[0], 60)}" if last else "thinking")

    def _tool(self, event: ToolStart | ToolProgress | ToolComplete) -> None:
        running = self._scene.tools
        match event:
            case ToolStart():
                self._scroll.end_text()
                self._scene.begin("working")
                running[event.tool_call_id] = RunningTool(event.name, event.label)
            case ToolProgress():
                if event.tool_call_id in running:
                    running[event.tool_call_id].add(event.text)
            case ToolComplete():
                running.pop(event.tool_call_id, None)
                shown = event.tool_call_id in self._inquiry.changes_shown
                self._scroll.tool(event, changes_shown=shown and event.outcome == "ok")
                self._scene.begin("waiting for the model")

    def _complete(self, event: MessageComplete) -> None:
        self._scroll.end_text()
        if event.status == "error":
            self._scroll.fault(event.error)
        elif event.status == "interrupted":
            self._scroll.warn("Interrupted.")
        if event.pending_steer:
            self._scroll.note(f"Not read before the end: {one_line(event.pending_steer, 400)}")
        self._scene.rest()
        self._thought = ""

    def _queue(self, event: QueueChanged) -> None:
        if event.dropped:
            self._scroll.end_text()
            for text in self._scene.queue:
                if text not in event.texts:
                    self._scroll.note(f"Not sent: {one_line(text, 400)}")
        self._scene.queue = event.texts

    def _info(self, event: SessionInfo | SessionTitle) -> None:
        scene = self._scene
        scene.title = event.title
        if isinstance(event, SessionInfo):
            if event.model:
                scene.model = f"{event.model} ({event.provider})" if event.provider else event.model
            if event.context_used and event.context_max:
                scene.context = f"{min(100, round(100 * event.context_used / event.context_max))}% full"
