"""The terminal: real shells, real process groups, bounded output."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import msgspec
import pytest
from hermes_core.testing.tool_context import ToolBench, tool_bench
from hermes_core.tools.output import BoundedOutput, OutputDecoder
from hermes_core.tools.process import ProcessArgs, process
from hermes_core.tools.processes import MAX_RUNNING
from hermes_core.tools.terminal import MAX_OUTPUT, Terminal, TerminalArgs
from hermes_core.tools.tool import ToolResult

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ToolBench]:
    async with tool_bench(tmp_path) as bench:
        yield bench


async def run(bench: ToolBench, command: str, timeout: int | None = None, workdir: str = "") -> ToolResult:
    return await Terminal().run(TerminalArgs(command, timeout=timeout, workdir=workdir), bench)


async def started(bench: ToolBench, command: str) -> str:
    result = await Terminal().run(TerminalArgs(command, background=True), bench)
    return next(word.rstrip(".") for word in result.text.split() if word.startswith("proc_"))


async def gone(pid: int) -> bool:
    """Wait until a process has ended; one that nobody reaps counts as ended."""

    def alive() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    with anyio.move_on_after(5):
        while alive():
            await anyio.lowlevel.checkpoint()
    return not alive()


def pids(path: Path) -> list[int]:
    return [int(word) for word in path.read_text().split()]


async def test_output_and_errors_come_in_one_text_with_the_exit_code(bench: ToolBench) -> None:
    result = await run(bench, "echo out; echo err >&2; exit 3")
    assert result.text == "out\nerr\n[exit code 3]"
    assert (result.exit_code, result.outcome) == (3, "error")


async def test_a_command_without_output_says_so(bench: ToolBench) -> None:
    result = await run(bench, "true")
    assert (result.text, result.exit_code, result.outcome) == ("(no output)", 0, "ok")


async def test_it_runs_in_the_folder_and_environment_of_the_session(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert (await run(bench, "pwd")).text == str(tmp_path)
    assert (await run(bench, "pwd", workdir="sub")).text == str(tmp_path / "sub")
    bench.env["GREETING"] = "hello"
    assert (await run(bench, "echo $GREETING")).text == "hello"


async def test_keys_of_the_host_do_not_reach_the_shell(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    assert "not-a-key" not in (await run(bench, "env; cat /proc/self/environ | tr '\\0' '\\n'")).text


async def test_a_missing_folder_is_an_error_and_nothing_runs(bench: ToolBench, tmp_path: Path) -> None:
    result = await run(bench, "touch here", workdir="missing")
    assert result.outcome == "error"
    assert "missing" in result.text
    assert not (tmp_path / "here").exists()


async def test_a_server_left_with_an_ampersand_does_not_hang_the_turn(bench: ToolBench, tmp_path: Path) -> None:
    """HA-042: the call ends with its shell, the child is stopped and that is said, the next command works."""
    with anyio.fail_after(10):
        result = await run(bench, "sleep 300 & echo $! > pid; echo ready", timeout=60)
    assert result.text.startswith("ready\n[what it left running was stopped")
    assert (result.exit_code, result.outcome) == (0, "ok")
    assert await gone(pids(tmp_path / "pid")[0])
    assert (await run(bench, "echo next")).text == "next"


async def test_a_child_that_goes_on_writing_does_not_hold_the_call(bench: ToolBench) -> None:
    """HA-042: not even when it never stops writing into the pipe."""
    with anyio.fail_after(10):
        result = await run(bench, "yes & echo ready", timeout=60)
    assert result.exit_code == 0
    assert "stopped with it" in result.text


async def test_the_input_is_empty(bench: ToolBench) -> None:
    with anyio.fail_after(10):
        result = await run(bench, "cat; echo done")
    assert result.text == "done"


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def size(path: Path) -> int:
    """Return the size of a file, 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


