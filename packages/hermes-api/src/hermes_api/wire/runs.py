"""Runs: the requests, the status object, and what an approval request looks like."""

from __future__ import annotations

from typing import Literal

import msgspec
from hermes_core.questions import Approval, Choice
from hermes_core.usage import Usage
from msgspec import UNSET, UnsetType

from hermes_api.errors import ApiError
from hermes_api.wire.content import texts_of
from hermes_api.wire.conversation import ClientMessage, Conversation, conversation_of

Status = Literal[
    "queued", "running", "waiting_for_approval", "stopping", "completed", "failed", "cancelled", "interrupted"
]
TERMINAL: frozenset[str] = frozenset({"completed", "failed", "cancelled", "interrupted"})
ALIASES: dict[str, Choice] = {
    "once": "once",
    "session": "session",
    "always": "always",
    "deny": "deny",
    "approve": "once",
    "approved": "once",
    "allow": "once",
}
MAX_REQUEST_ID = 256


class RunRequest(msgspec.Struct, frozen=True):
    """`input` is a text, or a list of messages whose last user message is the turn."""

    input: str | list[str | ClientMessage] | None = None
    instructions: str | None = None
    conversation_history: list[ClientMessage] | None = None
    previous_response_id: str | None = None
    session_id: str | None = None
    model: str | None = None


class RunUsage(msgspec.Struct, frozen=True):
    """Tokens of all model calls of the run."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


class RunStatus(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The status object of a run. Times are UNIX seconds; what has no value yet is left out."""

    object: str = msgspec.field(default_factory=lambda: "hermes.run")
    run_id: str
    status: Status
    session_id: str
    model: str
    created_at: float
    updated_at: float
    last_event: str = ""
    output: str | UnsetType = UNSET
    usage: RunUsage | UnsetType = UNSET
    error: str = ""
    code: str = ""
    approval: msgspec.Raw | UnsetType = UNSET
    pending_steer: str = ""
    completed: bool | UnsetType = UNSET
    partial: bool | UnsetType = UNSET
    interrupted: bool | UnsetType = UNSET
    turn_exit_reason: str = ""

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.status in TERMINAL


class RunStarted(msgspec.Struct, frozen=True):
    """The answer of POST /v1/runs."""

    run_id: str
    session_id: str
    status: str = "started"
    replayed: bool = False


class ApprovalBody(msgspec.Struct, frozen=True):
    """The body of POST /v1/runs/{id}/approval."""

    choice: str | None = None
    request_id: str | None = None
    all: bool | None = None
    resolve_all: bool | None = None


class ApprovalReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many approvals were answered."""

    object: str
    run_id: str
    choice: str
    resolved: int
    request_id: str = ""


class SteerBody(msgspec.Struct, frozen=True):
    """The body of POST /v1/runs/{id}/steer; the first of the three that is not empty is the text."""

    input: str | list[object] | None = None
    message: str | list[object] | None = None
    text: str | list[object] | None = None


def run_usage(usage: Usage) -> RunUsage:
    """Return token counts in the shape of runs."""
    return RunUsage(usage.input, usage.output, usage.total, usage.cached, usage.cache_write, usage.reasoning)


def run_conversation(request: RunRequest) -> Conversation:
    """Return what a run is asked to do. Raises ApiError 400, or 404 for a response that is not known."""
    if request.previous_response_id:
        raise ApiError(404, "There is no such response.", "response_not_found", param="previous_response_id")
    if not request.input:
        raise ApiError(400, "'input' is missing.", "missing_field", param="input")
    items = [request.input] if isinstance(request.input, str) else request.input
    messages = [ClientMessage("user", item) if isinstance(item, str) else item for item in items]
    asked = conversation_of(messages, "input")
    history, system = asked.history, asked.system
    if request.conversation_history is not None:
        # A turn of any kind stands at the end, so that the whole list is read as history.
        given = conversation_of([*request.conversation_history, ClientMessage("user", "-")], "conversation_history")
        history, system = given.history, "\n".join(text for text in (given.system, system) if text)
    system = "\n".join(text for text in (request.instructions or "", system) if text)
    return Conversation(system, history, asked.turn)


def approval_choice(body: ApprovalBody) -> Choice:
    """Return the choice that was made. Raises ApiError 400."""
    choice = ALIASES.get((body.choice or "").strip().lower())
    if choice is None:
        message = "'choice' must be one of once, session, always, deny."
        raise ApiError(400, message, "invalid_approval_choice", param="choice")
    return choice


def approval_target(body: ApprovalBody) -> str:
    """Return the request that is answered, empty for the oldest. Raises ApiError 400."""
    if body.request_id is None:
        return ""
    if not body.request_id.strip() or len(body.request_id) > MAX_REQUEST_ID:
        message = f"'request_id' must be 1 to {MAX_REQUEST_ID} characters."
        raise ApiError(400, message, "invalid_approval_request", param="request_id")
    return body.request_id.strip()


def steer_text(body: SteerBody) -> str:
    """Return the steering text, stripped. Raises ApiError 400."""
    for name in ("input", "message", "text"):
        if text := texts_of(getattr(body, name), name).strip():
            return text
    raise ApiError(400, "The steering text is empty.", "invalid_steer_input", param="input")


def approval_fields(question: Approval) -> dict[str, object]:
    """Return the fields of an `approval.request` event."""
    return {
        "request_id": question.id,
        "tool": question.tool,
        "command": question.command,
        "description": question.description,
        "pattern_key": question.patterns[0] if question.patterns else "",
        "pattern_keys": list(question.patterns),
        "allow_session": "session" in question.choices,
        "allow_permanent": "always" in question.choices,
        "choices": list(question.choices),
    }
