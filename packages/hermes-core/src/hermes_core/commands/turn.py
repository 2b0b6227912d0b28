"""Commands about turns: begin one, steer it, stop it."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_core.commands.asks import Asks
from hermes_core.commands.cut import Cut
from hermes_core.content import Part

BusyMode = Literal["queue", "steer", "interrupt"]
"""What a submit does while a turn runs (DECISIONS rule 3)."""


class SubmitReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a submit. `row_id` is the new user row when it started; `turn_id` when it started or queued.

    `survivors` are, after a cut, the new ids of the user rows that are left before the new one, in their order.
    `repeated`: a submit of this key was admitted before and nothing was done; `row_id` is its row, None while it is
    queued or when it was cut since, and `turn_id` its turn while that is queued or running.
    """

    status: Literal["started", "queued", "steered"]
    turn_id: str = ""
    row_id: int | None = None
    survivors: tuple[int, ...] | None = None
    repeated: bool = False


class Submit(Asks[SubmitReply], tag="submit", frozen=True, omit_defaults=True, kw_only=True):
    """Begin a turn, or do what `busy` says while one runs.

    `busy` None takes the session's own mode. `system` is instruction text layered over the core prompt for
    this turn only and never stored. `model` (with optional `provider:` prefix) is used for this turn only.
    `tools` False offers the model no tools. Errors: InvalidInput (empty parts, a key beyond 256 characters),
    SessionClosed, NoModelError; with `cut` also CutRefused and SessionBusy.
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
    cut: Cut | None = None
    """Where to cut the conversation first: cut and begin are one act. Never waits: a busy session refuses it."""
    key: str = ""
    """The caller's own name of this submit, by which it is admitted once, also after a restart. Such a submit waits
    where others would steer: a steer leaves no row that could be known again."""


class SteerReply(msgspec.Struct, frozen=True):
    """`queued`: delivered after the next tool batch, or returned as `pending_steer`. `rejected`: no turn runs."""

    status: Literal["queued", "rejected"]


class Steer(Asks[SteerReply], tag="steer", frozen=True):
    """Give the running turn text to read after its next tool batch. Idle sessions reject it (nothing is kept).

    Errors: InvalidInput (empty, or 100 texts wait already).
    """

    text: str


class InterruptReply(msgspec.Struct, frozen=True):
    """Whether a turn was running. The reply comes when the turn is over and `message.complete` was published."""

    interrupted: bool


class Interrupt(Asks[InterruptReply], tag="interrupt", frozen=True):
    """Stop the running turn; the queue of follow-ups is dropped, open questions are withdrawn. Submits that wait as
    steering text come back in `pending_steer`.

    `turn_id` limits it to that turn. An interrupt with nothing running does nothing and succeeds: it never
    reaches a later turn.
    """

    turn_id: str = ""


TurnCommand = Submit | Steer | Interrupt
TurnReply = SubmitReply | SteerReply | InterruptReply