@pytest.mark.parametrize("command", ["head -c 50000000 /dev/zero | tr '\\0' x", "head -c 50000000 /dev/urandom"])
async def test_huge_output_is_bounded_for_the_model_and_in_memory(bench: ToolBench, command: str) -> None:
    """HA-043: 50 MB of text, and of random bytes: under the cap, with what is left out and where the rest is."""
    await run(bench, "head -c 1000000 /dev/urandom")
    before = resident()
    result = await run(bench, command)
    assert resident() - before < 20_000_000
    assert len(result.text) <= MAX_OUTPUT
    assert "of 50,000,000 bytes are left out here; its first 10,485,760 bytes are in " in result.text
    saved = Path(result.text.split(" bytes are in ", 1)[1].split(" ...]", 1)[0])
    assert size(saved) == 10_485_760
    assert sum(len(text) for text in bench.shown) < 300_000
    result.text.encode()
    await bench.processes.aclose()
    assert size(saved) == 0


async def test_only_the_last_long_outputs_are_kept_on_disk(bench: ToolBench) -> None:
    for _ in range(10):
        await run(bench, "seq 20000")
    assert len(list(bench.processes.folder().iterdir())) == 8


async def test_the_head_and_the_tail_of_a_long_output_are_kept(bench: ToolBench) -> None:
    text = (await run(bench, "seq 100000")).text
    assert text.startswith("1\n2\n3\n")
    assert text.endswith("99999\n100000")


async def test_a_time_out_ends_the_whole_group_and_keeps_the_output(bench: ToolBench, tmp_path: Path) -> None:
    result = await run(bench, "echo begun; sleep 300 & echo $! > pid; sleep 300", timeout=1)
    assert result.text.startswith("begun\n[stopped: it did not end within 1 s")
    assert (result.exit_code, result.outcome) == (124, "error")
    assert await gone(pids(tmp_path / "pid")[0])


async def test_a_group_that_ignores_the_notice_is_killed(bench: ToolBench, tmp_path: Path) -> None:
    await run(bench, "trap '' TERM; echo $$ > pid; while :; do sleep 1; done", timeout=1)
    assert await gone(pids(tmp_path / "pid")[0])


async def test_an_interrupt_kills_the_whole_group(bench: ToolBench, tmp_path: Path) -> None:
    async with anyio.create_task_group() as turn:
        turn.start_soon(run, bench, "sleep 300 & echo $$ $! > pid; echo up; trap '' TERM; wait")
        await bench.printed.wait()
        turn.cancel_scope.cancel()
    for pid in pids(tmp_path / "pid"):
        assert await gone(pid)


async def test_output_is_shown_while_the_command_runs(bench: ToolBench) -> None:
    """The command goes on only after its first line was shown."""
    async with anyio.create_task_group() as turn:
        turn.start_soon(run, bench, "echo first; until [ -e go ]; do sleep 0.05; done; echo second")
        await bench.printed.wait()
        assert bench.shown == ["first\n"]
        (bench.cwd / "go").touch()
    assert "".join(bench.shown) == "first\nsecond\n"


async def test_a_signal_is_reported(bench: ToolBench) -> None:
    result = await run(bench, "kill -9 $$")
    assert (result.text, result.exit_code) == ("[ended by signal 9]", 137)


# -- background ------------------------------------------------------------------------------------


async def test_a_background_process_is_listed_fed_read_and_killed(bench: ToolBench) -> None:
    key = await started(bench, "echo up; while read line; do echo got $line; done")
    await process(ProcessArgs("submit", key, data="one"), bench)
    await process(ProcessArgs("write", key, data="tw"), bench)
    await process(ProcessArgs("submit", key, data="o"), bench)
    text = ""
    with anyio.fail_after(10):
        while "got two" not in text:
            text += (await process(ProcessArgs("poll", key), bench)).text
    assert "up" in text
    assert "got one" in text
    assert key in (await process(ProcessArgs("list"), bench)).text
    assert "got two" in (await process(ProcessArgs("log", key, limit=1), bench)).text
    killed = await process(ProcessArgs("kill", key), bench)
    assert "ended with exit code -15" in killed.text
    refused = await process(ProcessArgs("submit", key, data="x"), bench)
    assert (refused.outcome, "reads no input" in refused.text) == ("error", True)


