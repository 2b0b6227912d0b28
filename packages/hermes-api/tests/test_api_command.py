"""The command: keys, refusals to start, and an orderly end by signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from anyio.abc import Process
from hermes_api.keys import checked_key, new_key, owner_of
from hermes_api.main import main
from hermes_core.errors import ConfigError
from hermes_core.testing import ScriptedModel, Stall, answer

KEY = "another-key-for-tests-98765"


@pytest.mark.parametrize(
    "key",
    [
        "",
        " ",
        "tooshrt",
        "fifteen-charact",
        "changeme-changeme",
        "CHANGE_ME_CHANGE_ME",
        "your-api-key-here",
        "x" * 20,
        "with a blank inside it",
        "with\ttab-characters-in",
    ],
)
def test_a_key_that_protects_nothing_is_refused_with_advice(key: str) -> None:
    """HA-142"""
    with pytest.raises(ConfigError, match="--generate-key") as refused:
        checked_key(key)
    assert not key.strip() or key not in refused.value.message


def test_a_new_key_is_a_good_one_and_each_is_different() -> None:
    key = new_key()
    assert checked_key(f" {key}\n") == key
    assert new_key() != key
    assert key not in owner_of(key)


def test_the_server_does_not_start_without_a_key(capsys: pytest.CaptureFixture[str]) -> None:
    """HA-142: on loopback as little as elsewhere."""
    assert main([]) == 1
    assert main(["--host", "0.0.0.0"]) == 1
    assert "--generate-key" in capsys.readouterr().err


def test_a_key_is_printed_alone_for_scripts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--generate-key"]) == 0
    out = capsys.readouterr().out
    assert checked_key(out) == out.strip()


@pytest.mark.parametrize("arguments", [["--port", "70000"], ["--port", "x"], ["--nothing"]])
def test_wrong_arguments_are_explained(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: hermes-api" in capsys.readouterr().err


def test_a_port_in_use_is_said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import socket

    monkeypatch.setenv("API_SERVER_KEY", KEY)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["--port", port]) == 1
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


class Served:
    """The command as a process."""

    def __init__(self, process: Process, url: str, model: ScriptedModel) -> None:
        self.process = process
        self.url = url
        self.model = model


@asynccontextmanager
async def command(home: Path, *answers: Any) -> AsyncGenerator[Served]:
    """Run the command over a scripted model."""
    async with ScriptedModel(answers) as model:
        await anyio.Path(home).mkdir(parents=True)
        text = f"model: {{default: m, provider: custom, base_url: '{model.base_url}', api_key: k}}\n"
        await anyio.Path(home / "config.yaml").write_text(text)
        env = {**os.environ, "API_SERVER_KEY": KEY, "HERMES_HOME": str(home)}
        arguments = [sys.executable, "-m", "hermes_api.main", "--port", "0"]
        async with await anyio.open_process(arguments, env=env, stdin=subprocess.DEVNULL) as process:
            assert process.stderr is not None
            seen = b""
            with anyio.fail_after(30):
                while b"(model:" not in seen:
                    seen += await process.stderr.receive()
            url = seen.partition(b"listening on ")[2].partition(b" ")[0].decode()
            try:
                yield Served(process, url, model)
            finally:
                if process.returncode is None:
                    process.kill()


@pytest.mark.anyio
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_open_streams_get_their_last_event_and_the_process_ends(
    hermes_home: Path, number: signal.Signals
) -> None:
    """HA-159: a streamed chat and a run with two watchers, in the middle of an answer; exit code 0."""
    stalled = answer("Begun ", Stall(), "never")
    async with (
        command(hermes_home, stalled, stalled) as served,
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=30) as http,
    ):
        run = (await http.post(f"{served.url}/v1/runs", json={"input": "go"})).json()["run_id"]
        await served.model.wait_for_stall()
        texts: dict[str, str] = {}

        async def watch(name: str) -> None:
            texts[name] = (await http.get(f"{served.url}/v1/runs/{run}/events")).text

        async def chat() -> None:
            body = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
            texts["chat"] = (await http.post(f"{served.url}/v1/chat/completions", json=body)).text

        with anyio.fail_after(20):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(watch, "one")
                tasks.start_soon(watch, "two")
                tasks.start_soon(chat)
                await served.model.wait_for_stall(number=2)
                served.process.send_signal(number)
            assert await served.process.wait() == 0
    assert texts["one"] == texts["two"]
    assert "event: run.cancelled" in texts["one"]
    assert "interrupted_by_system(shutdown)" in texts["one"]
    assert texts["one"].endswith(": stream closed\n\n")
    assert '"finish_reason":"error"' in texts["chat"]
    assert texts["chat"].endswith("data: [DONE]\n\n")


@pytest.mark.anyio
async def test_a_second_signal_ends_the_process_at_once(hermes_home: Path) -> None:
    """HA-159"""
    async with (
        command(hermes_home, answer(Stall(), "never")) as served,
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {KEY}"}, timeout=30) as http,
    ):
        await http.post(f"{served.url}/v1/runs", json={"input": "go"})
        await served.model.wait_for_stall()
        served.process.send_signal(signal.SIGINT)
        with anyio.fail_after(10):
            while (await http.post(f"{served.url}/v1/runs", json={"input": "go"})).status_code != 503:
                pass
            served.process.send_signal(signal.SIGTERM)
            assert await served.process.wait() == 128 + signal.SIGTERM
