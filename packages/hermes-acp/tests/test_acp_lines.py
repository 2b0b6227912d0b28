"""Lines that no client should send, and clients that behave oddly: every request is answered, and the agent lives."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from acp_editor import Editor, connected, text
from hermes_acp import agent
from hermes_core.testing import ScriptedModel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"{bad", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600, None),
        (b"5", -32600, None),
        (b'{"jsonrpc":"2.0","id":"q"}', -32600, "q"),
        (b'{"id":"q","method":"session/list"}', -32600, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"ping"}', -32601, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"_vendor/thing","params":{}}', -32601, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"session/fork","params":{}}', -32601, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"logout"}', -32601, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"initialize","params":{}}', -32602, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"initialize","params":[1]}', -32602, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"session/prompt"}', -32602, "q"),
        (b'{"jsonrpc":"2.0","id":"q","method":"session/prompt","params":{"sessionId":"\xff"}}', -32602, "q"),
    ],
)
async def test_a_line_that_cannot_be_served_is_answered_with_its_error(
    editor: Editor, caplog: pytest.LogCaptureFixture, line: bytes, code: int, identity: str | None
) -> None:
    """HA-083: and nothing is logged as if it were a fault of ours."""
    editor.send_line(line)
    frame = await editor.until(lambda frame: frame.get("error", {}).get("code") == code)
    assert frame["id"] == identity
    assert frame["error"]["message"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"   ",
        b'{"jsonrpc":"2.0","method":"ping"}',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}',
        b'{"jsonrpc":"2.0","method":"_vendor/thing"}',
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}',
        b'{"error":{"code":-32601,"message":"no such method"},"jsonrpc":"2.0","id":"x"}',
    ],
)
async def test_what_wants_no_answer_gets_none(editor: Editor, caplog: pytest.LogCaptureFixture, line: bytes) -> None:
    """HA-083."""
    begun = len(editor.frames)
    editor.send_line(line)
    await editor.fails("ping")
    assert len(editor.frames) == begun + 1
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("version", [0, 1, 2, 99, "1"])
async def test_whatever_version_is_asked_for_the_answer_is_the_one_we_speak(model: ScriptedModel, version: Any) -> None:
    async with connected() as editor:
        first = await editor.call("initialize", protocolVersion=version, clientInfo=None)
        result = await editor.call("initialize", protocolVersion=version)
        assert first == result
        assert result["protocolVersion"] == 1
        capabilities = result["agentCapabilities"]
        assert capabilities["loadSession"] is True
        assert capabilities["promptCapabilities"] == {"image": True, "embeddedContext": True}
        assert set(capabilities["sessionCapabilities"]) == {"list", "resume", "close", "delete"}
        assert "mcpCapabilities" not in capabilities
        assert {method.get("type") for method in result["authMethods"]} == {None, "terminal"}
        assert result["agentInfo"]["version"]


async def test_nothing_is_served_before_initialize(model: ScriptedModel, project: Path) -> None:
    async with connected() as editor:
        error = await editor.fails("session/new", cwd=str(project), mcpServers=[])
        assert error["code"] == -32600
        assert "initialize" in error["message"]
        await editor.initialize()
        assert await editor.new(project)


async def test_a_very_long_prompt_arrives_whole(editor: Editor, model: ScriptedModel, project: Path) -> None:
    session = await editor.new(project)
    words = "wörter " * 700_000
    assert (await editor.prompt(session, words))["stopReason"] == "end_turn"
    assert words in json.dumps(model.requests[0]["messages"], ensure_ascii=False)


async def test_requests_beyond_the_limit_are_refused_and_those_within_it_are_served(
    editor: Editor, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "MAX_CALLS", 2)
    session = await editor.new(project)
    prompts = [editor.start_prompt(session, "[[stall]]") for _ in range(3)]
    assert (await editor.answer(prompts[2]))["error"]["code"] == -32603
    editor.notify("session/cancel", sessionId=session)
    for prompt in prompts[:2]:
        assert (await editor.answer(prompt))["result"]["stopReason"] == "cancelled"


METHODS = st.sampled_from(
    [
        "initialize",
        "authenticate",
        "session/new",
        "session/load",
        "session/resume",
        "session/list",
        "session/close",
        "session/delete",
        "session/prompt",
        "session/cancel",
        "session/set_mode",
        "session/set_model",
        "session/set_config_option",
        "$/cancel_request",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["sessionId", "cwd", "mcpServers", "prompt", "modeId", "modelId", "configId", "value", "cursor", "methodId"]
)


@given(st.lists(st.tuples(METHODS, st.dictionaries(FIELDS, VALUES, max_size=4) | VALUES), min_size=1, max_size=20))
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
async def test_parameters_of_any_kind_get_one_answer_each_and_disturb_nothing(
    editor: Editor, project: Path, calls: list[tuple[str, Any]]
) -> None:
    session = await editor.new(project)
    begun = len(editor.frames)
    for number, (method, params) in enumerate(calls):
        editor.send({"id": f"{begun}-{number}", "method": method, "params": params})
    for number in range(len(calls)):
        await editor.answer(f"{begun}-{number}")
    answered = [frame["id"] for frame in editor.frames[begun:] if "method" not in frame]
    assert sorted(answered) == sorted(f"{begun}-{number}" for number in range(len(calls)))
    assert await editor.call("session/prompt", sessionId=session, prompt=text("/help")) == {"stopReason": "end_turn"}
