"""Questions over the wire: asked, answered once, and never left on a screen."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import msgspec
import pytest
from hermes_core import ids
from hermes_core.questions import Approval, ApprovalAnswer, Clarify, ClarifyItem, Question, Secret, Sudo
from hermes_core.testing import ScriptedModel
from hermes_core.tools.builtin import builtin_tools
from hermes_core.tools.tool import Tool, ToolContext, ToolResult
from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.testing import LocalHost, Refused, local_gateway, local_host

pytestmark = pytest.mark.anyio


class AskArgs(msgspec.Struct):
    """What to ask, and for how many seconds."""

    kind: str
    seconds: float = 60.0


async def ask(args: AskArgs, context: ToolContext) -> ToolResult:
    about: dict[str, Any] = {
        "id": ids.request_id(),
        "turn_id": "",
        "tool_call_id": context.tool_call_id,
        "deadline": time.time() + args.seconds,
    }
    question: Question
    match args.kind:
        case "sudo":
            question = Sudo(**about, command="id")
        case "secret":
            question = Secret(**about, env_var="KEY")
        case "one":
            question = Clarify(**about, items=(ClarifyItem("a", "Which?", ("x", "y")),))
        case _:
            question = Clarify(**about, items=(ClarifyItem("a", "Which?"), ClarifyItem("b", "Why?")))
    answer = await context.ask(question)
    return ToolResult(f"answer: {msgspec.to_builtins(answer)}")


async def risk(args: AskArgs, context: ToolContext) -> ToolResult:
    question = Approval(
        id=ids.request_id(),
        turn_id="",
        tool_call_id=context.tool_call_id,
        tool="risk",
        command=args.kind,
        description="",
    )
    answer = await context.ask(question)
    allowed = isinstance(answer, ApprovalAnswer) and answer.choice != "deny"
    return ToolResult(f"{args.kind} was {'done' if allowed else 'left'}")


ASK = Tool(name="ask", description="Ask.", args=AskArgs, run=ask, toolset="test")
RISK = Tool(name="risk", description="Ask, side by side.", args=AskArgs, run=risk, toolset="test", parallel=True)


@pytest.fixture
async def gateway(model: ScriptedModel) -> AsyncGenerator[Gateway]:
    """Run a gateway whose agent can ask everything there is to ask."""
    async with local_gateway(tools=[*builtin_tools(), ASK, RISK]) as gateway:
        yield gateway


@pytest.fixture
async def session_id(host: LocalHost) -> str:
    return (await host.call("session.create"))["session_id"]


async def asking(host: LocalHost, session_id: str, kind: str, seconds: float = 60.0) -> dict[str, Any]:
    """Let the agent ask; return the payload of the question."""
    call = msgspec.json.encode(AskArgs(kind, seconds)).decode()
    await host.call("prompt.submit", session_id=session_id, text=f"[[call ask {call}]] [[echo Done.]]")
    event = "clarify" if kind in ("one", "two") else kind
    return (await host.event(f"{event}.request"))["payload"]


def removing(*names: str) -> str:
    calls = " ".join(f'[[call terminal {{"command":"rm -rf ./{name}"}}]]' for name in names)
    return f"{calls} [[echo Done.]]"


async def results(host: LocalHost) -> list[str]:
    """Return the results of the turn's tools, once it is over."""
    await host.event("message.complete")
    return [event["payload"]["result"] for event in host.events("tool.complete")]


async def test_an_approval_lies_between_the_start_and_the_end_of_its_tool(host: LocalHost, session_id: str) -> None:
    await host.call("prompt.submit", session_id=session_id, text=removing("x"))
    asked = (await host.event("approval.request"))["payload"]
    assert asked["choices"] == ["once", "session", "always", "deny"]
    assert (await host.call("session.active_list"))["sessions"][0]["status"] == "waiting"
    reply = await host.call("approval.respond", session_id=session_id, request_id=asked["request_id"], choice="once")
    assert reply == {"resolved": 1}
    await host.event("message.complete")
    kinds = [event["type"] for event in host.events()]
    assert kinds.index("tool.start") < kinds.index("approval.request") < kinds.index("tool.complete")


