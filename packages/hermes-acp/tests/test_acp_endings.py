"""How sessions, questions and connections end while something is under way."""

from __future__ import annotations

import threading
from pathlib import Path

import anyio
import pytest
from acp_editor import Editor, connected
from hermes_acp import hosting
from hermes_acp.agent import Agent
from hermes_acp.connection import Connection
from hermes_acp.hosting import Hosting
from hermes_core.errors import SessionClosed, StoreError
from hermes_core.testing import ScriptedModel

pytestmark = pytest.mark.anyio

WRITE = '[[call write_file {"path":"a.txt","content":"x"}]]'


async def test_requests_under_way_at_the_end_of_the_input_are_answered(
    model: ScriptedModel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_acp.agent.PATIENCE", 60.0)
    go = threading.Event()
    load, end = hosting._load, Agent.close

    async def close(agent: Agent) -> None:
        go.set()
        await end(agent)

    monkeypatch.setattr(hosting, "_load", lambda: go.wait(60) and load())
    monkeypatch.setattr(Agent, "close", close)
    async with connected() as editor:
        await editor.initialize()
        new, listing = editor.start("session/new", cwd=str(project), mcpServers=[]), editor.start("session/list")
        await editor.fails("ping")
    answers = {frame["id"]: frame for frame in editor.frames if "method" not in frame}
    assert answers[new]["result"]["sessionId"]
    assert answers[listing]["result"]["sessions"] == []


async def test_a_request_that_the_end_overtakes_is_told_so(
    model: ScriptedModel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_acp.agent.PATIENCE", 0.0)
    go = threading.Event()
    load, end = hosting._load, Agent.close

    async def close(agent: Agent) -> None:
        await end(agent)
        go.set()

    monkeypatch.setattr(hosting, "_load", lambda: go.wait(60) and load())
    monkeypatch.setattr(Agent, "close", close)
    async with connected() as editor:
        await editor.initialize()
        new = editor.start("session/new", cwd=str(project), mcpServers=[])
        await editor.fails("ping")
    [answer] = [frame for frame in editor.frames if frame.get("id") == new]
    assert answer["error"]["code"] == -32800


async def test_a_session_that_is_loaded_while_it_is_being_closed_works_afterwards(
    editor: Editor, model: ScriptedModel, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client reads slowly, so the old session's last words still wait when it is loaded anew."""
    session = await editor.new(project)
    await editor.prompt(session, "[[echo first]]")
    read = anyio.Event()

    async def drain(_: Connection) -> None:
        await read.wait()

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "drain", drain)
        running = editor.start_prompt(session, "[[echo second]] [[stall]]")
        await model.wait_for_stall()
        closing = editor.start("session/close", sessionId=session)
        await editor.call("session/load", sessionId=session, cwd=str(project), mcpServers=[])
    read.set()
    assert "result" in await editor.answer(closing)
    assert (await editor.answer(running))["result"]["stopReason"] == "cancelled"
    assert (await editor.prompt(session, "[[echo alive]]"))["stopReason"] == "end_turn"


@pytest.mark.parametrize("end", ["session/cancel", "session/close", "$/cancel_request"])
async def test_a_question_that_ends_unanswered_is_taken_back(editor: Editor, project: Path, end: str) -> None:
    editor.decide = None
    session = await editor.new(project)
    prompt = editor.start_prompt(session, WRITE)
    question = await editor.request()
    if end == "session/close":
        await editor.call(end, sessionId=session)
    else:
        editor.notify(end, sessionId=session, requestId=prompt)
    assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"
    taken_back = [frame["params"] for frame in editor.frames if frame.get("method") == "$/cancel_request"]
    assert taken_back == [{"requestId": question["id"]}]


async def test_the_end_waits_for_a_runtime_that_began_after_one_that_failed(
    model: ScriptedModel, hermes_home: Path
) -> None:
    store = hermes_home / "sessions.sqlite3"
    store.mkdir()
    async with anyio.create_task_group() as tasks:
        host = Hosting(tasks)
        with pytest.raises(StoreError):
            await host.runtime()
        store.rmdir()
        runtime = await host.runtime()
        await host.end()
        with pytest.raises(SessionClosed):
            await runtime.create(source="acp")
