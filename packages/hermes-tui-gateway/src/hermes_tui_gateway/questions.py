"""Questions as events: what a host needs to show one, and to take it away again."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec
from hermes_core.events import QuestionClosed
from hermes_core.questions import Approval, Clarify, Question, Secret, Sudo

from hermes_tui_gateway.wire.events import (
    Answered,
    ApprovalAsked,
    ClarifyAsked,
    ClarifyEntry,
    ClarifyListAsked,
    Expired,
    SecretAsked,
    SudoAsked,
)
from hermes_tui_gateway.wire.shapes import UNSET, Maybe, Result


def asked(question: Question) -> tuple[str, Result]:
    """Return the event type and the payload that ask `question`."""
    deadline: Maybe[float] = question.deadline or UNSET
    match question:
        case Approval():
            return "approval.request", _approval(question, deadline)
        case Clarify():
            return "clarify.request", _clarify(question, deadline)
        case Sudo():
            return "sudo.request", SudoAsked(request_id=question.id, command=question.command, deadline=deadline)
        case Secret():
            payload = SecretAsked(
                request_id=question.id, prompt=question.prompt, env_var=question.env_var, deadline=deadline
            )
            return "secret.request", payload
        case _:
            assert_never(question)


def closed(event: QuestionClosed) -> tuple[str, Result]:
    """Return the event type and the payload that tell that a question is no longer open."""
    if event.reason == "answered":
        return "question.answered", Answered(request_id=event.request_id, kind=event.kind, choice=event.choice or UNSET)
    return f"{event.kind}.expire", Expired(request_id=event.request_id, reason=event.reason)


def open_questions(questions: tuple[Question, ...]) -> list[dict[str, Any]]:
    """Return the open questions for a client that attaches, each as the event it missed."""
    events = (asked(question) for question in questions)
    return [{"type": kind, "payload": msgspec.to_builtins(payload)} for kind, payload in events]


def is_plain(question: Clarify) -> bool:
    """Say whether a clarification is asked in the single form, which is answered without a `question_id`."""
    return len(question.items) == 1 and not question.items[0].multiple


def _approval(question: Approval, deadline: Maybe[float]) -> ApprovalAsked:
    return ApprovalAsked(
        request_id=question.id,
        command=question.command,
        description=question.description,
        pattern_key=question.patterns[0] if question.patterns else "",
        pattern_keys=list(question.patterns),
        allow_permanent="always" in question.choices,
        allow_session="session" in question.choices,
        choices=list(question.choices),
        tool=question.tool,
        tool_id=question.tool_call_id,
        deadline=deadline,
    )


def _clarify(question: Clarify, deadline: Maybe[float]) -> ClarifyAsked | ClarifyListAsked:
    if is_plain(question):
        item = question.items[0]
        choices = list(item.choices) or None
        return ClarifyAsked(request_id=question.id, question=item.question, choices=choices, deadline=deadline)
    entries = [
        ClarifyEntry(
            qid=item.id, question=item.question, choices=list(item.choices) or None, multi_select=item.multiple
        )
        for item in question.items
    ]
    return ClarifyListAsked(request_id=question.id, questions=entries, deadline=deadline)
