"""Events: everything that happens in a session. One tagged union; transports encode it and nothing else.

Tags are the specification's event names where it has them. The five fields every event shares are stamped by
the session's log when the event is published, so publishers leave them alone (but for `turn_id` and
`agent_id`, which the turn knows): `seq` is dense per session and epoch, starting at 1.

The order of one turn: `message.user`, `message.start`, then for each step (`reasoning.delta` | `message.delta`)*,
`message.interim` if text came beside tool calls, per call `tool.start` ... `tool.complete` with a question
between the two where one is asked, and last exactly one `message.complete`, followed by `session.info`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hermes_core.content import Part
from hermes_core.messages import Outcome
from hermes_core.questions import Approval, Choice, Clarify, FileChange, QuestionKind, Secret, Sudo
from hermes_core.subagents.info import AgentInfo
from hermes_core.usage import Usage

TurnStatus = Literal["complete", "error", "interrupted"]
SessionState = Literal["idle", "working", "waiting"]


class _Event(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    session_id: str = ""
    """The runtime id of the live session."""
    seq: int = 0
    merged: int = 0
    """How many directly preceding events of the same kind a slow reader gets folded into this one."""
    turn_id: str = ""
    agent_id: str = "main"
    time: float = 0.0
    """UNIX seconds."""


# -- a turn's text -----------------------------------------------------------------------------


class UserMessageAdded(_Event, tag="message.user"):
    """A user turn was stored and begins (or, `queued`, will begin after the running one)."""

    row_id: int
    parts: tuple[Part, ...]


class MessageStart(_Event, tag="message.start"):
    """A turn begins."""


class MessageDelta(_Event, tag="message.delta", gc=False):
    """A fragment of the answer's text, to be appended."""

    text: str


class ReasoningDelta(_Event, tag="reasoning.delta", gc=False):
    """A fragment of the model's reasoning, to be appended."""

    text: str


class MessageInterim(_Event, tag="message.interim"):
    """The text of a step that goes on with tool calls is complete; its deltas were sent before."""

    text: str
    row_id: int


class StepDone(_Event, tag="step.done"):
    """One model call ended and is stored. `usage` is that call's, `context_used` the tokens it read."""

    step: int
    row_id: int
    usage: Usage
    context_used: int = 0
    reasoning: str = ""


class MessageComplete(_Event, tag="message.complete"):
    """The turn is over: exactly one for each turn, after everything else that belongs to it.

    `text` is the final answer (after an interrupt, what had come of it). `finish` is the provider's reason of
    the last step. `error` and `code` are set when `status` is `error`, `code` also says why a turn is
    `interrupted`. `pending_steer` is steering text that no tool result could carry.
    """

    status: TurnStatus
    text: str = ""
    reasoning: str = ""
    finish: str = ""
    usage: Usage = Usage()
    error: str = ""
    code: str = ""
    partial: bool = False
    pending_steer: str = ""
    row_id: int = 0
    """Row of the final assistant message, 0 if there is none."""


# -- tools ---------------------------------------------------------------------------------------


class ToolGenerating(_Event, tag="tool.generating"):
    """The model has begun to write a call of this tool."""

    name: str


class ToolStart(_Event, tag="tool.start"):
    """A tool call begins: it was announced, and may still have to be approved."""

    tool_call_id: str
    name: str
    args: dict[str, Any]
    label: str
    """One line for people, at most 80 characters."""
    path: str = ""
    """The absolute path of the file it works on, where there is one."""
    changes: tuple[FileChange, ...] = ()
    """The edits it would make, known before it runs."""
    asks: bool = False
    """Whether a person will be asked before it runs; otherwise it runs, or is refused, at once."""


class ToolProgress(_Event, tag="tool.progress"):
    """New output of a running tool, to be appended; coalesced and bounded."""

    tool_call_id: str
    name: str
    text: str


class TodoItem(msgspec.Struct, frozen=True):
    """One entry of the agent's plan."""

    id: str
    content: str
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"


class ToolComplete(_Event, tag="tool.complete"):
    """A tool call ended; every `tool.start` gets exactly one, in every path."""

    tool_call_id: str
    name: str
    args: dict[str, Any]
    result: str
    """The text the model reads, bounded."""
    outcome: Outcome
    duration: float
    label: str = ""
    path: str = ""
    changes: tuple[FileChange, ...] = ()
    """The edits it made."""
    todos: tuple[TodoItem, ...] | None = None
    """The whole plan, when the tool changed it."""
    exit_code: int | None = None


# -- questions -----------------------------------------------------------------------------------


class ApprovalRequest(_Event, tag="approval.request"):
    """An approval is asked."""

    question: Approval


class ClarifyRequest(_Event, tag="clarify.request"):
    """A clarification is asked."""

    question: Clarify


class SudoRequest(_Event, tag="sudo.request"):
    """A password is asked."""

    question: Sudo


