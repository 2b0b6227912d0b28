"""The installed command as a child process: clean output, the official SDK as client, and a quick, orderly end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, cast

import acp
import anyio
import hermes_acp
import psutil
import pytest
from acp import schema
from acp_editor import COMMAND, AgentProcess, spawned, write_config
from hermes_core.testing import ScriptedModel

pytestmark = pytest.mark.anyio

SLEEP = '[[call terminal {"command":"echo begun; sleep 600"}]]'


async def begun(child: AgentProcess, project: Path) -> str:
    """Initialize, and begin a session."""
    await child.editor.initialize()
    return await child.editor.new(project)


async def a_tool_runs(child: AgentProcess, session: str) -> list[psutil.Process]:
    """Begin a turn whose tool never ends by itself; return the processes that it started."""
    child.editor.start_prompt(session, SLEEP)
    await child.editor.until(lambda frame: "begun" in json.dumps(frame) and "tool_call_update" in json.dumps(frame))
    children = psutil.Process(child.process.pid).children(recursive=True)
    assert children
    return children


def gone(processes: list[psutil.Process]) -> bool:
    """Say whether none of these processes is alive."""
    return not [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


class SdkClient:
    """A client for the official SDK that allows everything and keeps what it is told."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.questions: list[str] = []

    def on_connect(self, conn: acp.Agent) -> None:
        """Take note of the connection, as the SDK wants."""

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """Keep an update."""
        self.updates.append(update)

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        """Choose the first option."""
        self.questions.append(tool_call.tool_call_id)
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        )


