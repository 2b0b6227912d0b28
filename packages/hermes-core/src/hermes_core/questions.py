"""Questions: everything the agent asks a person, and the answers.

A question is answered exactly once, expires at its deadline, or is withdrawn when its turn ends. What a
person types as a password or secret lives in the answer only: never in an event, a row or a log.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Choice = Literal["once", "session", "always", "deny"]
QuestionKind = Literal["approval", "clarify", "sudo", "secret"]


class FileChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of one file: whole texts before and after. `old` is None for a new file, `new` for a deleted one."""

    path: str
    old: str | None = None
    new: str | None = None


class _Question(msgspec.Struct, tag_field="kind", frozen=True, omit_defaults=True, kw_only=True):
    id: str
    turn_id: str
    agent_id: str = "main"
    tool_call_id: str = ""
    deadline: float = 0.0
    """UNIX seconds; 0 = waits for ever."""


class Approval(_Question, tag="approval", frozen=True, omit_defaults=True, kw_only=True):
    """May this tool call run? `choices` are the answers offered; the default at the deadline is deny."""

    tool: str
    command: str
    """What would run, in one text (a shell command, or a sentence such as `write /etc/hosts`)."""
    description: str
    """Why it is asked, a short sentence."""
    patterns: tuple[str, ...] = ()
    """What `session` and `always` would grant; empty where neither is offered."""
    choices: tuple[Choice, ...] = ("once", "session", "always", "deny")
    changes: tuple[FileChange, ...] = ()
    """The edits it would make, where it would edit."""


class ClarifyItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing to make clear. Without `choices` the answer is free text."""

    id: str
    question: str
    choices: tuple[str, ...] = ()
    multiple: bool = False


class Clarify(_Question, tag="clarify", frozen=True, omit_defaults=True, kw_only=True):
    """One or several things the agent wants to know; an empty answer means: go on without."""

    items: tuple[ClarifyItem, ...]


class Sudo(_Question, tag="sudo", frozen=True, omit_defaults=True, kw_only=True):
    """The password for one command; an empty one means no."""

    command: str = ""


class Secret(_Question, tag="secret", frozen=True, omit_defaults=True, kw_only=True):
    """A named value, such as an API key; an empty one means: skip."""

    env_var: str
    prompt: str = ""


Question = Approval | Clarify | Sudo | Secret


class ApprovalAnswer(msgspec.Struct, tag="approval", tag_field="kind", frozen=True):
    """The choice, one of those offered. `reason` says why a surface denied without a person's word."""

    choice: Choice
    reason: str = ""


class ClarifyAnswer(msgspec.Struct, tag="clarify", tag_field="kind", frozen=True):
    """Item id -> answer. Missing items count as unanswered."""

    answers: dict[str, str]


class SudoAnswer(msgspec.Struct, tag="sudo", tag_field="kind", frozen=True):
    """The password. `repr` does not show it."""

    password: str

    def __repr__(self) -> str:
        return "SudoAnswer(password=...)"


class SecretAnswer(msgspec.Struct, tag="secret", tag_field="kind", frozen=True):
    """The value, and whether it may be kept in `.env`. `repr` does not show it."""

    value: str
    keep: bool = False

    def __repr__(self) -> str:
        return "SecretAnswer(value=...)"


Answer = ApprovalAnswer | ClarifyAnswer | SudoAnswer | SecretAnswer


def kind_of(question: Question) -> QuestionKind:
    """Return the tag of `question`."""
    match question:
        case Approval():
            return "approval"
        case Clarify():
            return "clarify"
        case Sudo():
            return "sudo"
        case Secret():
            return "secret"
