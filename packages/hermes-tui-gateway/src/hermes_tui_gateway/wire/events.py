"""The payloads of events, and the frame around them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from hermes_tui_gateway.wire.sessions import Tokens
from hermes_tui_gateway.wire.shapes import UNSET, Maybe, Result


class EventParams(msgspec.Struct, frozen=True, kw_only=True):
    """`params` of every frame whose method is `event`.

    `session_id` is the runtime id, absent for `gateway.ready`. `seq` grows within a session and is absent from
    events that answer one client only. `payload` is absent where there is nothing to tell.
    """

    type: str
    session_id: Maybe[str] = UNSET
    seq: Maybe[int] = UNSET
    payload: Any = UNSET


class Text(Result, frozen=True, kw_only=True):
    """`message.delta`, `reasoning.delta`, `reasoning.available`, `steer.queued`."""

    text: str


class UserMessage(Result, frozen=True, kw_only=True):
    """`message.user`: a prompt was stored and its turn begins, whichever client sent it."""

    text: str
    row_id: int
    turn_id: str
    images: Maybe[int] = UNSET


class Interim(Result, frozen=True, kw_only=True):
    """`message.interim`: the text beside tool calls is complete; its deltas came before."""

    text: str
    already_streamed: bool
    row_id: int


class Complete(Result, frozen=True, kw_only=True):
    """`message.complete`: exactly one for each turn. `text` is null where nothing was said."""

    text: str | None
    usage: Tokens
    status: Literal["complete", "error", "interrupted"]
    turn_id: str
    finish: Maybe[str] = UNSET
    reasoning: Maybe[str] = UNSET
    error: Maybe[str] = UNSET
    code: Maybe[str] = UNSET
    partial: Maybe[bool] = UNSET
    pending_steer: Maybe[str] = UNSET
    row_id: Maybe[int] = UNSET


class ToolName(Result, frozen=True, kw_only=True):
    """`tool.generating`."""

    name: str


class ToolStarted(Result, frozen=True, kw_only=True):
    """`tool.start`."""

    tool_id: str
    name: str
    context: str
    args: dict[str, Any]
    path: Maybe[str] = UNSET


class ToolOutput(Result, frozen=True, kw_only=True):
    """`tool.progress`: new output, to be appended."""

    tool_id: str
    name: str
    preview: str


class ToolEnded(Result, frozen=True, kw_only=True):
    """`tool.complete`. `inline_diff` is a coloured diff for a terminal; `error` is there when it did not succeed."""

    tool_id: str
    name: str
    args: dict[str, Any]
    duration_s: float
    result: str
    outcome: str
    summary: Maybe[str] = UNSET
    inline_diff: Maybe[str] = UNSET
    todos: Maybe[list[dict[str, Any]]] = UNSET
    error: Maybe[str] = UNSET
    exit_code: Maybe[int] = UNSET


class ApprovalAsked(Result, frozen=True, kw_only=True):
    """`approval.request`."""

    request_id: str
    command: str
    description: str
    pattern_key: str
    pattern_keys: list[str]
    allow_permanent: bool
    allow_session: bool
    choices: list[str]
    tool: str
    tool_id: str
    deadline: Maybe[float] = UNSET


class ClarifyAsked(Result, frozen=True, kw_only=True):
    """`clarify.request` with one question; `choices` null means free text."""

    request_id: str
    question: str
    choices: list[str] | None
    deadline: Maybe[float] = UNSET


class ClarifyEntry(Result, frozen=True, kw_only=True):
    """One of several questions."""

    qid: str
    question: str
    choices: list[str] | None
    multi_select: bool


class ClarifyListAsked(Result, frozen=True, kw_only=True):
    """`clarify.request` with several questions, each answered with its `question_id`."""

    request_id: str
    questions: list[ClarifyEntry]
    deadline: Maybe[float] = UNSET


class SudoAsked(Result, frozen=True, kw_only=True):
    """`sudo.request`."""

    request_id: str
    command: str
    deadline: Maybe[float] = UNSET


class SecretAsked(Result, frozen=True, kw_only=True):
    """`secret.request`."""

    request_id: str
    prompt: str
    env_var: str
    deadline: Maybe[float] = UNSET


class Expired(Result, frozen=True, kw_only=True):
    """`approval.expire`, `clarify.expire`, `sudo.expire`, `secret.expire`: it ended without an answer."""

    request_id: str
    reason: Literal["expired", "withdrawn"]


class Answered(Result, frozen=True, kw_only=True):
    """`question.answered`: some client answered; the others take their prompt away."""

    request_id: str
    kind: str
    choice: Maybe[str] = UNSET


class SteerDelivered(Result, frozen=True, kw_only=True):
    """`steer.delivered`: the model reads the text with this tool's result."""

    text: str
    tool_id: str


class Queue(Result, frozen=True, kw_only=True):
    """`queue.changed`: the prompts that wait, oldest first; `dropped` names turns that will not begin."""

    texts: list[str]
    dropped: Maybe[list[str]] = UNSET


class Title(Result, frozen=True, kw_only=True):
    """`session.title`. `session_id` is the stored id here."""

    session_id: str
    title: str


class Closed(Result, frozen=True, kw_only=True):
    """`session.closed`: the live session ended; it can be resumed."""

    reason: str
    stored_session_id: Maybe[str] = UNSET


class Cut(Result, frozen=True, kw_only=True):
    """`transcript.cut`: rows were taken from the end. Every row id known before is void; `survivors` are the new ids
    of the user rows."""

    removed: int
    survivors: list[int]


class Compacted(Result, frozen=True, kw_only=True):
    """`transcript.compacted`: a summary took the place of older rows. Row ids as with `transcript.cut`."""

    before_messages: int
    after_messages: int
    before_tokens: int
    after_tokens: int
    automatic: bool
    survivors: list[int]


class ToolsChanged(Result, frozen=True, kw_only=True):
    """`tools.changed`: the session offers other tools from its next turn on."""

    added: list[str]
    removed: list[str]


class Status(Result, frozen=True, kw_only=True):
    """`status.update`."""

    kind: str
    text: str


class Failure(Result, frozen=True, kw_only=True):
    """`error`: something failed that no turn owns."""

    message: str
    code: str
