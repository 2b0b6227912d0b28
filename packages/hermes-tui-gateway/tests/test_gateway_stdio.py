"""The real process: what a host that starts it can rely on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec
import psutil
import pytest
from hermes_core.store.protocol import SessionRecord
from hermes_core.store.sqlite import SqliteStore
from hermes_core.testing import ScriptedModel
from hermes_tui_gateway.frames import event_line
from hermes_tui_gateway.main import READY
from hermes_tui_gateway.testing import PipeHost, Refused, spawn_gateway, write_config
from hermes_tui_gateway.wire.events import EventParams

pytestmark = pytest.mark.anyio


def gateway_in(home: Path, **environ: str) -> Any:
    return spawn_gateway({"HERMES_HOME": str(home), **environ})


async def stored(home: Path, stored_id: str) -> tuple[SessionRecord, str]:
    """Return a session as the store has it after the process, and all that was said."""
    store = SqliteStore(home / "sessions.sqlite3")
    await store.open()
    try:
        record = await store.session(stored_id)
        assert record is not None
        return record, str([row.message for row in await store.messages(stored_id)])
    finally:
        await store.close()


def undated(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without the moment of each, which the store knows better than the live session."""
    return [{key: value for key, value in row.items() if key != "timestamp"} for row in rows]


async def gone(pid: int) -> None:
    """Wait until a process has ended."""
    with anyio.fail_after(20):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            await anyio.to_thread.run_sync(_wait_a_little, pid)


def _wait_a_little(pid: int) -> None:
    try:
        psutil.Process(pid).wait(timeout=0.2)
    except (psutil.NoSuchProcess, psutil.TimeoutExpired):
        return


async def test_the_first_frame_says_ready_before_anything_is_asked(hermes_home: Path) -> None:
    async with gateway_in(hermes_home) as host:
        await host.event("gateway.ready")
        assert host.frames == [msgspec.json.decode(READY)]
        await host.hang_up()
        assert await host.wait() == 0


def test_the_ready_frame_is_an_event_like_any_other() -> None:
    assert event_line(EventParams(type="gateway.ready", payload={"skin": {}})) == READY


async def test_a_whole_conversation_and_its_return_in_a_new_process(hermes_home: Path, model: ScriptedModel) -> None:
    """Create, submit with a tool that needs an approval, interrupt, list; then resume, history, go on."""
    async with gateway_in(hermes_home) as host:
        created = await host.call("session.create", cols=80)
        session_id, stored_id = created["session_id"], created["stored_session_id"]
        text = '[[echo Looking.]] [[call terminal {"command":"rm -rf ./x && echo gone"}]] [[echo Done.]]'
        await host.call("prompt.submit", session_id=session_id, text=text)
        asked = (await host.event("approval.request"))["payload"]
        await host.call("approval.respond", session_id=session_id, request_id=asked["request_id"], choice="once")
        assert (await host.event("message.complete"))["payload"]["text"] == "Done."
        assert host.events("tool.complete")[0]["payload"]["result"].startswith("gone")
        await host.call("prompt.submit", session_id=session_id, text="[[text n=3]] [[stall]]")
        await host.event("message.delta")
        await host.call("session.interrupt", session_id=session_id)
        assert (await host.event("message.complete"))["payload"]["status"] == "interrupted"
        assert [row["id"] for row in (await host.call("session.list"))["sessions"]] == [stored_id]
        history = await host.call("session.history", session_id=session_id)
        await host.hang_up()
        assert await host.wait() == 0
        assert host.errors == b""
    async with gateway_in(hermes_home) as host:
        resumed = await host.call("session.resume", session_id=stored_id)
        assert undated(resumed["messages"]) == undated(history["messages"])
        again = await host.call("session.history", session_id=resumed["session_id"])
        assert undated(again["messages"]) == undated(history["messages"])
        await host.call("prompt.submit", session_id=resumed["session_id"], text="hello")
        assert (await host.event("message.complete"))["payload"]["text"] == "ok"
    assert "Looking." in str(model.requests[-1]["messages"])


MALFORMED = [
    b"1",
    b"[]",
    b'"x"',
    b"{}",
    b'{"id":1}',
    b'{"method":5}',
    b'{"id":2,"method":"session.list","params":[]}',
    b'{"id":3,"method":"session.list","params":{"limit":"\xff"}}',
    b'{"id":4,"method":"session.list","params":',
    b'{"id":5,"method":"' + b"x" * 5_000_000 + b'"}',
    b"\x00\x01\xfe",
]


