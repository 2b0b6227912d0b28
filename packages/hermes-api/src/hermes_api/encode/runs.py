"""Events of a turn to events of a run. Pure: names and fields out, no I/O."""

from __future__ import annotations

from typing import Any, NamedTuple, assert_never

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

from hermes_api.encode.quote import quoted
from hermes_api.wire.runs import approval_fields

PREVIEW = 500


class RunEvent(NamedTuple):
    """One event of a run's stream: its name and what it tells beside `event`, `run_id`, `timestamp` and `seq`."""

    name: str
    fields: dict[str, Any]
    time: float


class RunEvents:
    """Encodes the events of one run. The end of the run is told by its status, not here."""

    def __init__(self, *, reasoning: bool) -> None:
        self._reasoning = reasoning
        self._spoke = False
        self._new_step = False

    def encode(self, event: Event) -> RunEvent | None:
        """Return the run's event, None for those that its stream does not carry."""
        fields = self._fields(event)
        return None if fields is None else RunEvent(fields[0], fields[1], event.time)

    def _fields(self, event: Event) -> tuple[str, dict[str, Any]] | None:
        match event:
            case ApprovalRequest():
                return "approval.request", approval_fields(event.question)
            case QuestionClosed():
                return _closed(event)
            case StatusUpdate():
                return "status.update", {"kind": event.kind, "text": event.text}
            case MessageDelta() | ReasoningDelta() | MessageInterim() | StepDone():
                return self._said(event) if event.agent_id == "main" else None
            case ToolStart():
                self._new_step = self._new_step or event.agent_id == "main"
                return "tool.started", _of_agent(event, tool=event.name, preview=event.label)
            case ToolComplete():
                return "tool.completed", _of_agent(
                    event,
                    tool=event.name,
                    duration=round(event.duration, 3),
                    error=event.outcome != "ok",
                    preview=event.result[:PREVIEW],
                )
            case SteerQueued():
                return "run.steered", {"accepted": True}
            case MessageStart() | MessageComplete() | UserMessageAdded() | SteerDelivered() | QueueChanged():
                return None
            case ToolGenerating() | ToolProgress() | ClarifyRequest() | SudoRequest() | SecretRequest():
                return None
            case AgentStarted():
                return "subagent.start", _agent(event)
            case AgentComplete():
                return "subagent.complete", _agent(event, status=event.agent.status, summary=event.agent.summary)
            case TranscriptCompacted():
                return "transcript.compacted", _compacted(event)
            case AgentRequested() | AgentThinking() | AgentTool() | AgentProgress() | BackgroundComplete():
                return None
            case (
                SessionInfo() | SessionTitle() | SessionClosedEvent() | ErrorEvent() | TranscriptCut() | ToolsChanged()
            ):
                return None
            case _:
                assert_never(event)

    def _said(
        self, event: MessageDelta | ReasoningDelta | MessageInterim | StepDone
    ) -> tuple[str, dict[str, Any]] | None:
        match event:
            case MessageDelta():
                # What is said after a tool batch is a new paragraph of the same text.
                text = "\n\n" + event.text if self._new_step and self._spoke else event.text
                self._new_step, self._spoke = False, True
                return "message.delta", {"delta": text}
            case MessageInterim():
                return "message.interim", {"text": event.text, "already_streamed": True}
            case ReasoningDelta():
                return ("reasoning.delta", {"delta": event.text}) if self._reasoning else None
            case StepDone():
                shown = self._reasoning and event.reasoning
                return ("reasoning.available", {"text": event.reasoning}) if shown else None


def _of_agent(event: ToolStart | ToolComplete, **fields: Any) -> dict[str, Any]:
    fields["tool_call_id"] = event.tool_call_id
    if event.agent_id != "main":
        fields["agent_id"] = event.agent_id
    return fields


def _agent(event: AgentStarted | AgentComplete, **fields: Any) -> dict[str, Any]:
    agent = event.agent
    return {"agent_id": agent.id, "parent_id": agent.parent_id, "goal": agent.goal, **fields}


def _compacted(event: TranscriptCompacted) -> dict[str, Any]:
    return {
        "before_messages": event.before_messages,
        "after_messages": event.after_messages,
        "before_tokens": event.before_tokens,
        "after_tokens": event.after_tokens,
        "automatic": event.automatic,
    }


def _closed(event: QuestionClosed) -> tuple[str, dict[str, Any]] | None:
    """Tell how an approval ended; other questions are never asked of a run's client."""
    if event.kind != "approval":
        return None
    if event.reason == "answered":
        return "approval.responded", {"choice": event.choice, "resolved": 1, "request_id": event.request_id}
    return "approval.expire", {"request_id": event.request_id, "reason": event.reason}


def frame(seq: int, run_id: str, event: RunEvent) -> bytes:
    """Return the server-sent event: `id` from 1, the name twice (some clients read only the data), the fields."""
    data = quoted({"event": event.name, "run_id": run_id, "timestamp": event.time, "seq": seq, **event.fields})
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (seq, event.name.encode(), data)


def payload(run_id: str, event: RunEvent) -> bytes:
    """Return the data of an event without its place in the stream, as the status shows it."""
    return quoted({"event": event.name, "run_id": run_id, "timestamp": event.time, **event.fields})
