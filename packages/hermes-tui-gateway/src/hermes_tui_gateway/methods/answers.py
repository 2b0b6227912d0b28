"""Answers to questions. The first one wins; a later one, from whichever client, is told that it came too late."""

from __future__ import annotations

from typing import cast, get_args

from hermes_core.commands import AnswerApprovals, AnswerQuestion
from hermes_core.errors import QuestionNotOpen
from hermes_core.questions import (
    Answer,
    ApprovalAnswer,
    Choice,
    Clarify,
    Question,
    SecretAnswer,
    SudoAnswer,
)
from hermes_core.session.session import Session

from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import BAD_VALUE, BUSY, WireError
from hermes_tui_gateway.wire.shapes import UNSET
from hermes_tui_gateway.wire.turns import (
    AnswerResult,
    ApprovalParams,
    ApprovalResult,
    ClarifyParams,
    SecretParams,
    SudoParams,
)

CHOICES: tuple[str, ...] = get_args(Choice)


async def approval(call: Call, params: ApprovalParams) -> ApprovalResult:
    """Answer one approval, the oldest, or all. A choice that was not offered is an error and decides nothing."""
    session = call.session(params.session_id)
    if params.choice not in CHOICES:
        raise WireError(BAD_VALUE, f"choice must be one of {', '.join(CHOICES)}.", {"field": "choice"})
    choice = cast("Choice", params.choice)
    if not params.request_id:
        reply = await session.dispatch(AnswerApprovals(choice, all=params.all))
        return ApprovalResult(resolved=reply.resolved)
    try:
        reply = await session.dispatch(AnswerQuestion(params.request_id, ApprovalAnswer(choice)))
    except QuestionNotOpen:
        return ApprovalResult(resolved=0, status="expired")
    return ApprovalResult(resolved=reply.resolved)


async def clarify(call: Call, params: ClarifyParams) -> AnswerResult:
    """Answer a clarification, or one of its questions."""
    found = _open(call, params.request_id)
    if found is None:
        return AnswerResult(status="expired")
    session, question = found
    if not isinstance(question, Clarify):
        raise WireError(BAD_VALUE, "This question is not one that clarify.respond answers.")
    answer, remaining = call.gateway.clarifications.add(question, params.question_id, params.answer)
    if answer is None:
        return AnswerResult(status="ok", remaining=remaining)
    result = await _give(session, question.id, answer)
    return AnswerResult(status=result.status, remaining=[] if params.question_id else UNSET)


async def sudo(call: Call, params: SudoParams) -> AnswerResult:
    """Give a password, or with an empty one refuse it."""
    found = _open(call, params.request_id)
    if found is None:
        return AnswerResult(status="expired")
    return await _give(found[0], params.request_id, SudoAnswer(params.password))


async def secret(call: Call, params: SecretParams) -> AnswerResult:
    """Give a secret, or with an empty one skip it."""
    found = _open(call, params.request_id)
    if found is None:
        return AnswerResult(status="expired")
    return await _give(found[0], params.request_id, SecretAnswer(params.value))


def _open(call: Call, request_id: str) -> tuple[Session, Question] | None:
    """Return an open question of any live session, None when it is not open. Raises WireError without an id."""
    if not request_id:
        raise WireError(BUSY, "request_id is required: it names the question that is answered.")
    for session in call.runtime.sessions.values():
        for question in session.desk.questions:
            if question.id == request_id:
                return session, question
    return None


async def _give(session: Session, request_id: str, answer: Answer) -> AnswerResult:
    try:
        await session.dispatch(AnswerQuestion(request_id, answer))
    except QuestionNotOpen:
        return AnswerResult(status="expired")
    return AnswerResult(status="ok")
