"""Settings, the model and slash commands over the wire."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hermes_core.testing import ScriptedModel
from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.slash import COMMANDS
from hermes_tui_gateway.testing import LocalHost, Refused, write_config

pytestmark = pytest.mark.anyio


@pytest.fixture
async def session_id(host: LocalHost) -> str:
    return (await host.call("session.create"))["session_id"]


async def ask_model(host: LocalHost, session_id: str, model: ScriptedModel) -> str:
    """Submit a prompt; return the name of the model that was asked."""
    await host.call("prompt.submit", session_id=session_id, text="hello")
    await host.event("message.complete")
    return model.requests[-1]["model"]


async def test_all_settings_are_shown_without_their_secrets(host: LocalHost, hermes_home: Path) -> None:
    config = (await host.call("config.get", key="full"))["config"]
    assert config["model"]["default"] == "m"
    assert "key-of-the-test" in (hermes_home / "config.yaml").read_text()
    assert "key-of-the-test" not in str(config)


async def test_a_change_of_the_file_shows_in_its_time_and_holds_from_then_on(
    host: LocalHost, hermes_home: Path, model: ScriptedModel
) -> None:
    before = (await host.call("config.get", key="mtime"))["mtime"]
    write_config(hermes_home, model.base_url, "display: {busy_input_mode: steer}\n")
    os.utime(hermes_home / "config.yaml", (before + 10, before + 10))
    assert (await host.call("config.get", key="mtime"))["mtime"] == before + 10
    assert (await host.call("config.get", key="busy"))["value"] == "steer"


async def test_settings_that_cannot_be_read_are_an_error_and_the_old_ones_hold(
    host: LocalHost, hermes_home: Path, model: ScriptedModel, session_id: str
) -> None:
    (hermes_home / "config.yaml").write_text("display: [")
    os.utime(hermes_home / "config.yaml", (9e8, 9e8))
    with pytest.raises(Refused, match="5001"):
        await host.call("config.get", key="full")
    assert await ask_model(host, session_id, model) == "m"


@pytest.mark.parametrize(("key", "value"), [("busy", "interrupt"), ("approvals.mode", "off")])
async def test_a_setting_is_written_and_holds_at_once(
    key: str, value: str, host: LocalHost, gateway: Gateway, hermes_home: Path
) -> None:
    assert await host.call("config.set", key=key, value=value) == {"key": key, "value": value}
    assert (await host.call("config.get", key=key))["value"] == value
    assert value in (hermes_home / "config.yaml").read_text()
    holds = gateway.runtime.config.display.busy_input_mode if key == "busy" else gateway.runtime.policy.mode
    assert holds == value


async def test_a_change_of_the_approval_mode_is_told(host: LocalHost, session_id: str) -> None:
    await host.event("session.info")
    await host.call("config.set", key="approval_mode", value="off")
    info = (await host.event("session.info"))["payload"]
    assert (info["approval_mode"], info["yolo"]) == ("off", True)


async def test_the_busy_mode_can_be_read_with_set(host: LocalHost) -> None:
    assert await host.call("config.set", key="busy", value="status") == {"key": "busy", "value": "queue"}


async def test_new_sessions_begin_in_the_folder_that_is_set(host: LocalHost, tmp_path: Path) -> None:
    assert (await host.call("config.set", key="terminal.cwd", value=str(tmp_path)))["value"] == str(tmp_path)
    created = await host.call("session.create")
    assert created["info"]["cwd"] == str(tmp_path)
    here = await host.call("config.get", key="cwd", session_id=created["session_id"])
    assert here["value"] == str(tmp_path)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"key": "none"}, 4002),
        ({"key": ""}, 4002),
        ({"key": "busy", "value": "maybe"}, 4002),
        ({"key": "approvals.mode", "value": "yolo"}, 4002),
        ({"key": "terminal.cwd", "value": "/no/such/folder"}, 4017),
        ({"key": "model", "value": ""}, 4002),
        ({"key": "model", "value": "a b"}, 4002),
        ({"key": "model", "value": "a --once"}, 4002),
        ({"key": "model", "value": "a --provider nobody"}, 4002),
        ({"key": "busy", "value": "queue", "session_id": "none"}, 4001),
        ({"key": "busy", "scope": "world"}, -32602),
    ],
)
async def test_a_setting_that_cannot_be_is_refused_and_nothing_is_written(
    params: dict[str, Any], code: int, host: LocalHost, hermes_home: Path
) -> None:
    before = (hermes_home / "config.yaml").read_text()
    with pytest.raises(Refused) as refused:
        await host.call("config.set", **params)
    assert refused.value.code == code
    assert (hermes_home / "config.yaml").read_text() == before


async def test_saving_one_setting_leaves_every_other_byte_alone(host: LocalHost, hermes_home: Path) -> None:
    """HA-130."""
    path = hermes_home / "config.yaml"
    before = path.read_text() + "# mine\nunknown: {a: 1}  # kept\nproviders:\n  x: {api_key: '${X_KEY}'}\n"
    path.write_text(before + "display:\n  busy_input_mode: queue\n")
    await host.call("config.set", key="busy", value="steer")
    assert path.read_text() == before + "display:\n  busy_input_mode: steer\n"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("broken", ["display: [", "model:\n\tdefault: m\n"])
async def test_settings_that_cannot_be_read_are_not_written_over(
    broken: str, host: LocalHost, hermes_home: Path
) -> None:
    """HA-131."""
    path = hermes_home / "config.yaml"
    path.write_text(broken)
    os.utime(path, (9e8, 9e8))
    with pytest.raises(Refused) as refused:
        await host.call("config.set", key="busy", value="steer")
    assert refused.value.code == 5001
    assert "line" in refused.value.message
    assert path.read_text() == broken


async def test_a_setting_that_does_not_exist_cannot_be_read(host: LocalHost) -> None:
    with pytest.raises(Refused, match="4002"):
        await host.call("config.get", key="none")


async def test_the_profile_is_the_home(host: LocalHost, hermes_home: Path) -> None:
    assert (await host.call("config.get", key="profile"))["home"] == str(hermes_home)


SWITCHES: list[tuple[str, dict[str, Any]]] = [
    ("command.dispatch", {"command": "/model other"}),
    ("command.dispatch", {"command": "/model custom:other"}),
    ("command.dispatch", {"name": "model", "arg": "other"}),
    ("command.dispatch", {"name": "/model", "arg": "other --provider custom"}),
    ("slash.exec", {"command": "model other"}),
    ("slash.exec", {"command": "/model other"}),
    ("config.set", {"key": "model", "value": "other"}),
]


@pytest.mark.parametrize(("name", "params"), SWITCHES)
async def test_the_model_is_switched_for_the_rest_of_the_session(
    name: str, params: dict[str, Any], host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    assert await ask_model(host, session_id, model) == "m"
    reply = await host.call(name, session_id=session_id, **params)
    assert "other" in str(reply)
    assert await ask_model(host, session_id, model) == "other"
    assert (await host.call("config.get", key="model", session_id=session_id))["value"] == "other"
    assert (await host.call("config.get", key="model"))["value"] == "m"
    assert "other" in [event["payload"]["model"] for event in host.events("session.info")]


async def test_a_resumed_session_keeps_the_model_it_was_switched_to(
    host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    await ask_model(host, session_id, model)
    await host.call("command.dispatch", command="/model other", session_id=session_id)
    stored_id = (await host.call("session.title", session_id=session_id))["session_key"]
    await host.call("session.close", session_id=session_id)
    resumed = await host.call("session.resume", session_id=stored_id)
    assert resumed["info"]["model"] == "other"
    assert await ask_model(host, resumed["session_id"], model) == "other"


async def test_a_global_switch_is_written_and_holds_for_new_sessions(
    host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    await host.call("command.dispatch", command="/model other --global", session_id=session_id)
    created = await host.call("session.create")
    assert await ask_model(host, created["session_id"], model) == "other"


async def test_a_switch_without_a_session_is_global(host: LocalHost, model: ScriptedModel) -> None:
    await host.call("command.dispatch", command="/model other")
    assert (await host.call("config.get", key="model"))["value"] == "other"


async def test_without_an_id_the_only_session_of_the_client_is_meant(
    host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    """The specification's own form: `command.dispatch {"command": "/model X"}`."""
    await host.call("command.dispatch", command="/model other")
    assert await ask_model(host, session_id, model) == "other"
    assert (await host.call("config.get", key="model"))["value"] == "m"