async def test_the_official_sdk_completes_a_turn_with_a_tool(model: ScriptedModel, project: Path) -> None:
    client = SdkClient()
    face = cast("acp.Client", client)  # files and terminals of the client are not asked for
    prompt = '[[think n=2]] [[echo Writing.]] [[call write_file {"path":"a.txt","content":"x"}]] [[echo Done.]]'
    with anyio.fail_after(60):
        async with acp.spawn_agent_process(face, str(COMMAND), env=dict(os.environ)) as (agent, process):
            started = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
            assert started.protocol_version == 1
            session = await agent.new_session(cwd=str(project), mcp_servers=[])
            answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(prompt)])
            assert answer.stop_reason == "end_turn"
            listed = await agent.list_sessions()
            assert [one.session_id for one in listed.sessions] == [session.session_id]
        assert await process.wait() == 0
    kinds = [update.session_update for update in client.updates]
    assert {"agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "usage_update"} <= set(kinds)
    [card] = [update for update in client.updates if update.session_update == "tool_call"]
    assert client.questions == [card.tool_call_id]
    assert (project / "a.txt").read_text(encoding="utf-8") == "x"


async def test_only_frames_come_out_whatever_prints(model: ScriptedModel, tmp_path: Path, project: Path) -> None:
    """HA-068: the harness reads every line of standard output as a JSON object."""
    noise = "import logging, warnings; warnings.warn('a warning'); logging.error('a log line')\n"
    (project / "sitecustomize.py").write_text(noise, encoding="utf-8")
    noisy = '[[call terminal {"command":"echo out; echo err >&2; cat; printf x > /dev/stderr"}]] [[echo done]]'
    command = (sys.executable, "-W", "always", "-m", "hermes_acp")
    async with spawned(tmp_path / "stderr", *command, PYTHONPATH=str(project)) as child:
        session = await begun(child, project)
        assert (await child.editor.prompt(session, noisy))["stopReason"] == "end_turn"
    assert child.editor.said() == "done"
    assert "a warning" in (tmp_path / "stderr").read_text(encoding="utf-8")


async def test_the_end_of_the_input_ends_an_idle_agent_well(
    model: ScriptedModel, tmp_path: Path, project: Path
) -> None:
    async with spawned(tmp_path / "stderr") as child:
        await begun(child, project)
        child.end_input()
        assert await child.wait() == 0
    assert (tmp_path / "stderr").read_text(encoding="utf-8") == ""


@pytest.mark.parametrize("end", ["input", "SIGTERM"])
async def test_an_end_in_mid_turn_saves_the_turn_and_leaves_no_process_behind(
    model: ScriptedModel, tmp_path: Path, project: Path, end: str
) -> None:
    async with spawned(tmp_path / "stderr") as child:
        session = await begun(child, project)
        started = await a_tool_runs(child, session)
        if end == "input":
            child.end_input()
        else:
            os.kill(child.process.pid, signal.Signals[end])
        assert await child.wait() == 0
        assert gone(started)
    async with spawned(tmp_path / "stderr") as child:
        await child.editor.initialize()
        await child.editor.call("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        assert child.editor.updates("user_message_chunk")
        assert child.editor.updates("tool_call_update")[-1]["status"] == "failed"
        assert (await child.editor.prompt(session, "[[echo alive]]"))["stopReason"] == "end_turn"


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_before_the_first_frame_ends_it_well(tmp_path: Path, name: str) -> None:
    child = subprocess.Popen([COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process = psutil.Process(child.pid)
    # The handlers are there before standard input is replaced, and that can be seen from outside.
    while "null" not in str(Path(f"/proc/{process.pid}/fd/0").readlink()):
        assert child.poll() is None
    child.send_signal(signal.Signals[name])
    assert child.communicate(timeout=60) == (b"", b"")
    assert child.returncode == 0


async def test_a_client_that_is_gone_ends_the_agent(model: ScriptedModel, tmp_path: Path, project: Path) -> None:
    async with spawned(tmp_path / "stderr") as child:
        session = await begun(child, project)
        started = await a_tool_runs(child, session)
        await child.close_output()
        child.editor.start("session/list")
        assert await child.wait() == 0
        assert gone(started)


async def test_a_kill_loses_nothing_that_was_told_to_be_over(
    model: ScriptedModel, tmp_path: Path, project: Path
) -> None:
    async with spawned(tmp_path / "stderr") as child:
        session = await begun(child, project)
        await child.editor.prompt(session, "[[echo first]]")
        started = await a_tool_runs(child, session)
        child.process.kill()
        await child.wait()
        for process in started:
            process.kill()
    async with spawned(tmp_path / "stderr") as child:
        await child.editor.initialize()
        await child.editor.call("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        assert "first" in child.editor.said()
        assert (await child.editor.prompt(session, "[[echo alive]]"))["stopReason"] == "end_turn"


@pytest.mark.parametrize("given", [b"", b"\n", b"{bad\n", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'])
def test_an_input_that_ends_early_is_a_good_end(given: bytes) -> None:
    done = subprocess.run([COMMAND], input=given, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    for line in done.stdout.splitlines():
        assert "error" in json.loads(line)
    assert len(done.stdout.splitlines()) == (1 if given.strip() else 0)


def test_frames_in_one_piece_with_initialize_are_served_in_order() -> None:
    frames = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}},
        {"jsonrpc": "2.0", "id": "one", "method": "ping"},
        {"jsonrpc": "2.0", "id": "two", "method": "initialize", "params": {"protocolVersion": 1}},
    ]
    given = b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)
    done = subprocess.run([COMMAND], input=given, capture_output=True, timeout=60, check=False)
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, "one", "two"]


def modules_after(code: str) -> set[str]:
    """Return what is loaded after `code` has run in a fresh interpreter."""
    script = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def test_what_answers_initialize_loads_neither_the_event_loop_nor_what_comes_after() -> None:
    loaded = modules_after("import hermes_acp.main, hermes_acp.opening, hermes_core.descriptors")
    heavy = {
        "anyio",
        "asyncio",
        "openai",
        "mcp",
        "jsonschema",
        "starlette",
        "ruamel.yaml",
        "sqlite3",
        "argparse",
        "pydantic",
    }
    assert not heavy & loaded
    assert not {name for name in loaded if name.startswith(("hermes_core.config", "hermes_core.models"))}


def test_importing_the_package_loads_nothing_else() -> None:
    loaded = modules_after("import hermes_acp")
    assert not {name for name in loaded if name.startswith(("hermes_core", "anyio", "msgspec"))}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command for a person."""
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False, input="")


def test_the_version_is_the_packages_own() -> None:
    project = Path(hermes_acp.__file__).parents[2] / "pyproject.toml"
    version = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"]
    assert run("--version").stdout == f"hermes-acp {version}\n"


def test_a_wrong_option_is_refused_with_a_hint() -> None:
    done = run("--nonesuch")
    assert done.returncode == 2
    assert "--check" in done.stderr


def test_a_check_names_what_would_answer_and_why(hermes_home: Path) -> None:
    write_config(hermes_home, "http://127.0.0.1:9/v1")
    done = run("--check")
    assert done.returncode == 0, done.stdout
    assert re.search(r"model\s+m from custom, as configured", done.stdout)
    assert hermes_acp.__version__ in done.stdout


def test_a_check_names_what_is_wrong_and_how_to_mend_it(hermes_home: Path) -> None:
    write_config(hermes_home, "http://127.0.0.1:9/v1")
    (hermes_home / "config.yaml").write_text("model: {provider: anthropic}\n", encoding="utf-8")
    done = run("--check")
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY" in done.stdout
    assert "--setup" in done.stdout
    (hermes_home / "config.yaml").write_text("model: [\n", encoding="utf-8")
    done = run("--check")
    assert done.returncode == 1
    assert "config.yaml" in done.stdout


def test_a_setup_without_a_terminal_changes_nothing(hermes_home: Path) -> None:
    done = run("--setup")
    assert done.returncode == 1
    assert "Nothing was changed" in done.stdout
    assert not (hermes_home / "config.yaml").exists()
