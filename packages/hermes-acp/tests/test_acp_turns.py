"""Turns as an editor sees them: words, thoughts, tool cards, permissions, plans, and one answer at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from acp_editor import Editor, Frame, choose
from hermes_core.testing import ScriptedModel, Stall, answer, call, refusal

pytestmark = pytest.mark.anyio

WRITE = '[[call write_file {"path":"a.txt","content":"new\\n"}]]'


def last_result(model: ScriptedModel) -> str:
    """Return the newest tool result that the model was sent."""
    return [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"][-1]


def order(frames: list[Frame]) -> list[str]:
    """Return what each frame is, in a word."""
    return [
        frame["params"]["update"]["sessionUpdate"]
        if frame.get("method") == "session/update"
        else frame.get("method") or "answer"
        for frame in frames
    ]


async def test_a_text_turn_tells_thought_then_words_then_totals_then_the_answer(editor: Editor, project: Path) -> None:
    session = await editor.new(project)
    begun = len(editor.frames)
    result = await editor.prompt(session, "[[think n=3]] [[text n=50 size=8]]")
    kinds = [kind for kind in order(editor.frames[begun:]) if kind != "available_commands_update"]
    assert kinds == sorted(kinds, key=["agent_thought_chunk", "agent_message_chunk", "usage_update", "answer"].index)
    assert len(editor.said()) == 50 * 8
    assert result["stopReason"] == "end_turn"
    assert result["usage"]["totalTokens"] == result["usage"]["inputTokens"] + result["usage"]["outputTokens"] > 0
    assert editor.updates("usage_update")[-1]["size"] == 100_000


async def test_nothing_of_a_turn_comes_after_its_answer(editor: Editor, project: Path) -> None:
    """HA-072."""
    session = await editor.new(project)
    await editor.prompt(session, "[[echo first]]")
    ended = len(editor.frames)
    assert (await editor.call("session/list"))["sessions"]
    assert order(editor.frames[ended:]) == ["answer"]


async def test_a_tool_call_is_announced_runs_and_ends_on_one_card(editor: Editor, project: Path) -> None:
    session = await editor.new(project)
    begun = len(editor.frames)
    await editor.prompt(session, '[[call terminal {"command":"echo one"}]] [[echo done]]')
    card = editor.updates("tool_call")[0]
    assert (card["kind"], card["status"], card["title"]) == ("execute", "pending", "echo one")
    assert card["rawInput"] == {"command": "echo one"}
    states = [update["status"] for update in editor.updates("tool_call_update") if "status" in update]
    assert states == ["in_progress", "completed"]
    assert {update["toolCallId"] for update in editor.updates("tool_call_update")} == {card["toolCallId"]}
    assert "one" in editor.updates("tool_call_update")[-1]["content"][0]["content"]["text"]
    assert order(editor.frames[begun:])[-1] == "answer"


async def test_an_edit_asks_on_its_own_card_and_shows_a_diff(editor: Editor, project: Path) -> None:
    """HA-074."""
    (project / "a.txt").write_text("old\n", encoding="utf-8")
    session = await editor.new(project)
    begun = len(editor.frames)
    await editor.prompt(session, f"{WRITE} [[echo done]]")
    request = (await editor.request())["params"]
    diff = {"type": "diff", "path": str(project / "a.txt"), "oldText": "old\n", "newText": "new\n"}
    card = editor.updates("tool_call")[0]
    assert request["toolCall"]["toolCallId"] == card["toolCallId"]
    assert diff in request["toolCall"]["content"]
    assert request["sessionId"] == session
    assert card["locations"] == [{"path": str(project / "a.txt")}]
    assert editor.updates("tool_call_update")[-1]["content"] == [diff]
    assert (project / "a.txt").read_text(encoding="utf-8") == "new\n"
    kinds = [kind for kind in order(editor.frames[begun:]) if kind != "available_commands_update"]
    assert kinds[:4] == [
        "tool_call",
        "session/request_permission",
        "tool_call_update",
        "tool_call_update",
    ]


async def test_both_ways_to_name_a_file_lead_into_the_folder_of_the_session(editor: Editor, project: Path) -> None:
    """HA-074."""
    session = await editor.new(project)
    absolute = json.dumps({"path": str(project / "x.txt"), "content": "absolute"})
    relative = json.dumps({"path": "y.txt", "content": "relative"})
    await editor.prompt(session, f"[[call write_file {absolute}]] [[call write_file {relative}]] [[echo done]]")
    assert (project / "x.txt").read_text(encoding="utf-8") == "absolute"
    assert (project / "y.txt").read_text(encoding="utf-8") == "relative"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"result": {"outcome": {"outcome": "selected", "optionId": "deny"}}}, "refused"),
        ({"result": {"outcome": {"outcome": "selected", "optionId": "allow"}}}, "not offered"),
        ({"result": {"outcome": {"outcome": "cancelled"}}}, "dismissed"),
        ({"error": {"code": -32601, "message": "Method not found"}}, "Method not found"),
        ({"result": None}, "dismissed"),
        ({"result": {"outcome": "allow_once"}}, "dismissed"),
    ],
    ids=["deny", "unknown option", "cancelled", "no such method", "null", "malformed"],
)
async def test_every_answer_that_does_not_allow_denies_and_says_why(
    editor: Editor, model: ScriptedModel, project: Path, reply: Frame, why: str
) -> None:
    """HA-079."""
    editor.decide = lambda request: reply
    session = await editor.new(project)
    result = await editor.prompt(session, f"{WRITE} [[echo done]]")
    assert result["stopReason"] == "end_turn"
    assert not (project / "a.txt").exists()
    assert editor.updates("tool_call_update")[-1]["status"] == "failed"
    assert why in last_result(model)


async def test_silence_denies_at_the_deadline_and_is_not_waited_for_again(
    editor: Editor, model: ScriptedModel, hermes_home: Path, project: Path
) -> None:
    with (hermes_home / "config.yaml").open("a", encoding="utf-8") as settings:
        settings.write("approvals: {timeout: 1}\n")
    editor.decide = None
    session = await editor.new(project)
    result = await editor.prompt(session, f"{WRITE} {WRITE} [[echo done]]")
    assert result["stopReason"] == "end_turn"
    assert not (project / "a.txt").exists()
    assert order(editor.frames).count("session/request_permission") == 1
    request = await editor.request()
    withdrawn = await editor.until(lambda frame: frame.get("method") == "$/cancel_request")
    assert withdrawn["params"]["requestId"] == request["id"]
    editor.send({"id": request["id"], "result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}})
    await editor.prompt(session, "[[echo still here]]")
    assert not (project / "a.txt").exists()


async def test_what_is_allowed_for_the_session_is_asked_once_there_and_again_elsewhere(
    editor: Editor, project: Path
) -> None:
    editor.decide = choose("allow_session")
    command = '[[call terminal {"command":"rm -rf build"}]] [[echo done]]'
    session = await editor.new(project)
    await editor.prompt(session, command)
    await editor.prompt(session, command)
    assert order(editor.frames).count("session/request_permission") == 1
    await editor.prompt(await editor.new(project), command)
    assert order(editor.frames).count("session/request_permission") == 2


async def test_calls_side_by_side_end_on_their_own_cards(editor: Editor, model: ScriptedModel, project: Path) -> None:
    for name in ("a", "b", "c"):
        (project / f"{name}.txt").write_text(name, encoding="utf-8")
    model.add(answer(*(call("read_file", path=f"{name}.txt") for name in "abc")), answer("done"))
    session = await editor.new(project)
    await editor.prompt(session, "Read them.")
    cards = {update["toolCallId"]: update["rawInput"]["path"][0] for update in editor.updates("tool_call")}
    ends = [update for update in editor.updates("tool_call_update") if update.get("status") == "completed"]
    assert len(cards) == len(ends) == 3
    assert list(cards.values()) == ["a", "b", "c"]
    for end in ends:
        assert end["content"][0]["content"]["text"].rstrip("`\n").endswith(cards[end["toolCallId"]])


async def test_a_call_that_cannot_run_still_ends(editor: Editor, project: Path) -> None:
    session = await editor.new(project)
    await editor.prompt(session, '[[call nonesuch {"x":1}]] [[call read_file {"path":5}]] [[echo done]]')
    begun = [update["toolCallId"] for update in editor.updates("tool_call")]
    ended = [update["toolCallId"] for update in editor.updates("tool_call_update") if update.get("status") == "failed"]
    assert len(begun) == 2
    assert begun == ended


async def test_a_plan_is_told_whole_each_time_it_changes(editor: Editor, project: Path) -> None:
    steps = json.dumps({"todos": [{"id": "1", "content": "Look"}, {"id": "2", "content": "Do"}]})
    change = json.dumps({"todos": [{"id": "1", "status": "completed"}], "merge": True})
    session = await editor.new(project)
    await editor.prompt(session, f"[[call todo {steps}]] [[call todo {change}]] [[echo done]]")
    plans = [[entry["status"] for entry in plan["entries"]] for plan in editor.updates("plan")]
    assert plans == [["pending", "pending"], ["completed", "pending"]]


async def test_long_output_arrives_while_the_tool_runs_and_is_bounded(editor: Editor, project: Path) -> None:
    session = await editor.new(project)
    await editor.prompt(session, '[[call terminal {"command":"seq 1 200000"}]] [[echo done]]')
    last = editor.updates("tool_call_update")[-1]
    assert last["status"] == "completed"
    assert len(last["content"][0]["content"]["text"]) < 5_000


@pytest.mark.parametrize(
    ("mode", "inside", "outside"),
    [("default", 1, 1), ("accept_edits", 0, 1), ("dont_ask", 0, 0), ("plan", 0, 0)],
)
async def test_each_mode_asks_for_the_edits_it_promises_to_ask_for(
    editor: Editor, tmp_path: Path, project: Path, mode: str, inside: int, outside: int
) -> None:
    session = await editor.new(project)
    await editor.call("session/set_mode", sessionId=session, modeId=mode)
    elsewhere = tmp_path / "elsewhere.txt"
    for path, questions in ((project / "in.txt", inside), (elsewhere, outside)):
        begun = len(editor.frames)
        arguments = json.dumps({"path": str(path), "content": "x"})
        await editor.prompt(session, f"[[call write_file {arguments}]] [[echo done]]")
        assert order(editor.frames[begun:]).count("session/request_permission") == questions
        assert path.exists() == (mode != "plan")


@pytest.mark.parametrize("mode", ["accept_edits", "dont_ask"])
async def test_a_sensitive_file_is_asked_for_in_every_mode(editor: Editor, project: Path, mode: str) -> None:
    session = await editor.new(project)
    await editor.call("session/set_mode", sessionId=session, modeId=mode)
    await editor.prompt(session, '[[call write_file {"path":".env","content":"A=1"}]] [[echo done]]')
    assert order(editor.frames).count("session/request_permission") == 1


@pytest.mark.parametrize(
    ("script", "reason"),
    [("[[echo cut]] [[finish length]]", "max_tokens"), ("[[echo no]] [[finish content_filter]]", "refusal")],
)
async def test_a_limit_that_stops_a_turn_is_its_reason(editor: Editor, project: Path, script: str, reason: str) -> None:
    assert (await editor.prompt(await editor.new(project), script))["stopReason"] == reason


async def test_the_budget_of_model_calls_is_its_own_reason(editor: Editor, hermes_home: Path, project: Path) -> None:
    with (hermes_home / "config.yaml").open("a", encoding="utf-8") as settings:
        settings.write("agent: {max_turns: 2}\n")
    session = await editor.new(project)
    result = await editor.prompt(session, '[[call terminal {"command":"true"} times=5]]')
    assert result["stopReason"] == "max_turn_requests"


async def test_a_provider_that_refuses_the_key_is_an_error_that_asks_to_log_in(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    model.add(refusal(401, "bad key"))
    session = await editor.new(project)
    error = await editor.fails("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}])
    assert error["code"] == -32000
    assert error["data"]["details"] == error["message"]
    assert (await editor.prompt(session, "[[echo again]]"))["stopReason"] == "end_turn"


async def test_a_provider_that_fails_is_an_error_with_a_sentence_and_the_session_lives(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    model.add(refusal(400, "wrong request"))
    session = await editor.new(project)
    error = await editor.fails("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}])
    assert error["code"] == -32603
    assert error["data"]["code"] == "provider_error"
    assert (await editor.prompt(session, "[[echo again]]"))["stopReason"] == "end_turn"


@pytest.mark.parametrize("prompt", [[], [{"type": "text", "text": ""}]])
async def test_an_empty_prompt_ends_at_once_without_the_model(
    editor: Editor, model: ScriptedModel, project: Path, prompt: Any
) -> None:
    session = await editor.new(project)
    assert await editor.call("session/prompt", sessionId=session, prompt=prompt) == {"stopReason": "end_turn"}
    assert model.requests == []


async def test_an_image_and_a_file_reach_the_model(editor: Editor, model: ScriptedModel, project: Path) -> None:
    session = await editor.new(project)
    prompt = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///w/a.py", "name": "a.py"},
    ]
    await editor.call("session/prompt", sessionId=session, prompt=prompt)
    [content] = [message["content"] for message in model.requests[0]["messages"] if message["role"] == "user"]
    assert "data:image/png;base64,AAAA" in json.dumps(content)
    assert "/w/a.py" in json.dumps(content)


async def test_the_model_is_not_offered_a_tool_that_asks_what_an_editor_cannot_show(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    await editor.prompt(await editor.new(project), "hello")
    names = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    assert "clarify" not in names
    assert {"terminal", "read_file", "write_file", "patch", "search_files", "todo"} <= names


async def test_commands_are_answered_without_the_model_and_all_that_are_offered_work(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    session = await editor.new(project)
    offered = (await editor.update("available_commands_update"))["availableCommands"]
    assert {command["name"] for command in offered} == {"help", "model"}
    for command in offered:
        begun = len(editor.frames)
        assert (await editor.prompt(session, f"/{command['name']}"))["stopReason"] == "end_turn"
        assert editor.said(after=begun)
    assert model.requests == []


@pytest.mark.parametrize("words", ["/etc/hosts is wrong", "/nonesuch please"])
async def test_what_is_no_command_goes_to_the_model(
    editor: Editor, model: ScriptedModel, project: Path, words: str
) -> None:
    await editor.prompt(await editor.new(project), words)
    assert words in json.dumps(model.requests[0]["messages"])


async def test_a_command_during_a_turn_is_answered_at_once(editor: Editor, model: ScriptedModel, project: Path) -> None:
    model.add(answer("slow", Stall()))
    session = await editor.new(project)
    slow = editor.start_prompt(session, "Take your time.")
    await model.wait_for_stall()
    assert (await editor.prompt(session, "/help"))["stopReason"] == "end_turn"
    model.release()
    assert (await editor.answer(slow))["result"]["stopReason"] == "end_turn"
