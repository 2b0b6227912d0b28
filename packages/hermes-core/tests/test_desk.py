"""Questions: each leaves the desk exactly once."""

from __future__ import annotations

import time

import anyio
import msgspec
import pytest
from hermes_core.errors import AnswerNotOffered, QuestionNotOpen
from hermes_core.events import ApprovalRequest, Event, QuestionClosed
from hermes_core.questions import (
    Answer,
    Approval,
    ApprovalAnswer,
    Clarify,
    ClarifyAnswer,
    ClarifyItem,
    Question,
    SecretAnswer,
    Sudo,
    SudoAnswer,
)
from hermes_core.session.desk import QuestionDesk

pytestmark = pytest.mark.anyio


class Asked:
    """A desk, what it published, and the answers that its askers got."""

    def __init__(self, *, answerable: bool = True) -> None:
        self.events: list[Event] = []
        self.desk = QuestionDesk(self.events.append, answerable=answerable)
        self.answers: dict[str, Answer | None] = {}

    async def ask(self, question: Question) -> None:
        self.answers[question.id] = await self.desk.ask(question)

    @property
    def closings(self) -> list[tuple[str, str]]:
        return [(event.request_id, event.reason) for event in self.events if isinstance(event, QuestionClosed)]


def approval(name: str, *, seconds: float = 0.0) -> Approval:
    deadline = time.time() + seconds if seconds else 0.0
    return Approval(id=name, turn_id="t", tool="terminal", command="rm x", description="deletes", deadline=deadline)


async def test_an_answer_reaches_the_question_it_names_and_no_other() -> None:
    """HA-053: answering r2 leaves r1 open."""
    asked = Asked()
    async with anyio.create_task_group() as asking:
        asking.start_soon(asked.ask, approval("r1"))
        asking.start_soon(asked.ask, approval("r2"))
        await anyio.wait_all_tasks_blocked()
        asked.desk.answer("r2", ApprovalAnswer("once"))
        await anyio.wait_all_tasks_blocked()
        assert asked.answers == {"r2": ApprovalAnswer("once")}
        assert [question.id for question in asked.desk.questions] == ["r1"]
        asked.desk.answer("r1", ApprovalAnswer("deny"))
    assert asked.answers["r1"] == ApprovalAnswer("deny")


async def test_a_second_answer_and_an_unknown_id_are_refused_and_change_nothing() -> None:
    """HA-053: unknown or already answered ids give an error."""
    asked = Asked()
    async with anyio.create_task_group() as asking:
        asking.start_soon(asked.ask, approval("r1"))
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(QuestionNotOpen):
            asked.desk.answer("nobody", ApprovalAnswer("once"))
        asked.desk.answer("r1", ApprovalAnswer("deny"))
        with pytest.raises(QuestionNotOpen):
            asked.desk.answer("r1", ApprovalAnswer("once"))
    assert asked.answers == {"r1": ApprovalAnswer("deny")}
    assert asked.closings == [("r1", "answered")]


async def test_a_choice_that_was_not_offered_decides_nothing() -> None:
    """HA-064: the question stays open, for each kind of wrong answer."""
    asked = Asked()
    narrow = Approval(id="r", turn_id="t", tool="x", command="x", description="x", choices=("once", "deny"))
    clarify = Clarify(id="c", turn_id="t", items=(ClarifyItem("q0", "Which?"),))
    async with anyio.create_task_group() as asking:
        asking.start_soon(asked.ask, narrow)
        asking.start_soon(asked.ask, clarify)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(AnswerNotOffered):
            asked.desk.answer("r", ApprovalAnswer("always"))
        with pytest.raises(AnswerNotOffered):
            asked.desk.answer("r", SudoAnswer("password"))
        with pytest.raises(AnswerNotOffered):
            asked.desk.answer_approvals("session", every=True)
        with pytest.raises(AnswerNotOffered):
            asked.desk.answer("c", ClarifyAnswer({"q9": "no such item"}))
        assert len(asked.desk.questions) == 2
        asked.desk.answer("r", ApprovalAnswer("once"))
        asked.desk.answer("c", ClarifyAnswer({"q0": "this"}))
    assert asked.answers == {"r": ApprovalAnswer("once"), "c": ClarifyAnswer({"q0": "this"})}


