"""The desk where a session's questions lie until a person answers, the time is over, or the turn ends.

Each question leaves the desk exactly once: the first of answer, expiry and withdrawal wins, and the others
find it gone.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Literal, assert_never

import anyio
import msgspec

from hermes_core.errors import AnswerNotOffered, QuestionNotOpen
from hermes_core.events import ApprovalRequest, ClarifyRequest, Event, QuestionClosed, SecretRequest, SudoRequest
from hermes_core.questions import (
    Answer,
    Approval,
    ApprovalAnswer,
    Choice,
    Clarify,
    ClarifyAnswer,
    Question,
    Secret,
    Sudo,
    kind_of,
)

CloseReason = Literal["answered", "expired", "withdrawn"]


class _Open:
    """A question that waits, and the answer once there is one."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.answer: Answer | None = None
        self.closed = anyio.Event()


class QuestionDesk:
    """The open questions of one session, oldest first. `answerable` False: nobody is there, every ask ends at once."""

    def __init__(self, publish: Callable[[Event], None], *, answerable: bool) -> None:
        self.answerable = answerable
        self._publish = publish
        self._open: dict[str, _Open] = {}

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is open, oldest first."""
        return tuple(entry.question for entry in self._open.values())

    async def ask(self, question: Question) -> Answer | None:
        """Ask, and wait for the answer; None when it expired, was withdrawn, or nobody can answer here."""
        if not self.answerable:
            return None
        entry = _Open(question)
        self._open[question.id] = entry
        self._publish(_request(question))
        reason: CloseReason = "withdrawn"  # unless the time runs out: a cancelled turn takes its questions along
        try:
            with anyio.move_on_after(_seconds_left(question)) as scope:
                await entry.closed.wait()
            if scope.cancelled_caught:
                reason = "expired"
        finally:
            self._close(entry, reason)
        return entry.answer

    def asker(self, agent_id: str) -> Callable[[Question], Awaitable[Answer | None]]:
        """Return `ask` for one agent: what it asks, and its closing, carry `agent_id`."""

        def ask(question: Question) -> Awaitable[Answer | None]:
            return self.ask(msgspec.structs.replace(question, agent_id=agent_id))

        return ask

    def answer(self, request_id: str, answer: Answer) -> None:
        """Give the answer. Raises QuestionNotOpen, or AnswerNotOffered, which leaves the question open."""
        entry = self._open.get(request_id)
        if entry is None:
            raise QuestionNotOpen("This question is not open: it is unknown, or was answered or expired before.")
        _check(entry.question, answer)
        entry.answer = answer
        self._close(entry, "answered", answer.choice if isinstance(answer, ApprovalAnswer) else None)

    def answer_approvals(self, choice: Choice, *, every: bool) -> int:
        """Give the oldest open approval, or every one, the same answer; return how many there were."""
        waiting = [entry for entry in self._open.values() if isinstance(entry.question, Approval)]
        chosen = waiting if every else waiting[:1]
        for entry in chosen:
            _check(entry.question, ApprovalAnswer(choice))
        for entry in chosen:
            self.answer(entry.question.id, ApprovalAnswer(choice))
        return len(chosen)

    def withdraw(self, *, turn_id: str = "", agent_id: str = "") -> None:
        """Close open questions without an answer: every one, or those of a turn, of an agent, or of both."""
        for entry in list(self._open.values()):
            question = entry.question
            if turn_id in ("", question.turn_id) and agent_id in ("", question.agent_id):
                self._close(entry, "withdrawn")

    def _close(self, entry: _Open, reason: CloseReason, choice: Choice | None = None) -> None:
        if self._open.pop(entry.question.id, None) is None:
            return
        entry.closed.set()
        self._publish(
            QuestionClosed(
                request_id=entry.question.id,
                kind=kind_of(entry.question),
                reason=reason,
                choice=choice,
                turn_id=entry.question.turn_id,
                agent_id=entry.question.agent_id,
            )
        )


def _seconds_left(question: Question) -> float | None:
    return max(0.0, question.deadline - time.time()) if question.deadline else None


def _request(question: Question) -> Event:
    turn, agent = question.turn_id, question.agent_id
    match question:
        case Approval():
            return ApprovalRequest(question=question, turn_id=turn, agent_id=agent)
        case Clarify():
            return ClarifyRequest(question=question, turn_id=turn, agent_id=agent)
        case Sudo():
            return SudoRequest(question=question, turn_id=turn, agent_id=agent)
        case Secret():
            return SecretRequest(question=question, turn_id=turn, agent_id=agent)
        case _:
            assert_never(question)


def _check(question: Question, answer: Answer) -> None:
    """Raise AnswerNotOffered unless `answer` is of the question's kind and among what was offered."""
    if kind_of(question) != _answer_kind(answer):
        raise AnswerNotOffered(f"This question wants an answer of kind {kind_of(question)!r}.")
    if isinstance(question, Approval) and isinstance(answer, ApprovalAnswer) and answer.choice not in question.choices:
        raise AnswerNotOffered(f"The choice {answer.choice!r} was not offered; offered: {', '.join(question.choices)}.")
    if isinstance(question, Clarify) and isinstance(answer, ClarifyAnswer):
        unknown = _unknown(answer.answers, (item.id for item in question.items))
        if unknown:
            raise AnswerNotOffered(f"There is no question {unknown!r} in this request.")


def _answer_kind(answer: Answer) -> str:
    return str(answer.__struct_config__.tag)


def _unknown(given: Iterable[str], known: Iterable[str]) -> str:
    names = set(known)
    return next((name for name in given if name not in names), "")
