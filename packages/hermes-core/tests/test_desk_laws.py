"""The law of the desk: whatever comes at once, each question is closed exactly once, and told the same everywhere."""

from __future__ import annotations

import time
from typing import Literal

import anyio
import msgspec
from hermes_core.errors import QuestionNotOpen
from hermes_core.events import ApprovalRequest, ClarifyRequest, Event, QuestionClosed
from hermes_core.questions import Answer, Approval, ApprovalAnswer, Choice, Clarify, ClarifyAnswer, ClarifyItem
from hermes_core.session.desk import QuestionDesk
from hypothesis import given, settings
from hypothesis import strategies as st

AGENTS = ("main", "sa-0-11111111")


class Step(msgspec.Struct, frozen=True):
    """Something that happens to the desk. `at` numbers the questions, so that steps meet the same one."""

    kind: Literal["ask", "answer", "oldest", "all", "cancel", "withdraw", "yield"]
    at: int = 0
    agent: str = "main"
    choice: Choice = "once"
    late: bool = False
    """For `ask`: the deadline has passed, so the time runs out at once."""


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(["ask", "ask", "ask", "answer", "answer", "oldest", "all", "cancel", "withdraw", "yield"]),
        st.integers(0, 5),
        st.sampled_from(AGENTS),
        st.sampled_from(["once", "session", "deny"]),
        st.booleans(),
    ),
    max_size=30,
)


class World:
    """A desk, those who ask it, and what each of them and the clients came to know."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.desk = QuestionDesk(self.events.append, answerable=True)
        self.given: dict[str, Answer] = {}
        self.heard: dict[str, Answer | None] = {}
        self.scopes: dict[str, anyio.CancelScope] = {}

    async def ask(self, name: str, step: Step) -> None:
        deadline = time.time() - 1 if step.late else 0.0
        question: Approval | Clarify
        if step.at % 2:
            question = Clarify(id=name, turn_id="t", deadline=deadline, items=(ClarifyItem("q", "Which?"),))
        else:
            question = Approval(id=name, turn_id="t", deadline=deadline, tool="x", command="x", description="x")
        with anyio.CancelScope() as scope:
            self.scopes[name] = scope
            self.heard[name] = await self.desk.asker(step.agent)(question)
        self.heard.setdefault(name, None)

    def answer(self, name: str, choice: Choice) -> None:
        given = ClarifyAnswer({"q": choice}) if int(name) % 2 else ApprovalAnswer(choice)
        try:
            self.desk.answer(name, given)
        except QuestionNotOpen:
            return
        assert name not in self.given, "a second answer was taken"
        self.given[name] = given

    def answer_approvals(self, choice: Choice, *, every: bool) -> None:
        open_ones = [question.id for question in self.desk.questions if isinstance(question, Approval)]
        chosen = open_ones if every else open_ones[:1]
        assert self.desk.answer_approvals(choice, every=every) == len(chosen)
        self.given.update({name: ApprovalAnswer(choice) for name in chosen})

    def withdraw(self, agent: str) -> None:
        others = [question for question in self.desk.questions if question.agent_id != agent]
        self.desk.withdraw(agent_id=agent)
        assert list(self.desk.questions) == others, "an agent's interrupt withdraws its own questions only"


async def play(story: list[Step]) -> World:
    world = World()
    async with anyio.create_task_group() as asking:
        for step in story:
            name = str(step.at)
            match step.kind:
                case "ask":
                    if name not in world.scopes:
                        world.scopes[name] = anyio.CancelScope()
                        asking.start_soon(world.ask, name, step)
                case "answer":
                    world.answer(name, step.choice)
                case "oldest" | "all":
                    world.answer_approvals(step.choice, every=step.kind == "all")
                case "cancel":
                    if name in world.scopes:
                        world.scopes[name].cancel()
                case "withdraw":
                    world.withdraw(step.agent)
                case "yield":
                    await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        world.desk.withdraw()
    return world


@settings(max_examples=200, deadline=None)
@given(steps)
def test_each_question_is_closed_once_and_asker_answerer_and_clients_are_told_the_same(story: list[Step]) -> None:
    """HA-053, HA-060, HA-061: answers, expiry, cancelled turns and withdrawals in any order and all at once."""
    world = anyio.run(play, story)
    requests = [event.question for event in world.events if isinstance(event, ApprovalRequest | ClarifyRequest)]
    closings = {event.request_id: event for event in world.events if isinstance(event, QuestionClosed)}
    assert len(closings) == sum(isinstance(event, QuestionClosed) for event in world.events), "closed twice"
    assert {question.id for question in requests} == set(closings)
    for question in requests:
        closed = closings[question.id]
        assert (closed.reason == "answered") == (question.id in world.given)
        assert closed.agent_id == question.agent_id
        # An asker that was cancelled does not hear any more; one that hears, hears what was given.
        assert world.heard[question.id] in (world.given.get(question.id), None)
        if closed.reason != "answered":
            assert world.heard[question.id] is None
    assert world.desk.questions == ()