class SecretRequest(_Event, tag="secret.request"):
    """A named secret is asked."""

    question: Secret


class QuestionClosed(_Event, tag="question.closed"):
    """A question is no longer open. `choice` is set for an answered approval; no other answer is ever told."""

    request_id: str
    kind: QuestionKind
    reason: Literal["answered", "expired", "withdrawn"]
    choice: Choice | None = None


# -- steering, queue -------------------------------------------------------------------------------


class SteerQueued(_Event, tag="steer.queued"):
    """Steering text was accepted for the running turn."""

    text: str


class SteerDelivered(_Event, tag="steer.delivered"):
    """The model will read the text with the tool result of `tool_call_id`."""

    text: str
    tool_call_id: str


class QueueChanged(_Event, tag="queue.changed"):
    """The follow-ups that wait for the session to be idle, oldest first.

    `dropped` names the queued turns that an interrupt took out: they never begin, and no other event tells.
    """

    texts: tuple[str, ...]
    dropped: tuple[str, ...] = ()


# -- sub-agents and side work ----------------------------------------------------------------------


class _AgentEvent(_Event):
    """On the log of the session at the root of the tree; `agent_id` is the sub-agent's id."""

    agent: AgentInfo


class AgentRequested(_AgentEvent, tag="subagent.spawn_requested"):
    """A sub-agent was asked for and waits for a free place."""


class AgentStarted(_AgentEvent, tag="subagent.start"):
    """A sub-agent begins. Its approvals and tool calls come as this log's own events with its `agent_id`."""


class AgentThinking(_AgentEvent, tag="subagent.thinking"):
    """A sub-agent reasons; `text` is the newest of it, bounded."""

    text: str


class AgentTool(_AgentEvent, tag="subagent.tool"):
    """A sub-agent begins a tool call."""

    tool: str
    preview: str = ""


class AgentProgress(_AgentEvent, tag="subagent.progress"):
    """A line about what a sub-agent does."""

    text: str


class AgentComplete(_AgentEvent, tag="subagent.complete"):
    """A sub-agent has ended, with its result in `agent`: exactly one for each that was requested or started."""


class BackgroundComplete(_Event, tag="background.complete"):
    """A background prompt has its answer, or its error."""

    task_id: str
    text: str
    status: TurnStatus = "complete"
    code: str = ""


# -- session ---------------------------------------------------------------------------------------


class SessionInfo(_Event, tag="session.info"):
    """The session's settings and totals; sent when one changed and after every turn."""

    stored_id: str
    title: str
    model: str
    provider: str
    cwd: str
    state: SessionState
    usage: Usage
    context_used: int = 0
    context_max: int = 0


class SessionTitle(_Event, tag="session.title"):
    """The session has a new title."""

    stored_id: str
    title: str


class SessionClosedEvent(_Event, tag="session.closed"):
    """The live session ended; no event follows. `reason` is a word."""

    reason: str


class TranscriptCut(_Event, tag="transcript.cut"):
    """Rows were taken from the end of the transcript (rewind, undo, retry). Every row id known before is void.

    `survivors` are the new row ids of the user rows that are left, in their order.
    """

    removed: int
    survivors: tuple[int, ...] = ()


class TranscriptCompacted(_Event, tag="transcript.compacted"):
    """Older rows were replaced by a summary. Every row id known before is void; `survivors` as in a cut."""

    before_messages: int
    after_messages: int
    before_tokens: int
    after_tokens: int
    automatic: bool = False
    survivors: tuple[int, ...] = ()


class ToolsChanged(_Event, tag="tools.changed"):
    """The session offers other tools from its next turn on (a reload, a server that came or went)."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class StatusUpdate(_Event, tag="status.update"):
    """A line about what goes on: `kind` is `retry`, `fallback`, `warn`, `compacting`, ..."""

    kind: str
    text: str


class ErrorEvent(_Event, tag="error"):
    """Something failed that no turn owns."""

    message: str
    code: str


Event = (
    UserMessageAdded
    | MessageStart
    | MessageDelta
    | ReasoningDelta
    | MessageInterim
    | StepDone
    | MessageComplete
    | ToolGenerating
    | ToolStart
    | ToolProgress
    | ToolComplete
    | ApprovalRequest
    | ClarifyRequest
    | SudoRequest
    | SecretRequest
    | QuestionClosed
    | SteerQueued
    | SteerDelivered
    | QueueChanged
    | AgentRequested
    | AgentStarted
    | AgentThinking
    | AgentTool
    | AgentProgress
    | AgentComplete
    | BackgroundComplete
    | SessionInfo
    | SessionTitle
    | SessionClosedEvent
    | TranscriptCut
    | TranscriptCompacted
    | ToolsChanged
    | StatusUpdate
    | ErrorEvent
)
"""Every event there is. Encoders match it exhaustively and end in `assert_never`."""
