"""The questions of one session: approvals go to the client, and every way in which it may not answer is a no."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, assert_never

from anyio.abc import TaskGroup
from hermes_core.commands import AnswerQuestion
from hermes_core.errors import QuestionError, SessionClosed
from hermes_core.events import QuestionClosed
from hermes_core.questions import (
    Answer,
    Approval,
    ApprovalAnswer,
    Clarify,
    ClarifyAnswer,
    Question,
    Secret,
    SecretAnswer,
    Sudo,
    SudoAnswer,
)

from hermes_acp import cards
from hermes_acp.connection import Connection
from hermes_acp.decode import selected_option
from hermes_acp.encode import card_of

if TYPE_CHECKING:
    from hermes_core.jsonrpc import Response
    from hermes_core.session.session import Session

log = logging.getLogger(__name__)


class Permissions:
    """Asks, and answers for the client where it cannot be asked. `tasks` runs what answering takes."""

    def __init__(self, session: Session, connection: Connection, tasks: TaskGroup) -> None:
        self._session = session
        self._connection = connection
        self._tasks = tasks
        self._requests: dict[str, int] = {}
        self._silent_turn = ""

    def ask(self, question: Question) -> None:
        """Put a question to the client. Only approvals have a place in the protocol: the others end empty."""
        match question:
            case Approval():
                self._ask_approval(question)
            case Clarify():
                self._answer(question, ClarifyAnswer({}))
            case Sudo():
                self._answer(question, SudoAnswer(""))
            case Secret():
                self._answer(question, SecretAnswer(""))
            case _:
                assert_never(question)

    def closed(self, event: QuestionClosed) -> None:
        """Take a question back from the client, unless it was the client that answered.

        After one that expired, nobody waits again for this client in the same turn.
        """
        if event.kind == "approval" and event.reason == "expired":
            self._silent_turn = event.turn_id
        number = self._requests.pop(event.request_id, None)
        if number is not None:
            self._connection.withdraw(number)

    def _ask_approval(self, question: Approval) -> None:
        if question.id in self._requests:
            return
        if question.turn_id == self._silent_turn:
            self._answer(question, ApprovalAnswer("deny", "the last question of this turn was not answered"))
            return
        params = cards.permission(self._session.stored_id, card_of(question), question)
        self._requests[question.id] = self._connection.ask_permission(params, partial(self._answered, question))

    def _answered(self, question: Approval, response: Response) -> None:
        self._requests.pop(question.id, None)
        option = selected_option(response)
        choice = None if option is None else cards.choice_of(option, question)
        if choice is not None:
            self._answer(question, ApprovalAnswer(choice))
            return
        if option is not None:
            reason = f"the editor chose {option[:100]!r}, which was not offered"
        elif response.error is not None:
            reason = f"the editor could not ask ({response.error.message[:200]})"
        else:
            reason = "the question was dismissed in the editor"
        log.warning("permission for %s is denied: %s", question.tool, reason)
        self._answer(question, ApprovalAnswer("deny", reason))

    def _answer(self, question: Question, answer: Answer) -> None:
        self._tasks.start_soon(self._dispatch, AnswerQuestion(question.id, answer))

    async def _dispatch(self, command: AnswerQuestion) -> None:
        try:
            await self._session.dispatch(command)
        except (QuestionError, SessionClosed) as error:
            log.info("an answer came too late: %s", error)