async def test_without_an_id_nothing_is_guessed_among_several_sessions(host: LocalHost, session_id: str) -> None:
    await host.call("session.create")
    with pytest.raises(Refused, match="4001"):
        await host.call("command.dispatch", command="/model other")


async def test_a_new_session_may_choose_its_model(host: LocalHost, model: ScriptedModel) -> None:
    created = await host.call("session.create", model="other")
    assert created["info"]["model"] == "other"
    assert await ask_model(host, created["session_id"], model) == "other"


async def test_a_switch_that_fails_keeps_the_model(host: LocalHost, session_id: str, model: ScriptedModel) -> None:
    with pytest.raises(Refused, match="5001"):
        await host.call("command.dispatch", command="/model other --provider openrouter", session_id=session_id)
    assert await ask_model(host, session_id, model) == "m"


async def test_the_present_model_is_told_without_an_argument(host: LocalHost, session_id: str) -> None:
    reply = await host.call("command.dispatch", command="/model", session_id=session_id)
    assert reply == {"type": "exec", "output": "Current model: m (custom)"}
    assert await host.call("slash.exec", command="model", session_id=session_id) == {
        "output": "Current model: m (custom)"
    }


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, 4004),
        ({"command": "  "}, 4004),
        ({"command": "/"}, 4004),
        ({"command": "/nonsense"}, 4018),
        ({"name": "nonsense"}, 4018),
        ({"command": "/status"}, 4001),
        ({"command": "/queue", "session_id": ""}, 4001),
        ({"command": "/model x", "session_id": "none"}, 4001),
    ],
)
async def test_a_command_that_is_none_is_told_by_its_code(params: dict[str, Any], code: int, host: LocalHost) -> None:
    with pytest.raises(Refused) as refused:
        await host.call("command.dispatch", **params)
    assert refused.value.code == code


