"""The examples run as they stand."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from subprocess import CompletedProcess

import anyio
import pytest
from hermes_core.testing import ScriptedModel, answer, call
from hermes_process import PATIENCE, Hermes

pytestmark = pytest.mark.anyio

EXAMPLES = Path(__file__).parents[3] / "examples"


async def run(hermes: Hermes, name: str, *words: str) -> CompletedProcess[bytes]:
    with anyio.fail_after(PATIENCE):
        command = [sys.executable, str(EXAMPLES / name), *words]
        return await anyio.run_process(command, cwd=hermes.folder, env=dict(os.environ), check=False)


async def test_embed_prints_the_answer(hermes: Hermes) -> None:
    async with ScriptedModel([answer("A folder of work.")]) as model:
        hermes.answered_by(model)
        done = await run(hermes, "embed.py", "What", "is", "here?")
        assert model.requests[0]["messages"][-1]["content"] == "What is here?"
    assert (done.returncode, done.stdout) == (0, b"A folder of work.\n"), done.stderr


async def test_embed_is_ten_lines() -> None:
    code = (EXAMPLES / "embed.py").read_text()
    assert len(code.splitlines()) <= 12


async def test_stream_answers_an_approval_and_steers(hermes: Hermes) -> None:
    (hermes.folder / "old").mkdir()
    async with ScriptedModel(
        [answer("Removing. ", call("terminal", command="rm -rf old")), answer("All gone.")]
    ) as model:
        hermes.answered_by(model)
        done = await run(hermes, "stream.py", "Tidy.")
        assert "Name the files" in model.requests[1]["messages"][-1]["content"]
    assert done.returncode == 0, done.stderr
    assert not (hermes.folder / "old").exists()
    lines = [line for line in done.stdout.decode().split("\n") if line]
    assert lines[:2] == ["Removing. ", "[allowed once: rm -rf old]"]
    assert "[terminal: ok]" in lines
    assert "[the model reads: Name the files that are left.]" in lines
    assert lines[-2] == "All gone."
    assert lines[-1].startswith("[complete, ")