async def test_waiting_ends_with_the_process(bench: ToolBench) -> None:
    key = await started(bench, "echo done; exit 4")
    result = await process(ProcessArgs("wait", key, timeout=30), bench)
    assert result.text == "[ended with exit code 4]\ndone"


async def test_an_ampersand_in_a_background_command_keeps_its_child(bench: ToolBench) -> None:
    key = await started(bench, "sleep 300 & echo up")
    with anyio.fail_after(10):
        while "up" not in (await process(ProcessArgs("log", key), bench)).text:
            await anyio.lowlevel.checkpoint()
    assert "running" in bench.processes.listing()


async def test_closing_the_session_kills_every_background_process(tmp_path: Path) -> None:
    async with tool_bench(tmp_path) as bench:
        await started(bench, "trap '' TERM; echo $$ > one; while :; do sleep 1; done")
        await started(bench, "sleep 300 & echo $! > two; wait")
        with anyio.fail_after(10):
            while not all((tmp_path / name).exists() and pids(tmp_path / name) for name in ("one", "two")):
                await anyio.lowlevel.checkpoint()
    for name in ("one", "two"):
        assert await gone(pids(tmp_path / name)[0])


async def test_the_number_of_background_processes_is_bounded(bench: ToolBench) -> None:
    for _ in range(MAX_RUNNING):
        await started(bench, "sleep 300")
    result = await Terminal().run(TerminalArgs("sleep 300", background=True), bench)
    assert (result.outcome, "run already" in result.text) == ("error", True)


async def test_the_output_of_a_background_process_is_bounded(bench: ToolBench) -> None:
    key = await started(bench, "seq 300000")
    result = await process(ProcessArgs("wait", key, timeout=60), bench)
    assert len(result.text) <= 20_000
    assert "characters were dropped" in result.text
    assert result.text.endswith("300000")


@pytest.mark.parametrize("action", ["poll", "log", "wait", "kill", "write", "submit"])
async def test_an_unknown_process_is_named(bench: ToolBench, action: str) -> None:
    for key in ("proc_0", ""):
        args = msgspec.convert({"action": action, "session_id": key}, ProcessArgs)
        result = await process(args, bench)
        assert result.outcome == "error"
        assert "There are no background processes." in result.text


# -- output ----------------------------------------------------------------------------------------


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_control_sequences_are_removed_however_they_are_cut(size: int) -> None:
    data = "a\x1b[1;31mröd\x1b[0m \x1b]0;title\x07b\x1b]8;;http://x\x1b\\link\x1b(B\0\x08é\n".encode() + b"\xff"
    decoder = OutputDecoder()
    text = "".join(decoder.decode(piece) for piece in pieces(data, size)) + decoder.decode(b"", final=True)
    assert text == "aröd blinké\n\ufffd"


@pytest.mark.parametrize("size", [1, 10, 1000, 100_000])
def test_bounded_output_keeps_what_fits_and_both_ends_of_what_does_not(size: int) -> None:
    def fed(data: bytes) -> str:
        output = BoundedOutput(300)
        for piece in pieces(data, size):
            output.add(piece)
        return output.text("in f")

    assert fed(b"x" * 300) == "x" * 300
    long = fed(b"a" * 200 + b"b" * 50_000 + b"c" * 100)
    head, rest = long.split("\n[... ", 1)
    note, tail = rest.split(" ...]\n", 1)
    assert (head, tail) == ("a" * 200, "c" * 100)
    assert note == "about 50,000 of 50,300 bytes are left out here; in f"
