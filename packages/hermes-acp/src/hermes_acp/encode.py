"""Events as updates of protocol version 1. No I/O: events in, updates out.

Another version of the protocol would have an encoder of its own beside this one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from hermes_core.content import bounded
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
from hermes_core.messages import AssistantMessage, StoredMessage
from hermes_core.questions import Approval
from hermes_core.usage import Usage

from hermes_acp import cards, limits
from hermes_acp.chunks import asked, plan, said, thought, timestamp
from hermes_acp.wire.results import PromptUsage, StopReason
from hermes_acp.wire.updates import (
    Notice,
    SessionInfoUpdate,
    ToolCallUpdate,
    Update,
    UsageUpdate,
)

MAIN = "main"


class Encoder:
    """Turns the events of one session into updates; `notices` says whether the client can show notices.

    It remembers what the protocol wants told again and the events tell once: the output of running tools, which
    call an open approval belongs to, and how full the context is.
    """

    def __init__(self, *, notices: bool = False) -> None:
        self._notices = notices
        self._output: dict[str, str] = {}
        self._approvals: dict[str, str] = {}
        self._own_cards: set[str] = set()
        self._used = 0
        self._size = 0
        self.told_text = 0
        """Characters that were told of the answer which is being written."""
        self.told_reasoning = 0

    def updates(self, event: Event) -> Iterable[Update]:
        """Return what a client is told of `event`, in order; nothing where it has no place in the protocol.

        Of a sub-agent only its tool calls are told: its words are for the agent that asked for them.
        """
        match event:
            case MessageDelta():
                return self.said(event.text) if event.agent_id == MAIN else ()
            case ReasoningDelta():
                return self.thought(event.text) if event.agent_id == MAIN else ()
            case UserMessageAdded():
                return asked(event.parts) if event.agent_id == MAIN else ()
            case ToolStart():
                return self._tool_started(event)
            case ToolProgress():
                return self._tool_said(event)
            case ToolComplete():
                return self._tool_ended(event)
            case ApprovalRequest():
                return self._approval_asked(event.question)
            case QuestionClosed():
                return self._question_closed(event)
            case StepDone():
                self.new_answer()
                return self.usage(event.context_used, self._size)
            case SessionInfo():
                return self.usage(event.context_used, event.context_max)
            case SessionTitle():
                return (SessionInfoUpdate(title=event.title, updated_at=timestamp(event.time)),)
            case StatusUpdate():
                severity = "warning" if event.kind in ("warn", "fallback", "retry") else "info"
                return (Notice(severity=severity, title=_line(event.text)),) if self._notices else ()
            case ErrorEvent():
                return (Notice(severity="error", title=_line(event.message)),) if self._notices else ()
            case MessageStart() | MessageComplete():
                self.new_answer()
                return ()
            case MessageInterim() | ToolGenerating():
                return ()
            case ClarifyRequest() | SudoRequest() | SecretRequest():
                return ()
            case SteerQueued() | SteerDelivered() | QueueChanged() | SessionClosedEvent():
                return ()
            case AgentRequested() | AgentStarted() | AgentThinking() | AgentTool() | AgentProgress() | AgentComplete():
                return ()
            case BackgroundComplete() | TranscriptCut() | TranscriptCompacted() | ToolsChanged():
                return ()
            case _:
                assert_never(event)

    def said(self, text: str) -> Iterable[Update]:
        """Return more of the answer that is being written."""
        self.told_text += len(text)
        return said(text)

    def thought(self, text: str) -> Iterable[Update]:
        """Return more of the reasoning behind it."""
        self.told_reasoning += len(text)
        return thought(text)

    def new_answer(self) -> None:
        """Take note that the next answer begins."""
        self.told_text = self.told_reasoning = 0

    def usage(self, used: int, size: int) -> Iterable[Update]:
        """Return how full the context is, where that is known and has changed."""
        if not size or not used or (used, size) == (self._used, self._size):
            self._size = size or self._size
            return ()
        self._used, self._size = used, size
        return (UsageUpdate(used=used, size=size),)

    def _tool_started(self, event: ToolStart) -> Iterator[Update]:
        self._output[event.tool_call_id] = ""
        yield cards.begun(event.tool_call_id, event.name, event.label, event.args, event.path, event.changes)
        if not event.asks:
            yield ToolCallUpdate(tool_call_id=event.tool_call_id, status="in_progress")

    def _tool_said(self, event: ToolProgress) -> Iterator[Update]:
        # Content replaces what was there before, so it is the end of all that was said.
        text = (self._output.get(event.tool_call_id, "") + event.text)[-limits.RESULT_TEXT :]
        self._output[event.tool_call_id] = text
        yield ToolCallUpdate(tool_call_id=event.tool_call_id, content=cards.shown(event.name, text))

    def _tool_ended(self, event: ToolComplete) -> Iterator[Update]:
        self._output.pop(event.tool_call_id, None)
        yield cards.ended(
            event.tool_call_id,
            event.name,
            event.outcome,
            event.result,
            changes=event.changes,
            exit_code=event.exit_code,
        )
        if event.todos is not None:
            yield plan(event.todos)

    def _approval_asked(self, question: Approval) -> Iterator[Update]:
        """Announce the call that an approval is about, where nobody has: clients show no question without a card."""
        call_id = card_of(question)
        self._approvals[question.id] = call_id
        if call_id not in self._output:
            self._own_cards.add(call_id)
            yield cards.begun(call_id, question.tool, question.command, {}, "", question.changes)

    def _question_closed(self, event: QuestionClosed) -> Iterator[Update]:
        call_id = self._approvals.pop(event.request_id, None)
        if call_id is None:
            return
        allowed = event.choice not in (None, "deny")
        if call_id in self._own_cards:  # nothing else will end it
            self._own_cards.remove(call_id)
            yield ToolCallUpdate(tool_call_id=call_id, status="completed" if allowed else "failed")
        elif allowed:
            yield ToolCallUpdate(tool_call_id=call_id, status="in_progress")


def card_of(question: Approval) -> str:
    """Return the id of the card on which an approval is asked: its tool call's, or one of its own."""
    return question.tool_call_id or question.id


def stop_reason(end: MessageComplete) -> StopReason | None:
    """Return why a turn stopped; None where it failed, which is an error and no reason."""
    match end.status:
        case "complete":
            return "end_turn"
        case "interrupted":
            return "cancelled"
        case "error":
            return _LIMITS.get(end.code)


def last_stop_reason(rows: Sequence[StoredMessage]) -> StopReason:
    """Return why the last turn of a transcript stopped, as far as its rows tell."""
    answers = (row.message for row in reversed(rows) if isinstance(row.message, AssistantMessage))
    match next(answers, None):
        case AssistantMessage(finish="interrupted"):
            return "cancelled"
        case AssistantMessage(finish="length"):
            return "max_tokens"
        case AssistantMessage(finish="content_filter"):
            return "refusal"
        case _:
            return "end_turn"


_LIMITS: dict[str, StopReason] = {
    "truncated": "max_tokens",
    "budget": "max_turn_requests",
    "content_filter": "refusal",
}


def prompt_usage(usage: Usage) -> PromptUsage | None:
    """Return the tokens of a turn, None where no model was called."""
    if not usage.calls and not usage.total:
        return None
    return PromptUsage(
        total_tokens=usage.total,
        input_tokens=usage.input,
        output_tokens=usage.output,
        thought_tokens=usage.reasoning or None,
        cached_read_tokens=usage.cached or None,
        cached_write_tokens=usage.cache_write or None,
    )


def _line(text: str) -> str:
    return bounded(" ".join(text.split()), limits.TITLE_TEXT)