async def test_a_question_expires_at_its_deadline_and_a_late_answer_learns_so() -> None:
    """HA-061: an expiry is told once, with the same id; a newer question is untouched."""
    asked = Asked()
    async with anyio.create_task_group() as asking:
        asking.start_soon(asked.ask, approval("newer"))
        with anyio.fail_after(10):
            await asked.ask(approval("old", seconds=0.01))
        assert asked.answers == {"old": None}
        with pytest.raises(QuestionNotOpen):
            asked.desk.answer("old", ApprovalAnswer("once"))
        assert [question.id for question in asked.desk.questions] == ["newer"]
        asked.desk.answer("newer", ApprovalAnswer("once"))
    assert asked.closings == [("old", "expired"), ("newer", "answered")]


async def test_a_cancelled_asker_takes_its_question_along() -> None:
    """HA-060: an interrupted turn's question is withdrawn, not denied by anybody."""
    asked = Asked()
    async with anyio.create_task_group() as asking:
        asking.start_soon(asked.ask, approval("r1"))
        await anyio.wait_all_tasks_blocked()
        asking.cancel_scope.cancel()
    assert asked.closings == [("r1", "withdrawn")]
    assert asked.desk.questions == ()


async def test_where_nobody_can_answer_a_question_ends_at_once_and_is_not_shown() -> None:
    """HA-054: no channel means no waiting, and never a yes."""
    asked = Asked(answerable=False)
    await asked.ask(approval("r1"))
    assert asked.answers == {"r1": None}
    assert asked.events == []


async def test_approvals_are_answered_oldest_first_or_all_together() -> None:
    asked = Asked()
    async with anyio.create_task_group() as asking:
        for name in ("r1", "r2", "r3"):
            asking.start_soon(asked.ask, approval(name))
            await anyio.wait_all_tasks_blocked()
        asking.start_soon(asked.ask, Sudo(id="s", turn_id="t"))
        await anyio.wait_all_tasks_blocked()
        assert asked.desk.answer_approvals("once", every=False) == 1
        assert asked.desk.answer_approvals("deny", every=True) == 2
        assert asked.desk.answer_approvals("deny", every=True) == 0
        asked.desk.withdraw()
    assert asked.answers == {
        "r1": ApprovalAnswer("once"),
        "r2": ApprovalAnswer("deny"),
        "r3": ApprovalAnswer("deny"),
        "s": None,
    }


async def test_what_a_person_types_is_in_no_event_and_no_repr() -> None:
    """HA-145: a password or secret leaves no trace in what is published."""
    asked = Asked()
    async with anyio.create_task_group() as asking:
        asking.start_soon(asked.ask, Sudo(id="s", turn_id="t", command="sudo id"))
        await anyio.wait_all_tasks_blocked()
        asked.desk.answer("s", SudoAnswer("hunter2"))
    assert "hunter2" not in repr(asked.events) + repr(SudoAnswer("hunter2")) + repr(SecretAnswer("hunter2"))
    assert isinstance(asked.events[-1], QuestionClosed)


async def test_a_request_carries_the_question_and_its_turn() -> None:
    asked = Asked()
    async with anyio.create_task_group() as asking:
        asking.start_soon(asked.ask, approval("r1"))
        await anyio.wait_all_tasks_blocked()
        request = asked.events[0]
        assert isinstance(request, ApprovalRequest)
        assert (request.question.id, request.turn_id) == ("r1", "t")
        asked.desk.withdraw()


async def test_questions_of_one_agent_or_turn_are_withdrawn_and_the_others_stay() -> None:
    """HA-060: the interrupt of a sub-agent takes its own questions only, and says whose they were."""
    asked = Asked()

    async def ask(agent: str, question: Question) -> None:
        asked.answers[question.id] = await asked.desk.asker(agent)(question)

    later = msgspec.structs.replace(approval("r3"), turn_id="t2")
    async with anyio.create_task_group() as asking:
        for agent, question in (("main", approval("r1")), ("sa-0-1", approval("r2")), ("sa-0-1", later)):
            asking.start_soon(ask, agent, question)
            await anyio.wait_all_tasks_blocked()
        assert [question.agent_id for question in asked.desk.questions] == ["main", "sa-0-1", "sa-0-1"]
        asked.desk.withdraw(agent_id="sa-0-1", turn_id="t2")
        assert [question.id for question in asked.desk.questions] == ["r1", "r2"]
        asked.desk.withdraw(agent_id="sa-0-1")
        assert [question.id for question in asked.desk.questions] == ["r1"]
        asked.desk.answer("r1", ApprovalAnswer("once"))
    closed = [event for event in asked.events if isinstance(event, QuestionClosed)]
    assert [(event.request_id, event.reason, event.agent_id) for event in closed] == [
        ("r3", "withdrawn", "sa-0-1"),
        ("r2", "withdrawn", "sa-0-1"),
        ("r1", "answered", "main"),
    ]