async def test_malformed_lines_are_answered_and_life_goes_on(hermes_home: Path, model: ScriptedModel) -> None:
    """HA-085: with a turn of another session running, which is not disturbed."""
    async with gateway_in(hermes_home) as host:
        session_id = (await host.call("session.create"))["session_id"]
        await host.call("prompt.submit", session_id=session_id, text="[[echo a]] [[stall]] [[echo b]]")
        await host.event("message.delta")
        answered = len([frame for frame in host.frames if "id" in frame])
        for line in MALFORMED:
            await host.write(line)
            await host.write(b"")
            await host.write(b"  \t ")
        await host.call("session.active_list")
        errors = [frame for frame in host.frames if "id" in frame][answered:-1]
        assert [(frame["id"], frame["error"]["code"]) for frame in errors] == [
            (None, -32600),
            (None, -32600),
            (None, -32600),
            (None, -32600),
            (1, -32600),
            (None, -32600),
            (2, -32602),
            (None, -32700),
            (None, -32700),
            (5, -32601),
            (None, -32700),
        ]
        model.release()
        assert (await host.event("message.complete"))["payload"]["text"] == "ab"
        await host.hang_up()
        assert await host.wait() == 0


async def test_odd_line_separators_travel_inside_their_line(hermes_home: Path, model: ScriptedModel) -> None:
    """HA-088: in a prompt, in an answer and in a tool's output, and back after a restart."""
    odd = "a\u2028b\u2029c\x85d"
    async with gateway_in(hermes_home) as host:
        created = await host.call("session.create")
        call = '[[call terminal {"command":"printf \'x\\\\342\\\\200\\\\250y\'"}]]'
        await host.call("prompt.submit", session_id=created["session_id"], text=f"[[echo {odd}]] {call} [[echo {odd}]]")
        end = await host.event("message.complete")
        assert end["payload"]["text"] == odd
        assert host.events("tool.complete")[0]["payload"]["result"].strip() == "x\u2028y"
        resumed = await host.call("session.history", session_id=created["session_id"])
        assert resumed["messages"][-1]["text"] == odd
        assert odd in resumed["messages"][0]["text"]
        await host.hang_up()
        await host.wait()


async def test_nothing_but_frames_comes_on_standard_output(hermes_home: Path, model: ScriptedModel) -> None:
    """HA-068: not even what a tool's child writes to the terminal it believes to have."""
    async with gateway_in(hermes_home) as host:
        session_id = (await host.call("session.create"))["session_id"]
        noise = '[[call terminal {"command":"echo noise; echo noise >&2; cat"}]]'
        await host.call("prompt.submit", session_id=session_id, text=f"{noise} [[echo Done.]]")
        assert (await host.event("message.complete"))["payload"]["text"] == "Done."
        assert all(frame["jsonrpc"] == "2.0" for frame in host.frames)
        assert (await host.call("session.active_list"))["sessions"]
        assert host.errors == b""


LONG_TOOL = '[[echo Begun.]] [[call terminal {"command":"echo $$ > pid; sleep 300"}]] [[echo Done.]]'


async def long_tool(host: PipeHost, folder: Path) -> tuple[str, int]:
    """Let a tool run for long; return the session's stored id, and the tool's process id."""
    created = await host.call("session.create", cwd=str(folder))
    await host.call("prompt.submit", session_id=created["session_id"], text=LONG_TOOL)
    await host.event("tool.start")
    pid = folder / "pid"
    with anyio.fail_after(20):
        while not (pid.exists() and pid.read_text().strip()):
            await host.call("session.active_list")
    return created["stored_session_id"], int(pid.read_text())


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM", "SIGHUP"])
async def test_an_end_in_mid_tool_saves_what_there_is_and_leaves_no_child(
    ending: str, hermes_home: Path, model: ScriptedModel, tmp_path: Path
) -> None:
    """HA-090."""
    async with gateway_in(hermes_home, HERMES_TUI_GATEWAY_SHUTDOWN_GRACE_S="20") as host:
        stored_id, child = await long_tool(host, tmp_path)
        if ending == "end of input":
            await host.hang_up()
        else:
            host.process.send_signal(getattr(signal, ending))
        assert await host.wait() == 0
        assert host.events("session.closed")[0]["payload"]["reason"] == "tui_shutdown"
        assert host.events("message.complete")[0]["payload"]["status"] == "interrupted"
    await gone(child)
    record, said = await stored(hermes_home, stored_id)
    assert (record.end_reason, record.ended_at > 0) == ("tui_shutdown", True)
    assert "Begun." in said
    assert "interrupted" in said


async def test_an_end_in_mid_answer_saves_what_was_said(hermes_home: Path, model: ScriptedModel) -> None:
    """HA-090."""
    async with gateway_in(hermes_home, HERMES_TUI_GATEWAY_SHUTDOWN_GRACE_S="20") as host:
        created = await host.call("session.create")
        await host.call("prompt.submit", session_id=created["session_id"], text="[[echo Half an answer]] [[stall]]")
        await host.event("message.delta")
        await host.hang_up()
        assert await host.wait() == 0
    record, said = await stored(hermes_home, created["stored_session_id"])
    assert record.end_reason == "tui_shutdown"
    assert "Half an answer" in said