@pytest.mark.parametrize(("command", "code"), [("", 4004), ("/", 4004), ("nonsense", 4018), ("steer", 4004)])
async def test_a_line_that_is_no_command_is_told_by_its_code(
    command: str, code: int, host: LocalHost, session_id: str
) -> None:
    with pytest.raises(Refused) as refused:
        await host.call("slash.exec", command=command, session_id=session_id)
    assert refused.value.code == code


COMMAND_LINES = {
    "title": "My plan",
    "steer": "go left",
    "queue": "next",
    "model": "",
    "status": "",
    "usage": "",
    "stop": "",
    "approve": "",
    "deny": "",
    "help": "",
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_every_command_of_the_catalog_does_something(name: str, host: LocalHost, session_id: str) -> None:
    catalog = await host.call("commands.catalog")
    assert f"/{name}" in [pair[0] for pair in catalog["pairs"]]
    assert catalog["canon"][f"/{name}"] == f"/{name}"
    reply = await host.call("command.dispatch", name=name, arg=COMMAND_LINES[name], session_id=session_id)
    assert reply.get("output") or reply["message"] == COMMAND_LINES[name]


async def test_a_command_that_becomes_a_message_says_so_to_slash_exec_too(host: LocalHost, session_id: str) -> None:
    assert await host.call("slash.exec", command="q next", session_id=session_id) == {"type": "send", "message": "next"}
    reply = await host.call("slash.exec", command="steer go", session_id=session_id)
    assert (reply["type"], reply["message"]) == ("send", "go")


async def test_the_catalog_puts_every_command_into_one_category(host: LocalHost) -> None:
    catalog = await host.call("commands.catalog")
    filed = [pair for category in catalog["categories"] for pair in category["pairs"]]
    assert sorted(filed) == sorted(catalog["pairs"])
    assert catalog["canon"]["/q"] == "/queue"
    assert catalog["sub"]["/deny"] == ["all"]


@pytest.mark.parametrize(
    ("text", "items", "replace_from"),
    [
        ("/st", ["status", "steer", "stop"], 1),
        ("/model", ["model "], 1),
        ("/ST", ["status", "steer", "stop"], 1),
        ("/approve se", ["session"], 9),
        ("/deny ", ["all"], 6),
        ("/none", [], 1),
        ("hello", [], 5),
        ("", [], 0),
    ],
)
async def test_a_command_is_completed_while_it_is_typed(
    text: str, items: list[str], replace_from: int, host: LocalHost
) -> None:
    reply = await host.call("complete.slash", text=text)
    assert [item["text"] for item in reply["items"]] == items
    assert reply["replace_from"] == replace_from


async def test_a_configured_model_is_told_to_be_there(host: LocalHost) -> None:
    assert await host.call("setup.status") == {"provider_configured": True}


async def test_the_width_of_the_terminal_is_checked(host: LocalHost, session_id: str) -> None:
    assert await host.call("terminal.resize", session_id=session_id, cols=100) == {"cols": 100}
    for cols in (0, -5, 10**9):
        with pytest.raises(Refused, match="4002"):
            await host.call("terminal.resize", session_id=session_id, cols=cols)


async def test_no_text_is_taken_for_a_dropped_file(host: LocalHost, session_id: str) -> None:
    assert await host.call("input.detect_drop", session_id=session_id, text="/etc/hosts") == {"matched": False}
