"""From events to frames. Pure, and total: every event has a place here, even where it becomes no frame at all."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from hermes_core.content import ImagePart, text_of
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

from hermes_tui_gateway import agents, questions
from hermes_tui_gateway.diff import inline_diff
from hermes_tui_gateway.frames import event_line
from hermes_tui_gateway.info import Surroundings, info_payload, tokens
from hermes_tui_gateway.wire import events as wire
from hermes_tui_gateway.wire.shapes import UNSET, Maybe

SUMMARY_LIMIT = 120


def encode(event: Event, around: Surroundings) -> bytes | None:
    """Return the frame of `event`, None where the protocol has no word for it."""
    made = _payload(event, around)
    if made is None:
        return None
    kind, payload = made
    return event_line(wire.EventParams(type=kind, session_id=event.session_id, seq=event.seq, payload=payload))


_Made = tuple[str, Any] | None


def _payload(event: Event, around: Surroundings) -> _Made:
    if event.agent_id != "main" and not isinstance(event, _EVERYONES):
        return None  # a sub-agent's own words and tools are not the answer that the host shows
    match event:
        case MessageDelta():
            return "message.delta", wire.Text(text=event.text)
        case ReasoningDelta():
            return "reasoning.delta", wire.Text(text=event.text)
        case UserMessageAdded() | MessageStart() | MessageInterim() | StepDone() | MessageComplete():
            return _message(event, around)
        case ToolGenerating() | ToolStart() | ToolProgress() | ToolComplete():
            return _tool(event)
        case ApprovalRequest() | ClarifyRequest() | SudoRequest() | SecretRequest():
            return questions.asked(event.question)
        case QuestionClosed():
            return questions.closed(event)
        case SteerQueued():
            return "steer.queued", wire.Text(text=event.text)
        case SteerDelivered():
            return "steer.delivered", wire.SteerDelivered(text=event.text, tool_id=event.tool_call_id)
        case QueueChanged():
            return "queue.changed", wire.Queue(texts=list(event.texts), dropped=list(event.dropped) or UNSET)
        case SessionInfo():
            return "session.info", info_payload(event, around)
        case SessionTitle():
            return "session.title", wire.Title(session_id=event.stored_id, title=event.title)
        case SessionClosedEvent():
            return "session.closed", wire.Closed(reason=event.reason)
        case AgentRequested() | AgentStarted() | AgentThinking() | AgentTool() | AgentProgress() | AgentComplete():
            return agents.told(event)
        case BackgroundComplete():
            return "background.complete", agents.background(event)
        case TranscriptCut():
            return "transcript.cut", wire.Cut(removed=event.removed, survivors=list(event.survivors))
        case TranscriptCompacted():
            return "transcript.compacted", _compacted(event)
        case ToolsChanged():
            return "tools.changed", wire.ToolsChanged(added=list(event.added), removed=list(event.removed))
        case StatusUpdate():
            return "status.update", wire.Status(kind=event.kind, text=event.text)
        case ErrorEvent():
            return "error", wire.Failure(message=event.message, code=event.code)
        case _:
            assert_never(event)


_EVERYONES = (
    *(ApprovalRequest, ClarifyRequest, SudoRequest, SecretRequest, QuestionClosed, StatusUpdate, ErrorEvent),
    *(AgentRequested, AgentStarted, AgentThinking, AgentTool, AgentProgress, AgentComplete, BackgroundComplete),
)
"""Events that reach the host whichever agent they come from: it has to answer, or to know."""


def _message(
    event: UserMessageAdded | MessageStart | MessageInterim | StepDone | MessageComplete, around: Surroundings
) -> _Made:
    match event:
        case UserMessageAdded():
            images = sum(isinstance(part, ImagePart) for part in event.parts)
            payload = wire.UserMessage(
                text=text_of(event.parts), row_id=event.row_id, turn_id=event.turn_id, images=images or UNSET
            )
            return "message.user", payload
        case MessageStart():
            return "message.start", UNSET
        case MessageInterim():
            interim = wire.Interim(text=event.text, already_streamed=True, row_id=event.row_id)
            return ("message.interim", interim) if around.interim else None
        case StepDone():
            return ("reasoning.available", wire.Text(text=event.reasoning)) if event.reasoning else None
        case MessageComplete():
            return "message.complete", _complete(event)
        case _:
            assert_never(event)


def _complete(event: MessageComplete) -> wire.Complete:
    # A host without a place for errors shows the text, so a failure without one must not be blank.
    text = event.text or (event.error if event.status == "error" else "")
    return wire.Complete(
        text=text or None,
        usage=tokens(event.usage),
        status=event.status,
        turn_id=event.turn_id,
        finish=event.finish or UNSET,
        reasoning=event.reasoning or UNSET,
        error=event.error or UNSET,
        code=event.code or UNSET,
        partial=event.partial or UNSET,
        pending_steer=event.pending_steer or UNSET,
        row_id=event.row_id or UNSET,
    )


def _tool(event: ToolGenerating | ToolStart | ToolProgress | ToolComplete) -> tuple[str, Any]:
    match event:
        case ToolGenerating():
            return "tool.generating", wire.ToolName(name=event.name)
        case ToolStart():
            started = wire.ToolStarted(
                tool_id=event.tool_call_id,
                name=event.name,
                context=event.label,
                args=event.args,
                path=event.path or UNSET,
            )
            return "tool.start", started
        case ToolProgress():
            return "tool.progress", wire.ToolOutput(tool_id=event.tool_call_id, name=event.name, preview=event.text)
        case ToolComplete():
            return "tool.complete", _tool_ended(event)
        case _:
            assert_never(event)


def _tool_ended(event: ToolComplete) -> wire.ToolEnded:
    todos: Maybe[list[dict[str, Any]]] = UNSET if event.todos is None else msgspec.to_builtins(list(event.todos))
    return wire.ToolEnded(
        tool_id=event.tool_call_id,
        name=event.name,
        args=event.args,
        duration_s=event.duration,
        result=event.result,
        outcome=event.outcome,
        summary=event.label or UNSET,
        inline_diff=inline_diff(event.changes) or UNSET,
        todos=todos,
        error=UNSET if event.outcome == "ok" else _first_line(event.result) or event.outcome,
        exit_code=UNSET if event.exit_code is None else event.exit_code,
    )


def _compacted(event: TranscriptCompacted) -> wire.Compacted:
    return wire.Compacted(
        before_messages=event.before_messages,
        after_messages=event.after_messages,
        before_tokens=event.before_tokens,
        after_tokens=event.after_tokens,
        automatic=event.automatic,
        survivors=list(event.survivors),
    )


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:SUMMARY_LIMIT]