async def test_an_answer_reaches_the_question_that_it_names_and_no_other(host: LocalHost, session_id: str) -> None:
    """HA-053, HA-057."""
    await host.call("prompt.submit", session_id=session_id, text=removing("one", "two"))
    first = (await host.event("approval.request"))["payload"]
    with pytest.raises(Refused, match="4002"):
        await host.call("approval.respond", session_id=session_id, request_id=first["request_id"], choice="maybe")
    late = await host.call("approval.respond", session_id=session_id, request_id="0" * 32, choice="once")
    assert late == {"resolved": 0, "status": "expired"}
    await host.call("approval.respond", session_id=session_id, request_id=first["request_id"], choice="deny")
    second = (await host.event("approval.request"))["payload"]
    again = await host.call("approval.respond", session_id=session_id, request_id=first["request_id"], choice="once")
    assert again == {"resolved": 0, "status": "expired"}
    assert second["request_id"] != first["request_id"]
    await host.call("approval.respond", session_id=session_id, choice="once")
    await host.event("message.complete")
    outcomes = [event["payload"]["outcome"] for event in host.events("tool.complete")]
    assert outcomes == ["denied", "ok"]


async def test_of_two_approvals_that_wait_at_once_only_the_named_one_is_answered(
    host: LocalHost, session_id: str
) -> None:
    """HA-053."""
    text = '[[call risk {"kind":"one"}]] [[call risk {"kind":"two"}]] [[echo Done.]]'
    await host.call("prompt.submit", session_id=session_id, text=text)
    by_command = {}
    for _ in range(2):
        asked = (await host.event("approval.request"))["payload"]
        by_command[asked["command"]] = asked["request_id"]
    await host.call("approval.respond", session_id=session_id, request_id=by_command["two"], choice="once")
    assert (await host.event("tool.complete"))["payload"]["result"] == "two was done"
    waiting = (await host.call("session.activate", session_id=session_id))["open_questions"]
    assert [question["payload"]["request_id"] for question in waiting] == [by_command["one"]]
    await host.call("approval.respond", session_id=session_id, request_id=by_command["one"], choice="deny")
    assert (await host.event("tool.complete"))["payload"]["result"] == "one was left"


async def test_all_approvals_that_wait_can_be_answered_at_once(host: LocalHost, session_id: str) -> None:
    text = '[[call risk {"kind":"one"}]] [[call risk {"kind":"two"}]] [[echo Done.]]'
    await host.call("prompt.submit", session_id=session_id, text=text)
    for _ in range(2):
        await host.event("approval.request")
    reply = await host.call("approval.respond", session_id=session_id, choice="once", all=True)
    assert reply == {"resolved": 2}
    assert sorted(await results(host)) == ["one was done", "two was done"]


@pytest.mark.parametrize("choice", ["maybe", "", "ONCE", "yes"])
async def test_a_choice_that_was_not_offered_decides_nothing(choice: str, host: LocalHost, session_id: str) -> None:
    """HA-064."""
    await host.call("prompt.submit", session_id=session_id, text=removing("x"))
    asked = (await host.event("approval.request"))["payload"]
    for params in ({}, {"request_id": asked["request_id"]}, {"all": True}):
        with pytest.raises(Refused, match="4002"):
            await host.call("approval.respond", session_id=session_id, choice=choice, **params)
    assert host.events("question.answered") == []
    await host.call("approval.respond", session_id=session_id)
    await host.event("message.complete")
    assert host.events("question.answered")[0]["payload"]["choice"] == "deny"


async def test_an_answer_with_nothing_open_resolves_nothing(host: LocalHost, session_id: str) -> None:
    assert await host.call("approval.respond", session_id=session_id, choice="once") == {"resolved": 0}
    with pytest.raises(Refused, match="4001"):
        await host.call("approval.respond", session_id="none", choice="once")


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("/approve", "ok"), ("/approve session", "ok"), ("/deny", "denied"), (" /DENY all ", "denied")],
)
async def test_a_decision_sent_as_a_prompt_is_carried_out_at_once(
    said: str, outcome: str, host: LocalHost, session_id: str
) -> None:
    """HA-055, HA-057: no message of the conversation comes of it."""
    await host.call("prompt.submit", session_id=session_id, text=removing("x"))
    await host.event("approval.request")
    reply = await host.call("prompt.submit", session_id=session_id, text=said)
    assert reply["status"] == "command"
    await host.event("message.complete")
    assert host.events("tool.complete")[0]["payload"]["outcome"] == outcome
    rows = (await host.call("session.history", session_id=session_id))["messages"]
    assert [row["role"] for row in rows].count("user") == 1


