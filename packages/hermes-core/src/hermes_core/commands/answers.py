"""Commands that answer what a session asks."""

from __future__ import annotations

import msgspec

from hermes_core.commands.asks import Asks
from hermes_core.questions import Answer, Choice


class AnswerReply(msgspec.Struct, frozen=True):
    """How many questions this answer closed."""

    resolved: int


class AnswerQuestion(Asks[AnswerReply], tag="answer", frozen=True):
    """Answer an open question. Errors: QuestionNotOpen, AnswerNotOffered (the question stays open)."""

    request_id: str
    answer: Answer


class AnswerApprovals(Asks[AnswerReply], tag="answer_approvals", frozen=True):
    """Answer the oldest open approval, or all of them; the reply tells how many. Errors: AnswerNotOffered."""

    choice: Choice
    all: bool = False


AnswerCommand = AnswerQuestion | AnswerApprovals
