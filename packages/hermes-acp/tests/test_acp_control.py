"""Stopping and queueing: a cancel reaches its turn and no other, and every prompt is answered exactly once."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import anyio
import pytest
from acp_editor import Editor, Frame, connected
from hermes_core.stdio import LineTransport
from hermes_core.testing import ScriptedModel, Stall, answer, call

pytestmark = pytest.mark.anyio

SLEEP = '[[call terminal {"command":"sleep 600"}]]'
CANCELLED = {"outcome": {"outcome": "cancelled"}}


def answers(editor: Editor, request: int) -> list[Frame]:
    """Return the answers to a request so far."""
    return [frame for frame in editor.frames if frame.get("id") == request and "method" not in frame]


async def test_a_cancel_while_idle_leaves_the_next_prompt_alone(editor: Editor, project: Path) -> None:
    """HA-067."""
    session = await editor.new(project)
    for _ in range(3):
        editor.notify("session/cancel", sessionId=session)
    assert (await editor.prompt(session, "[[echo alive]]"))["stopReason"] == "end_turn"
    editor.notify("session/cancel", sessionId=session, _meta={})
    editor.notify("session/cancel", sessionId="no such session")
    editor.notify("session/cancel")
    assert (await editor.prompt(session, "[[echo alive]]"))["stopReason"] == "end_turn"
    assert editor.said() == "alivealive"


async def test_a_cancel_right_behind_a_prompt_still_stops_it(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    """HA-069."""
    model.add(answer(Stall()))
    session = await editor.new(project)
    prompt = editor.start_prompt(session, "Wait.")
    editor.notify("session/cancel", sessionId=session)
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"


async def test_a_cancel_while_the_provider_is_silent_ends_the_turn(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    """HA-069."""
    model.add(answer(Stall()))
    session = await editor.new(project)
    prompt = editor.start_prompt(session, "Wait.")
    await model.wait_for_stall()
    editor.notify("session/cancel", sessionId=session)
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
    await model.wait_for_hang_ups(1)


async def test_a_cancel_in_mid_stream_keeps_what_was_said_and_says_no_more(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    """HA-069."""
    model.add(answer("half of it", Stall()))
    session = await editor.new(project)
    prompt = editor.start_prompt(session, "Speak.")
    await editor.update("agent_message_chunk")
    editor.notify("session/cancel", sessionId=session)
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
    ended = len(editor.frames)
    await editor.prompt(session, "[[echo next]]")
    assert editor.said(after=ended) == "next"


async def test_a_cancel_while_a_tool_runs_ends_its_card_before_the_answer(editor: Editor, project: Path) -> None:
    """HA-069."""
    session = await editor.new(project)
    prompt = editor.start_prompt(session, f"{SLEEP} [[echo never]]")
    await editor.update("tool_call_update", status="in_progress")
    editor.notify("session/cancel", sessionId=session)
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
    assert editor.updates("tool_call_update")[-1]["status"] == "failed"
    assert editor.said() == ""


@pytest.mark.parametrize("answered", [True, False], ids=["the client answers cancelled", "the client says nothing"])
async def test_a_cancel_while_permission_is_asked_is_a_cancel_and_no_permission(
    editor: Editor, model: ScriptedModel, project: Path, answered: bool
) -> None:
    """HA-069, HA-081: also a model that would ask again and again makes no further call."""
    editor.decide = None
    session = await editor.new(project)
    prompt = editor.start_prompt(session, '[[call write_file {"path":"a.txt","content":"x"} times=20]]')
    request = await editor.request()
    editor.notify("session/cancel", sessionId=session)
    if answered:
        editor.send({"id": request["id"], "result": CANCELLED})
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
    assert editor.updates("tool_call_update")[-1]["status"] == "failed"
    assert len(model.requests) == 1
    assert (await editor.prompt(session, "[[echo alive]]"))["stopReason"] == "end_turn"
    assert not (project / "a.txt").exists()


async def test_cancelling_the_request_itself_stops_its_turn_only(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    model.add(answer(Stall("first")), answer("second"))
    session = await editor.new(project)
    first = editor.start_prompt(session, "one")
    await model.wait_for_stall("first")
    second = editor.start_prompt(session, "two")
    editor.notify("$/cancel_request", requestId=first)
    editor.notify("$/cancel_request", requestId="no such request")
    editor.notify("$/cancelRequest", id=second)
    assert (await editor.answer(first))["result"]["stopReason"] == "cancelled"
    assert (await editor.answer(second))["result"]["stopReason"] == "end_turn"
    assert editor.said() == "second"


async def test_cancelling_a_queued_request_takes_only_that_out_of_the_queue(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    model.add(answer("first", Stall()), answer("third"))
    session = await editor.new(project)
    first = editor.start_prompt(session, "one")
    await model.wait_for_stall()
    second, third = editor.start_prompt(session, "two"), editor.start_prompt(session, "three")
    editor.notify("$/cancel_request", requestId=second)
    assert (await editor.answer(second))["result"]["stopReason"] == "cancelled"
    model.release()
    assert (await editor.answer(first))["result"]["stopReason"] == "end_turn"
    assert (await editor.answer(third))["result"]["stopReason"] == "end_turn"
    assert editor.said() == "firstthird"


async def test_a_second_prompt_waits_for_the_first_and_both_are_answered_in_order(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    """HA-071."""
    model.add(answer("first", Stall()), answer("second"))
    session = await editor.new(project)
    first = editor.start_prompt(session, "one")
    await model.wait_for_stall()
    second = editor.start_prompt(session, "two")
    assert await editor.call("session/list") is not None
    assert not answers(editor, first)
    model.release()
    assert (await editor.answer(second))["result"]["stopReason"] == "end_turn"
    assert len(answers(editor, first)) == len(answers(editor, second)) == 1
    assert editor.frames.index(answers(editor, first)[0]) < editor.frames.index(answers(editor, second)[0])
    assert editor.said() == "firstsecond"


async def test_a_cancel_answers_the_queue_too_and_a_prompt_sent_at_once_after_it_runs(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    """HA-071, HA-080."""
    model.add(answer("old", Stall()), answer("new"))
    session = await editor.new(project)
    running = editor.start_prompt(session, "one")
    await model.wait_for_stall()
    queued = editor.start_prompt(session, "two")
    editor.notify("session/cancel", sessionId=session)
    fresh = editor.start_prompt(session, "three")
    for request, reason in ((running, "cancelled"), (queued, "cancelled"), (fresh, "end_turn")):
        assert (await editor.answer(request))["result"]["stopReason"] == reason
    assert editor.said() == "oldnew"


async def test_wherever_a_turn_is_cancelled_the_next_one_is_answered(editor: Editor, project: Path) -> None:
    """HA-073, HA-080: every request has exactly one answer, and the new turn's words belong to it."""
    chance = random.Random(7)
    session = await editor.new(project)
    await editor.call("session/set_mode", sessionId=session, modeId="dont_ask")
    script = '[[text n=40 size=20]] [[call write_file {"path":"a.txt","content":"x"} times=3]] [[text n=40 size=20]]'
    for number in range(20):
        begun = len(editor.frames)
        stopped = editor.start_prompt(session, script)
        wanted = chance.randrange(6)
        await editor.until(lambda frame: True, after=begun + wanted)
        editor.notify("session/cancel", sessionId=session)
        fresh = editor.start_prompt(session, f"[[echo fresh-{number}]]")
        assert (await editor.answer(stopped))["result"]["stopReason"] in ("cancelled", "end_turn")
        at = editor.frames.index(answers(editor, stopped)[0])
        assert (await editor.answer(fresh))["result"]["stopReason"] == "end_turn"
        assert editor.said(after=at) == f"fresh-{number}"
        assert len(answers(editor, stopped)) == len(answers(editor, fresh)) == 1


