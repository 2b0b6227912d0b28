"""Sessions and their settings: made, loaded, listed, closed; modes and models in step in every place they are told."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from acp_editor import Editor, Frame, choose, connected, text, write_config
from hermes_acp import hosting
from hermes_core.testing import ScriptedModel, Stall, answer

pytestmark = pytest.mark.anyio

CONVERSATION = (
    "[[think n=2]] [[echo Let me see.]]"
    '[[call write_file {"path":"a.txt","content":"new\\n"}]]'
    '[[call terminal {"command":"echo one"}]]'
    '[[call todo {"todos":[{"id":"1","content":"Look"}]}]]'
    "[[echo All done.]]"
)


def told(updates: list[Frame]) -> list[tuple[str, Any]]:
    """Return the conversation that updates tell: words joined, cards with their ends."""
    story: list[tuple[str, Any]] = []
    for update in updates:
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk"):
            words = update["content"]["text"]
            if story and story[-1][0] == kind:
                words = story.pop()[1] + words
            story.append((kind, words))
        elif kind == "tool_call":
            story.append((kind, (update["toolCallId"], update["title"], update["kind"], update.get("locations"))))
        elif kind == "tool_call_update" and update.get("status") in ("completed", "failed"):
            story.append((kind, (update["toolCallId"], update["status"], update.get("content"))))
        elif kind == "plan":
            story.append((kind, update["entries"]))
    return story


async def test_a_new_session_is_answered_before_anything_is_told_of_it(editor: Editor, project: Path) -> None:
    begun = len(editor.frames)
    result = await editor.call("session/new", cwd=str(project), mcpServers=[])
    assert editor.frames[begun]["result"] == result
    await editor.update("available_commands_update", after=begun)
    assert result["modes"]["currentModeId"] == "default"
    assert result["models"]["currentModelId"] == "custom:m"
    options = {option["id"]: option for option in result["configOptions"]}
    assert options["mode"]["category"] == "mode"
    assert options["model"]["category"] == "model"
    assert options["model"]["currentValue"] == "custom:m"
    assert {one["value"] for one in options["mode"]["options"]} == {
        mode["id"] for mode in result["modes"]["availableModes"]
    }


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({}, "cwd"),
        ({"cwd": "."}, "cwd"),
        ({"cwd": "/nonesuch/folder"}, "cwd"),
        ({"cwd": 5}, "cwd"),
        ({"cwd": "/", "mcpServers": [{"name": "x"}]}, "mcpServers[0].command"),
    ],
)
async def test_a_session_that_cannot_be_made_says_which_field_is_wrong(
    editor: Editor, params: dict[str, Any], path: str
) -> None:
    """HA-082."""
    error = await editor.fails("session/new", **params)
    assert error["code"] == -32602
    assert path in error["message"]


async def test_sessions_made_at_once_are_different_and_all_work(editor: Editor, project: Path) -> None:
    requests = [editor.start("session/new", cwd=str(project), mcpServers=[]) for _ in range(3)]
    sessions = [(await editor.answer(request))["result"]["sessionId"] for request in requests]
    assert len(set(sessions)) == 3
    prompts = [editor.start_prompt(session, f"[[echo {number}]]") for number, session in enumerate(sessions)]
    for number, (session, prompt) in enumerate(zip(sessions, prompts, strict=True)):
        assert (await editor.answer(prompt))["result"]["stopReason"] == "end_turn"
        assert editor.said(session=session) == str(number)


async def test_a_connection_opens_so_many_sessions_and_closing_one_makes_room(
    editor: Editor, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_acp.methods.MAX_SESSIONS", 2)
    first = await editor.new(project)
    await editor.new(project)
    error = await editor.fails("session/new", cwd=str(project), mcpServers=[])
    assert "close one" in error["message"]
    await editor.call("session/close", sessionId=first)
    many = [editor.start("session/new", cwd=str(project), mcpServers=[]) for _ in range(3)]
    answers = [await editor.answer(one) for one in many]
    assert sum("result" in answer for answer in answers) == 1
    for method in ("session/load", "session/resume"):
        error = await editor.fails(method, sessionId=first, cwd=str(project), mcpServers=[])
        assert "close one" in error["message"]


async def test_a_loaded_session_tells_the_same_story_before_the_reply(model: ScriptedModel, project: Path) -> None:
    """HA-070: in a new process, and without asking the model anything."""
    (project / "a.txt").write_text("old\n", encoding="utf-8")
    async with connected() as editor:
        await editor.initialize()
        session = await editor.new(project)
        await editor.prompt(session, CONVERSATION)
        live = told(editor.updates())
    asked = len(model.requests)
    async with connected() as editor:
        await editor.initialize()
        begun = len(editor.frames)
        await editor.call("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        replies = [at for at, frame in enumerate(editor.frames) if at >= begun and "result" in frame]
        assert len(replies) == 1
        loaded = told([frame["params"]["update"] for frame in editor.frames[begun : replies[0]]])
        await editor.update("available_commands_update", after=replies[0])
        assert len(model.requests) == asked
        assert loaded[0] == ("user_message_chunk", CONVERSATION)
        assert [entry for entry in loaded if entry[0].endswith("_chunk")][1:] == [
            entry for entry in live if entry[0].endswith("_chunk")
        ]
        assert sorted(map(str, (entry for entry in loaded if entry[0] == "tool_call"))) == sorted(
            map(str, (entry for entry in live if entry[0] == "tool_call"))
        )
        ends = {entry[1][0]: entry[1][1:] for entry in loaded if entry[0] == "tool_call_update"}
        assert {status for status, _ in ends.values()} == {"completed"}
        assert any(item["type"] == "diff" for _, content in ends.values() for item in content)
        assert [entry for entry in loaded if entry[0] == "plan"] == [entry for entry in live if entry[0] == "plan"]
        await editor.prompt(session, "[[echo Going on.]]")
        assert "All done." in json.dumps(model.requests[-1]["messages"])


async def test_a_resumed_session_knows_its_history_and_tells_none_of_it(model: ScriptedModel, project: Path) -> None:
    async with connected() as editor:
        await editor.initialize()
        session = await editor.new(project)
        await editor.prompt(session, "[[echo earlier words]]")
    async with connected() as editor:
        await editor.initialize()
        await editor.call("session/resume", sessionId=session, cwd=str(project))
        await editor.update("available_commands_update")
        assert told(editor.updates()) == []
        await editor.prompt(session, "hello")
        assert "earlier words" in json.dumps(model.requests[-1]["messages"])


async def test_loading_a_session_in_mid_turn_keeps_the_turn_and_its_cancel(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    model.add(answer("half ", Stall()))
    session = await editor.new(project)
    prompt = editor.start_prompt(session, "Speak.")
    await editor.update("agent_message_chunk")
    begun = len(editor.frames)
    await editor.call("session/load", sessionId=session, cwd=str(project), mcpServers=[])
    assert told(editor.updates(after=begun)) == [("user_message_chunk", "Speak."), ("agent_message_chunk", "half ")]
    editor.notify("session/cancel", sessionId=session)
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
    assert (await editor.prompt(session, "[[echo next]]"))["stopReason"] == "end_turn"


async def test_two_loads_at_once_attach_one_session_and_nothing_is_told_twice(
    model: ScriptedModel, project: Path
) -> None:
    async with connected() as editor:
        await editor.initialize()
        session = await editor.new(project)
        await editor.prompt(session, "[[echo words]]")
    async with connected() as editor:
        await editor.initialize()
        loads = [editor.start("session/load", sessionId=session, cwd=str(project), mcpServers=[]) for _ in range(2)]
        for load in loads:
            assert "result" in await editor.answer(load)
        begun = len(editor.frames)
        await editor.prompt(session, "[[echo once]]")
        assert editor.said(after=begun) == "once"


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_that_is_not_there_cannot_be_loaded(editor: Editor, project: Path, method: str) -> None:
    error = await editor.fails(method, sessionId="20200101_000000_abcdef", cwd=str(project), mcpServers=[])
    assert error["code"] == -32002
    assert editor.updates() == []


@pytest.mark.parametrize("method", ["session/prompt", "session/set_mode", "session/set_model", "session/close"])
async def test_what_needs_a_session_names_the_one_that_is_missing(editor: Editor, method: str) -> None:
    error = await editor.fails(method, sessionId="nope", prompt=text("hi"), modeId="default", modelId="m")
    assert error["code"] == -32002
    assert "nope" in error["message"]


async def test_used_sessions_are_listed_newest_first_and_in_pages(
    editor: Editor, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_acp.methods.PAGE", 2)
    assert await editor.call("session/list") == {"sessions": []}
    await editor.new(project)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    sessions: list[str] = []
    for folder in (project, project, elsewhere):
        sessions.append(await editor.new(folder))
        await editor.prompt(sessions[-1], "[[echo x]]")
    first = await editor.call("session/list", cwd=None, cursor=None)
    second = await editor.call("session/list", cursor=first["nextCursor"])
    entries = first["sessions"] + second["sessions"]
    assert sorted(entry["sessionId"] for entry in entries) == sorted(sessions)
    assert "nextCursor" not in second
    for entry in entries:
        assert Path(entry["cwd"]).is_absolute()
        assert datetime.fromisoformat(entry["updatedAt"]).tzinfo is not None
    here = await editor.call("session/list", cwd=str(project) + "/")
    assert {entry["sessionId"] for entry in here["sessions"]} == set(sessions[:2])
    assert (await editor.fails("session/list", cursor="what"))["code"] == -32602


async def test_closing_stops_the_turn_and_keeps_the_history(
    editor: Editor, model: ScriptedModel, project: Path
) -> None:
    model.add(answer("half", Stall()))
    session = await editor.new(project)
    prompt = editor.start_prompt(session, "Speak.")
    await editor.update("agent_message_chunk")
    assert await editor.call("session/close", sessionId=session) == {}
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
    error = await editor.fails("session/prompt", sessionId=session, prompt=text("hi"))
    assert error["code"] == -32002
    assert await editor.call("session/close", sessionId=session) == {}
    begun = len(editor.frames)
    await editor.call("session/load", sessionId=session, cwd=str(project), mcpServers=[])
    assert ("agent_message_chunk", "half") in told(editor.updates(after=begun))
    assert (await editor.prompt(session, "[[echo again]]"))["stopReason"] == "end_turn"


async def test_deleting_is_for_ever_and_may_be_asked_twice(editor: Editor, project: Path) -> None:
    session = await editor.new(project)
    await editor.prompt(session, "[[echo x]]")
    for _ in range(2):
        assert await editor.call("session/delete", sessionId=session) == {}
    assert await editor.call("session/list") == {"sessions": []}
    error = await editor.fails("session/load", sessionId=session, cwd=str(project), mcpServers=[])
    assert error["code"] == -32002


async def test_a_mode_that_is_set_is_told_in_both_ways(editor: Editor, project: Path) -> None:
    session = await editor.new(project)
    begun = len(editor.frames)
    assert await editor.call("session/set_mode", sessionId=session, modeId="plan") == {}
    options = (await editor.update("config_option_update", after=begun))["configOptions"]
    assert {option["id"]: option["currentValue"] for option in options} == {"mode": "plan", "model": "custom:m"}
    assert (await editor.update("current_mode_update", after=begun))["currentModeId"] == "plan"
    result = await editor.call("session/set_config_option", sessionId=session, configId="mode", value="default")
    assert {option["id"]: option["currentValue"] for option in result["configOptions"]} == {
        "mode": "default",
        "model": "custom:m",
    }
    assert (await editor.update("current_mode_update", currentModeId="default"))["currentModeId"] == "default"
    loaded = await editor.call("session/resume", sessionId=session, cwd=str(project))
    assert loaded["modes"]["currentModeId"] == "default"


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("session/set_mode", {"modeId": "gpt-5"}, "modeId"),
        ("session/set_config_option", {"configId": "mode", "value": "gpt-5"}, "value"),
        ("session/set_config_option", {"configId": "colour", "value": "red"}, "configId"),
        ("session/set_config_option", {"configId": "model", "value": "nonesuch"}, "value"),
        ("session/set_model", {"modelId": "a\nb"}, "model"),
    ],
)
async def test_a_setting_that_does_not_exist_is_refused_and_the_old_one_stays(
    editor: Editor, project: Path, method: str, params: dict[str, Any], path: str
) -> None:
    session = await editor.new(project)
    error = await editor.fails(method, sessionId=session, **params)
    assert error["code"] == -32602
    assert path in error["message"]
    loaded = await editor.call("session/resume", sessionId=session, cwd=str(project))
    assert loaded["modes"]["currentModeId"] == "default"
    assert loaded["models"]["currentModelId"] == "custom:m"


@pytest.mark.parametrize("way", ["/model", "session/set_model", "session/set_config_option"])
async def test_a_model_that_is_chosen_in_any_way_is_told_in_all_and_used(
    editor: Editor, model: ScriptedModel, hermes_home: Path, project: Path, way: str
) -> None:
    with (hermes_home / "config.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"providers: {{mine: {{base_url: '{model.base_url}', api_key: k, models: [other]}}}}\n")
    session = await editor.new(project)
    begun = len(editor.frames)
    match way:
        case "/model":
            await editor.prompt(session, "/model mine:other")
        case "session/set_model":
            assert await editor.call(way, sessionId=session, modelId="mine:other") == {}
        case _:
            await editor.call(way, sessionId=session, configId="model", value="mine:other")
    options = (await editor.update("config_option_update", after=begun))["configOptions"]
    assert [one["currentValue"] for one in options if one["id"] == "model"] == ["mine:other"]
    await editor.prompt(session, "hello")
    assert model.requests[-1]["model"] == "other"
    loaded = await editor.call("session/resume", sessionId=session, cwd=str(project))
    assert loaded["models"]["currentModelId"] == "mine:other"
    assert "custom:m" in [one["modelId"] for one in loaded["models"]["availableModels"]]


async def test_a_model_that_cannot_be_chosen_is_explained_in_words(editor: Editor, project: Path) -> None:
    session = await editor.new(project)
    assert (await editor.prompt(session, "/model anthropic:claude-sonnet-4-6"))["stopReason"] == "end_turn"
    assert "ANTHROPIC_API_KEY" in editor.said()
    assert "custom:m" in editor.said()


async def test_models_that_are_configured_can_be_chosen(
    editor: Editor, model: ScriptedModel, hermes_home: Path, project: Path
) -> None:
    with (hermes_home / "config.yaml").open("a", encoding="utf-8") as settings:
        settings.write(f"providers: {{mine: {{base_url: '{model.base_url}', api_key: k, models: [x, y]}}}}\n")
    result = await editor.call("session/new", cwd=str(project), mcpServers=[])
    assert [one["modelId"] for one in result["models"]["availableModels"]] == ["custom:m", "mine:x", "mine:y"]
    [option] = [option for option in result["configOptions"] if option["id"] == "model"]
    assert [one["value"] for one in option["options"]] == ["custom:m", "mine:x", "mine:y"]


async def test_without_a_model_sessions_ask_to_log_in_and_a_set_up_is_found_without_a_restart(
    hermes_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_core.models.resolve.SERVERS", ())
    monkeypatch.setattr("hermes_core.models.resolve.find_weights", _nothing)
    monkeypatch.setattr("hermes_core.models.resolve.find_servers", _no_servers)
    async with ScriptedModel() as model, connected() as editor:
        started = await editor.initialize()
        kinds = {method["id"]: method.get("type", "agent") for method in started["authMethods"]}
        assert set(kinds.values()) == {"agent", "terminal"}
        error = await editor.fails("session/new", cwd=str(project), mcpServers=[])
        assert error["code"] == -32000
        assert "hermes setup" in error["message"]
        assert error["data"]["details"] == error["message"]
        agent = next(name for name, kind in kinds.items() if kind == "agent")
        assert (await editor.fails("authenticate", methodId=agent))["code"] == -32000
        assert (await editor.fails("authenticate", methodId="nonesuch"))["code"] == -32602
        assert await editor.call("session/list") == {"sessions": []}
        write_config(hermes_home, model.base_url)
        assert await editor.call("authenticate", methodId=agent) == {}
        session = await editor.new(project)
        assert (await editor.prompt(session, "[[echo hello]]"))["stopReason"] == "end_turn"


def _nothing(_: object) -> None:
    return None


async def _no_servers(*_: Any) -> tuple[Any, ...]:
    return ()


async def test_settings_that_cannot_be_read_are_named_and_read_again_once_mended(
    hermes_home: Path, project: Path
) -> None:
    async with ScriptedModel() as model, connected() as editor:
        write_config(hermes_home, model.base_url)
        (hermes_home / "config.yaml").write_text("model: [\n", encoding="utf-8")
        await editor.initialize()
        error = await editor.fails("session/new", cwd=str(project), mcpServers=[])
        assert error["code"] == -32603
        assert "config.yaml" in error["message"]
        write_config(hermes_home, model.base_url)
        assert await editor.new(project)


async def test_a_slow_beginning_of_one_session_holds_up_nothing_else(
    editor: Editor, model: ScriptedModel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-075."""
    import threading

    go = threading.Event()
    load = hosting._load

    def slow() -> Any:
        go.wait(60)
        return load()

    monkeypatch.setattr(hosting, "_load", slow)
    slow_session = editor.start("session/new", cwd=str(project), mcpServers=[])
    stopped = editor.start("session/new", cwd=str(project), mcpServers=[])
    assert (await editor.fails("ping"))["code"] == -32601
    assert (await editor.initialize())["protocolVersion"] == 1
    editor.notify("session/cancel", sessionId="another")
    editor.notify("$/cancel_request", requestId=stopped)
    assert (await editor.answer(stopped))["error"]["code"] == -32800
    go.set()
    assert (await editor.answer(slow_session))["result"]["sessionId"]


async def test_what_was_allowed_for_ever_is_not_asked_in_a_later_process(model: ScriptedModel, project: Path) -> None:
    asked: list[int] = []
    for _ in range(2):
        async with connected() as editor:
            editor.decide = choose("allow_always")
            await editor.initialize()
            session = await editor.new(project)
            await editor.prompt(session, '[[call terminal {"command":"rm -rf build"}]] [[echo done]]')
            asked.append(sum(frame.get("method") == "session/request_permission" for frame in editor.frames))
    assert asked == [1, 0]