async def test_a_host_that_is_killed_takes_the_gateway_with_it(
    hermes_home: Path, model: ScriptedModel, tmp_path: Path
) -> None:
    """HA-090: its pipes are all that it had, and their other ends close."""
    go_between = (
        "import os, subprocess, sys\n"
        "gateway = subprocess.Popen([sys.executable, '-m', 'hermes_tui_gateway'], stdin=subprocess.PIPE)\n"
        "print(gateway.pid, file=sys.stderr, flush=True)\n"
        "for line in sys.stdin.buffer:\n"
        "    gateway.stdin.write(line)\n"
        "    gateway.stdin.flush()\n"
    )
    environ = {**os.environ, "HERMES_HOME": str(hermes_home), "HERMES_TUI_GATEWAY_SHUTDOWN_GRACE_S": "20"}
    stored_id = ""
    async with await anyio.open_process([sys.executable, "-c", go_between], env=environ) as process:
        host = PipeHost(process)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.read_frames)
            tasks.start_soon(host.read_errors)
            stored_id, child = await long_tool(host, tmp_path)
            process.kill()
            await gone(int(host.errors))
            await gone(child)
            tasks.cancel_scope.cancel()
    record, said = await stored(hermes_home, stored_id)
    assert record.end_reason == "tui_shutdown"
    assert "Begun." in said


async def test_a_host_that_stops_reading_ends_the_gateway(hermes_home: Path, model: ScriptedModel) -> None:
    """HA-090."""
    ours, theirs = os.pipe()
    process = await anyio.open_process([sys.executable, "-m", "hermes_tui_gateway"], stdout=theirs)
    async with process:
        os.close(theirs)
        assert await anyio.to_thread.run_sync(os.read, ours, 1) == READY[:1]
        os.close(ours)
        assert process.stdin is not None
        await process.stdin.send(b'{"id":1,"method":"session.active_list"}\n')
        with anyio.fail_after(20):
            assert await process.wait() == 0


async def test_ctrl_c_is_for_the_host(hermes_home: Path, model: ScriptedModel) -> None:
    async with gateway_in(hermes_home) as host:
        await host.call("session.active_list")
        host.process.send_signal(signal.SIGINT)
        assert await host.call("session.active_list") == {"sessions": []}


async def test_everything_that_was_piped_in_is_answered_before_the_end(hermes_home: Path, model: ScriptedModel) -> None:
    """HA-090: also what takes its time."""
    async with gateway_in(hermes_home) as host:
        asked = [
            await host.send(name)
            for name in ("session.list", "setup.status", "session.active_list", "session.most_recent")
        ]
        await host.hang_up()
        for identity in asked:
            await host.reply(identity)
        assert await host.wait() == 0


async def test_settings_that_cannot_be_read_are_told_to_every_request(hermes_home: Path) -> None:
    write_config(hermes_home, "http://127.0.0.1:9/v1", "display: [")
    async with gateway_in(hermes_home) as host:
        for name in ("setup.status", "session.create"):
            with pytest.raises(Refused) as refused:
                await host.call(name)
            assert refused.value.code == 5001
            assert "config.yaml" in refused.value.message
        await host.hang_up()
        assert await host.wait() == 0


async def test_secrets_and_tracebacks_stay_off_the_wire_and_the_log_is_private(
    hermes_home: Path, model: ScriptedModel
) -> None:
    async with gateway_in(hermes_home) as host:
        session_id = (await host.call("session.create"))["session_id"]
        await host.call("prompt.submit", session_id=session_id, text="[[status 401 Wrong key.]]")
        await host.event("message.complete")
        await host.call("config.get", key="full")
        assert "key-of-the-test" not in json.dumps(host.frames)
        await host.hang_up()
        await host.wait()
        assert host.errors == b""
    for path in (hermes_home / "logs").glob("*"):
        assert "key-of-the-test" not in path.read_text()
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("entry", [["-m", "tui_gateway.entry"], []])
def test_a_host_may_start_it_as_the_module_it_used_to_start(entry: list[str], hermes_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hermes_tui_gateway", *entry], input=b"", capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, READY + b"\n", b"")


def test_version_help_and_bad_arguments() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "hermes_tui_gateway", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert run("--version").stdout == "hermes-tui-gateway 2026.12.0\n"
    assert "usage:" in run("--help").stdout
    bad = run("--nonsense")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert "--nonsense" in bad.stderr


def test_being_ready_needs_nothing_that_takes_long_to_load() -> None:
    code = (
        "import sys, hermes_tui_gateway.main; "
        "print([n for n in ('asyncio', 'anyio', 'msgspec', 'json') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_serving_loads_neither_the_model_client_nor_the_error_path() -> None:
    code = (
        "import sys, hermes_tui_gateway.stdio, hermes_tui_gateway.connection; "
        "print([n for n in ('openai', 'jsonrpcserver', 'jsonschema', 'ruamel', 'starlette') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