async def test_a_cancel_stops_one_session_of_several(editor: Editor, model: ScriptedModel, project: Path) -> None:
    """HA-076."""
    first, second = await editor.new(project), await editor.new(project)
    stopped = editor.start_prompt(first, "[[echo one]] [[stall A]] [[echo never]]")
    running = editor.start_prompt(second, "[[echo two]] [[stall B]] [[echo whole]]")
    await model.wait_for_stall("A")
    await model.wait_for_stall("B")
    editor.notify("session/cancel", sessionId=first)
    assert (await editor.answer(stopped))["result"]["stopReason"] == "cancelled"
    model.release("B")
    assert (await editor.answer(running))["result"]["stopReason"] == "end_turn"
    assert editor.said(session=second) == "twowhole"
    assert editor.said(session=first) == "one"


async def test_a_client_that_does_not_read_holds_up_nothing_but_itself(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    """HA-072: the next turn begins all the same, and what is read in the end is whole."""
    session = await editor.new(project)
    editor.reading = anyio.Event()
    first = editor.start_prompt(session, "[[text n=6000 size=1000]]")
    second = editor.start_prompt(session, "[[echo next]]")
    await model.wait_for_requests(2)
    editor.reading.set()
    assert (await editor.answer(first))["result"]["stopReason"] == "end_turn"
    at = editor.frames.index(answers(editor, first)[0])
    assert len(editor.said()) - len(editor.said(after=at)) == 6_000_000
    assert (await editor.answer(second))["result"]["stopReason"] == "end_turn"


async def test_a_client_that_reads_nothing_and_ends_its_input_is_left(model: ScriptedModel, project: Path) -> None:
    async with connected() as editor:
        await editor.initialize()
        session = await editor.new(project)
        editor.reading, editor.may_be_cut = anyio.Event(), True
        editor.start_prompt(session, "[[text n=6000 size=1000]]")
        editor.start_prompt(session, "[[stall]]")
        await model.wait_for_stall()
    assert editor.ended


async def test_the_mode_can_be_changed_while_a_question_is_open(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    editor.decide = None
    write = call("write_file", path="a.txt", content="x")
    model.add(answer(write), answer(write), answer("done"))
    session = await editor.new(project)
    prompt = editor.start_prompt(session, "Write.")
    request = await editor.request()
    await editor.call("session/set_mode", sessionId=session, modeId="dont_ask")
    editor.send({"id": request["id"], "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}})
    assert (await editor.answer(prompt))["result"]["stopReason"] == "end_turn"
    assert [frame["id"] for frame in editor.frames if frame.get("method") == "session/request_permission"] == [
        request["id"]
    ]


async def test_a_client_that_was_left_behind_is_told_what_it_missed(
    model: ScriptedModel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-072: events were lost while it did not read; the whole text, every card and the answers still come, once."""
    monkeypatch.setattr("hermes_core.session.subscription.MAX_EVENTS", 4)
    monkeypatch.setattr("hermes_core.session.log.KEPT_EVENTS", 2)
    monkeypatch.setattr("hermes_acp.serve.LineTransport", partial(LineTransport, max_waiting=10_000))
    script = (
        "[[think n=300 size=1000]] [[text n=300 size=1000]]"
        '[[call terminal {"command":"true"}]] [[echo .]] [[call terminal {"command":"true"} times=19]]'
        "[[text n=300 size=1000]] [[stall]] [[echo the end]]"
    )
    async with connected() as editor:
        await editor.initialize()
        session = await editor.new(project)
        editor.reading = anyio.Event()
        first = editor.start_prompt(session, script)
        second = editor.start_prompt(session, "[[echo next]]")
        await model.wait_for_stall()
        editor.reading.set()
        model.release()
        assert (await editor.answer(first))["result"]["stopReason"] == "end_turn"
        assert (await editor.answer(second))["result"]["stopReason"] == "end_turn"
        assert len(editor.said()) == 600_000 + 19 + len("the endnext")
        assert editor.said().endswith("the endnext")
        thoughts = "".join(update["content"]["text"] for update in editor.updates("agent_thought_chunk"))
        assert len(thoughts) == 300_000
        cards = {update["toolCallId"] for update in editor.updates("tool_call")}
        ended = editor.updates("tool_call_update")
        assert len(cards) == 20
        assert cards == {update["toolCallId"] for update in ended if update.get("status") == "completed"}
