"""Commands: everything a client can ask of a live session, and the replies. Sent with `Session.dispatch`."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_core.content import Part
from hermes_core.questions import Answer, Choice

BusyMode = Literal["queue", "steer", "interrupt"]
"""What a submit does while a turn runs (DECISIONS rule 3)."""

EditMode = Literal["ask", "workspace", "allow", "plan"]
"""File edits: ask for each; allow below the session's folder; allow all; none at all (read-only planning).
Sensitive paths are asked in every mode."""


class Submit(msgspec.Struct, tag="submit", frozen=True, omit_defaults=True, kw_only=True):
    """Begin a turn, or do what `busy` says while one runs.

    `busy` None takes the session's own mode. `system` is instruction text layered over the core prompt for
    this turn only and never stored. `model` (with optional `provider:` prefix) is used for this turn only.
    `tools` False offers the model no tools. Errors: InvalidInput (empty parts), SessionClosed, NoModelError.
    """

    parts: tuple[Part, ...]
    busy: BusyMode | None = None
    system: str = ""
    model: str = ""
    tools: bool = True
    max_tokens: int = 0
    """The most tokens one answer of the model may have; 0 = the model's own limit."""
    reasoning_effort: str = ""
    """How hard the model thinks in this turn; empty = the session's setting."""
    turn_id: str = ""
    """Chosen by the caller where it must be known beforehand; else made."""


class SubmitReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a submit. `row_id` is the new user row when it started; `turn_id` when it started or queued."""

    status: Literal["started", "queued", "steered"]
    turn_id: str = ""
    row_id: int | None = None


class Steer(msgspec.Struct, tag="steer", frozen=True):
    """Give the running turn text to read after its next tool batch. Idle sessions reject it (nothing is kept).

    Errors: InvalidInput (empty, or 100 texts wait already).
    """

    text: str


class SteerReply(msgspec.Struct, frozen=True):
    """`queued`: delivered after the next tool batch, or returned as `pending_steer`. `rejected`: no turn runs."""

    status: Literal["queued", "rejected"]


class Interrupt(msgspec.Struct, tag="interrupt", frozen=True):
    """Stop the running turn; the queue of follow-ups is dropped, open questions are withdrawn. Submits that wait as
    steering text come back in `pending_steer`.

    `turn_id` limits it to that turn. An interrupt with nothing running does nothing and succeeds: it never
    reaches a later turn.
    """

    turn_id: str = ""


class InterruptReply(msgspec.Struct, frozen=True):
    """Whether a turn was running. The reply comes when the turn is over and `message.complete` was published."""

    interrupted: bool


class AnswerQuestion(msgspec.Struct, tag="answer", frozen=True):
    """Answer an open question. Errors: QuestionNotOpen, AnswerNotOffered (the question stays open)."""

    request_id: str
    answer: Answer


class AnswerApprovals(msgspec.Struct, tag="answer_approvals", frozen=True):
    """Answer the oldest open approval, or all of them; the reply tells how many. Errors: AnswerNotOffered."""

    choice: Choice
    all: bool = False


class AnswerReply(msgspec.Struct, frozen=True):
    """How many questions this answer closed."""

    resolved: int


class SetTitle(msgspec.Struct, tag="set_title", frozen=True):
    """Name the session. Errors: InvalidInput (empty, longer than 200 characters)."""

    title: str


class SetModel(msgspec.Struct, tag="set_model", frozen=True):
    """Use another model from the next turn on: `name`, `provider:name` or `provider/name`.

    Errors: InvalidInput (unknown provider), NoModelError. The old model stays on failure.
    """

    model: str


class SetEdits(msgspec.Struct, tag="set_edits", frozen=True):
    """Change how file edits are approved."""

    mode: EditMode


class Done(msgspec.Struct, frozen=True):
    """The reply of commands that have nothing to tell."""


Command = Submit | Steer | Interrupt | AnswerQuestion | AnswerApprovals | SetTitle | SetModel | SetEdits
Reply = SubmitReply | SteerReply | InterruptReply | AnswerReply | Done