async def test_a_stop_sent_as_a_prompt_ends_the_turn_that_waits(host: LocalHost, session_id: str) -> None:
    """HA-055."""
    await host.call("prompt.submit", session_id=session_id, text=removing("x"))
    asked = (await host.event("approval.request"))["payload"]
    reply = await host.call("prompt.submit", session_id=session_id, text="/stop")
    assert (reply["status"], reply["output"]) == ("command", "The turn was stopped.")
    end = await host.event("message.complete")
    assert end["payload"]["status"] == "interrupted"
    gone = (await host.event("approval.expire"))["payload"]
    assert (gone["request_id"], gone["reason"]) == (asked["request_id"], "withdrawn")


async def test_a_clarification_is_answered_and_the_agent_reads_it(host: LocalHost, session_id: str) -> None:
    asked = await asking(host, session_id, "one")
    assert (asked["question"], asked["choices"]) == ("Which?", ["x", "y"])
    assert await host.call("clarify.respond", request_id=asked["request_id"], answer="y") == {"status": "ok"}
    assert await results(host) == ["answer: {'kind': 'clarify', 'answers': {'a': 'y'}}"]


async def test_several_questions_are_answered_one_by_one(host: LocalHost, session_id: str) -> None:
    asked = await asking(host, session_id, "two")
    assert [question["qid"] for question in asked["questions"]] == ["a", "b"]
    request_id = asked["request_id"]

    async def answer(question_id: str, text: str) -> Any:
        return await host.call("clarify.respond", request_id=request_id, question_id=question_id, answer=text)

    with pytest.raises(Refused, match="4002"):
        await answer("c", "x")
    assert await answer("b", "because") == {"status": "ok", "remaining": ["a"]}
    assert await answer("b", "really") == {"status": "ok", "remaining": ["a"]}
    assert await answer("a", "that") == {"status": "ok", "remaining": []}
    assert await answer("a", "late") == {"status": "expired"}
    assert await results(host) == ["answer: {'kind': 'clarify', 'answers': {'b': 'really', 'a': 'that'}}"]


async def test_an_answer_to_no_question_in_particular_cancels_several(host: LocalHost, session_id: str) -> None:
    asked = await asking(host, session_id, "two")
    assert await host.call("clarify.respond", request_id=asked["request_id"], answer="x") == {"status": "ok"}
    assert await results(host) == ["answer: {'kind': 'clarify', 'answers': {}}"]


@pytest.mark.parametrize(("kind", "field"), [("sudo", "password"), ("secret", "value")])
async def test_a_secret_reaches_the_tool_and_no_event(kind: str, field: str, host: LocalHost, session_id: str) -> None:
    asked = await asking(host, session_id, kind)
    reply = await host.call(f"{kind}.respond", request_id=asked["request_id"], **{field: "hunter2"})
    assert reply == {"status": "ok"}
    answered = (await host.event("question.answered"))["payload"]
    assert answered == {"request_id": asked["request_id"], "kind": kind}
    assert "hunter2" in (await results(host))[0]
    told = [event for event in host.events() if "hunter2" in str(event)]
    assert {event["type"] for event in told} == {"tool.complete"}, "only what the tool itself made of it"


@pytest.mark.parametrize("kind", ["sudo", "secret", "one"])
async def test_a_question_that_expires_is_taken_away_and_a_late_answer_is_told_so(
    kind: str, host: LocalHost, session_id: str
) -> None:
    """HA-061."""
    asked = await asking(host, session_id, kind, 0.0)
    name = "clarify" if kind == "one" else kind
    gone = (await host.event(f"{name}.expire"))["payload"]
    assert gone == {"request_id": asked["request_id"], "reason": "expired"}
    assert await host.call(f"{name}.respond", request_id=asked["request_id"]) == {"status": "expired"}
    assert await results(host) == ["answer: None"]
    assert host.events("question.answered") == []


@pytest.mark.parametrize("name", ["clarify", "sudo", "secret"])
async def test_an_answer_needs_to_name_its_question(name: str, host: LocalHost) -> None:
    with pytest.raises(Refused, match="4009"):
        await host.call(f"{name}.respond")
    assert await host.call(f"{name}.respond", request_id="0" * 32) == {"status": "expired"}


