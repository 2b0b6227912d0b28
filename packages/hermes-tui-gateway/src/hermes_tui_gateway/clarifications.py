"""Clarifications with several questions, answered one by one, perhaps from several clients."""

from __future__ import annotations

from hermes_core.errors import AnswerNotOffered
from hermes_core.questions import Clarify, ClarifyAnswer

from hermes_tui_gateway.questions import is_plain

MAX_KEPT = 256
"""Clarifications whose answers are kept until they are complete; the oldest is forgotten first."""


class Clarifications:
    """The answers given so far, by request."""

    def __init__(self) -> None:
        self._given: dict[str, dict[str, str]] = {}

    def add(self, question: Clarify, item_id: str, answer: str) -> tuple[ClarifyAnswer | None, list[str]]:
        """Take one answer; return the whole one as soon as nothing remains, and the ids that remain.

        Without `item_id` a plain question is answered, and one in list form is cancelled. An item that was
        answered before gets the new answer. Raises AnswerNotOffered for an unknown `item_id`.
        """
        items = [item.id for item in question.items]
        if not item_id:
            self._given.pop(question.id, None)
            answers = {items[0]: answer} if is_plain(question) and answer else {}
            return ClarifyAnswer(answers), []
        if item_id not in items:
            raise AnswerNotOffered(f"There is no question {item_id!r} in this request.")
        given = self._given.setdefault(question.id, {})
        given[item_id] = answer
        remaining = [item for item in items if item not in given]
        if remaining:
            while len(self._given) > MAX_KEPT:
                del self._given[next(iter(self._given))]
            return None, remaining
        del self._given[question.id]
        return ClarifyAnswer(given), []