async def test_an_answer_of_the_wrong_kind_decides_nothing(host: LocalHost, session_id: str) -> None:
    """HA-053."""
    asked = await asking(host, session_id, "sudo")
    for name in ("secret.respond", "clarify.respond"):
        with pytest.raises(Refused, match="4002"):
            await host.call(name, request_id=asked["request_id"])
    with pytest.raises(Refused, match="4002"):
        await host.call("approval.respond", session_id=session_id, request_id=asked["request_id"], choice="once")
    assert await host.call("sudo.respond", request_id=asked["request_id"], password="") == {"status": "ok"}
    await host.event("message.complete")


async def test_the_first_of_two_clients_answers_and_the_other_is_told(
    host: LocalHost, session_id: str, gateway: Gateway
) -> None:
    async with local_host(gateway) as other:
        await other.call("session.activate", session_id=session_id)
        asked = await asking(host, session_id, "one")
        theirs = (await other.event("clarify.request"))["payload"]
        assert theirs == asked
        assert await other.call("clarify.respond", request_id=asked["request_id"], answer="x") == {"status": "ok"}
        assert (await host.event("question.answered"))["payload"]["request_id"] == asked["request_id"]
        late = await host.call("clarify.respond", request_id=asked["request_id"], answer="y")
        assert late == {"status": "expired"}
    assert "'a': 'x'" in (await results(host))[0]


async def test_a_client_that_joins_sees_the_question_that_waits(
    host: LocalHost, session_id: str, gateway: Gateway
) -> None:
    asked = await asking(host, session_id, "one")
    async with local_host(gateway) as other:
        joined = await other.call("session.activate", session_id=session_id)
        assert joined["open_questions"] == [{"type": "clarify.request", "payload": asked}]
        assert joined["status"] == "waiting"
        await other.call("clarify.respond", request_id=asked["request_id"], answer="x")
    await host.event("message.complete")


async def test_an_interrupt_is_served_while_the_turn_waits(host: LocalHost, session_id: str) -> None:
    """HA-059."""
    asked = await asking(host, session_id, "sudo")
    assert await host.call("session.interrupt", session_id=session_id) == {"status": "interrupted", "interrupted": True}
    end = await host.event("message.complete")
    assert end["payload"]["status"] == "interrupted"
    assert (await host.event("sudo.expire"))["payload"]["reason"] == "withdrawn"
    assert await host.call("sudo.respond", request_id=asked["request_id"], password="x") == {"status": "expired"}
    assert len(host.events("message.complete")) == 1


WAITS = {
    "the model": ("[[stall]] [[echo late]]", "message.start"),
    "its answer": ("[[echo early]] [[stall]]", "message.delta"),
    "a tool": ('[[call terminal {"command":"sleep 300"}]]', "tool.start"),
    "an approval": (removing("x"), "approval.request"),
    "a clarification": ('[[call ask {"kind":"one"}]]', "clarify.request"),
}


@pytest.mark.parametrize("what", WAITS)
async def test_an_interrupted_turn_ends_once_and_leaves_the_session_idle(
    what: str, host: LocalHost, session_id: str
) -> None:
    """HA-059, HA-073."""
    text, begun = WAITS[what]
    await host.call("prompt.submit", session_id=session_id, text=text)
    await host.event(begun)
    reply = await host.call("session.interrupt", session_id=session_id)
    assert reply["interrupted"] is True
    assert (await host.event("message.complete"))["payload"]["status"] == "interrupted"
    assert (await host.call("session.activate", session_id=session_id))["status"] == "idle"
    await host.call("prompt.submit", session_id=session_id, text="hello")
    assert (await host.event("message.complete"))["payload"]["status"] == "complete"
    assert len(host.events("message.complete")) == 2
    started = [event["payload"]["tool_id"] for event in host.events("tool.start")]
    assert [event["payload"]["tool_id"] for event in host.events("tool.complete")] == started


async def test_nothing_of_a_finished_question_keeps_a_session_waiting(host: LocalHost, session_id: str) -> None:
    asked = await asking(host, session_id, "one")
    await host.call("clarify.respond", request_id=asked["request_id"], answer="x")
    await host.event("message.complete")
    with anyio.fail_after(10):
        while (await host.call("session.activate", session_id=session_id))["status"] != "idle":
            continue
    assert (await host.call("session.activate", session_id=session_id))["open_questions"] == []
