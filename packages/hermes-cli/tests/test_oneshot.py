"""`chat -q` and `-z`: what goes where, how it ends, and that nobody is waited for."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

import anyio
import pytest
from hermes_cli.exits import Exit
from hermes_core.testing import ScriptedModel, Stall, Text, answer, call, refusal
from hermes_process import HERMES, Hermes, Terminal

pytestmark = pytest.mark.anyio


def removal(folder: Path) -> dict[str, str]:
    """Return the arguments of a command that is asked about, and make what it would remove."""
    target = folder / "precious"
    target.mkdir()
    return {"command": f"rm -rf {target}"}


# -- what goes where


async def test_the_answer_alone_goes_to_stdout(hermes: Hermes) -> None:
    """HA-138: the answer on stdout, all else on stderr."""
    async with ScriptedModel([answer("Looking.", call("terminal", command="echo hi")), answer("It says hi.")]) as model:
        hermes.answered_by(model)
        done = await hermes.run("chat", "-q", "look")
    assert done.returncode == Exit.OK
    assert done.stdout.decode() == "Looking.\nIt says hi.\n"
    told = done.stderr.decode()
    assert "✓ terminal" in told
    assert "m (custom)" in told


async def test_z_prints_the_last_answer_and_nothing_else_anywhere(hermes: Hermes) -> None:
    """HA-138"""
    async with ScriptedModel([answer("Looking.", call("terminal", command="echo hi")), answer("It says hi.")]) as model:
        hermes.answered_by(model)
        done = await hermes.run("-z", "look")
    assert (done.returncode, done.stdout, done.stderr) == (Exit.OK, b"It says hi.\n", b"")


async def test_the_answer_is_written_to_a_file_whole(hermes: Hermes, tmp_path: Path) -> None:
    """HA-138"""
    async with ScriptedModel([answer(Text("wörd ", times=5000))]) as model:
        hermes.answered_by(model)
        with (tmp_path / "out.txt").open("wb") as file:
            async with hermes.beside("-z", "many words", stdout=file.fileno()) as process:
                assert await process.wait() == Exit.OK
    assert (tmp_path / "out.txt").read_text() == "wörd " * 5000 + "\n"


async def test_a_terminal_shows_answer_and_tools_in_order(hermes: Hermes) -> None:
    """HA-138"""
    async with ScriptedModel([answer("Looking.", call("terminal", command="echo hi")), answer("Done.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal("chat", "-q", "look") as terminal:
            assert await terminal.ended() == Exit.OK
            shown = [line for line in terminal.lines if line]
    assert shown == ["Looking.", "✓ terminal echo hi", "  hi", "Done.", "· m (custom)"]


async def test_a_reader_that_has_left_is_no_drama(hermes: Hermes) -> None:
    """HA-138: a closed pipe ends the command quietly, with the code a shell knows, and the turn ends too."""
    async with ScriptedModel([answer(Text("word ", times=100_000))]) as model:
        hermes.answered_by(model)
        reader, writer = os.pipe()
        async with hermes.beside("chat", "-q", "on and on", stdout=writer) as process:
            os.close(writer)
            await anyio.wait_readable(reader)
            os.read(reader, 10)
            os.close(reader)
            assert process.stderr is not None
            told = b"".join([chunk async for chunk in process.stderr])
            assert await process.wait() == Exit.CLOSED_PIPE
    assert told == b""


async def test_output_that_has_no_place_is_a_failure_with_a_sentence(hermes: Hermes) -> None:
    """HA-138: a full disk is not a success without output."""
    async with ScriptedModel([answer("words")]) as model:
        hermes.answered_by(model)
        full = os.open("/dev/full", os.O_WRONLY)
        async with hermes.beside("-z", "say", stdout=full) as process:
            os.close(full)
            assert process.stderr is not None
            told = b"".join([chunk async for chunk in process.stderr])
            assert await process.wait() == Exit.FAILED
    assert told.decode().count("\n") == 1
    assert "cannot be written" in told.decode()


@pytest.mark.parametrize(
    ("redirect", "code"), [(">&-", 1), (">/dev/full", 1), ("2>&-", 0), ("<&-", 0), ("<&- >&- 2>&-", 1)]
)
async def test_closed_streams_are_never_mistaken_for_files(hermes: Hermes, redirect: str, code: int) -> None:
    """HA-138: an answer that cannot be written is a failure, and is never written into another file instead."""
    async with ScriptedModel([answer("words"), answer("words")]) as model:
        hermes.answered_by(model)
        for words in ("-z x", "sessions list"):
            shell = f"{shlex.join(HERMES)} {words} {redirect}"
            done = await anyio.run_process(["sh", "-c", shell], check=False, cwd=hermes.folder)
            assert done.returncode == code, done.stderr
            assert b"Traceback" not in done.stderr
    assert (hermes.home / "sessions.sqlite3").read_bytes().startswith(b"SQLite format 3\0")


async def test_an_answer_of_nothing_is_a_failure(hermes: Hermes) -> None:
    """HA-138"""
    async with ScriptedModel([answer(Text(" \n"))] * 4) as model:
        hermes.answered_by(model)
        done = await hermes.run("-z", "x")
    assert done.returncode == Exit.FAILED
    assert done.stdout.strip() == b""
    assert done.stderr.decode().startswith("hermes: ")


async def test_text_of_a_model_cannot_steer_a_terminal_but_reaches_a_pipe_as_it_is(hermes: Hermes) -> None:
    async with ScriptedModel([answer("a\x1b[2Jb"), answer("a\x1b[2Jb")]) as model:
        hermes.answered_by(model)
        piped = await hermes.run("-z", "x")
        async with hermes.terminal("-z", "x") as terminal:
            await terminal.ended()
    assert piped.stdout == b"a\x1b[2Jb\n"
    assert terminal.lines[0] == "ab"


# -- how it ends


async def test_a_turn_that_fails_ends_with_1_and_a_sentence(hermes: Hermes) -> None:
    """HA-138: a failure is never an empty success."""
    async with ScriptedModel([refusal(401, "wrong key"), refusal(401, "wrong key")]) as model:
        hermes.answered_by(model)
        for words in (("-z", "x"), ("chat", "-q", "x")):
            failed = await hermes.run(*words)
            assert (failed.returncode, failed.stdout) == (Exit.FAILED, b"")
            assert b"key" in failed.stderr
            assert b"Traceback" not in failed.stderr


async def test_no_model_at_all_ends_with_3_and_what_to_do(hermes: Hermes, tmp_path: Path) -> None:
    lonely = {"HERMES_LOCAL_MODEL": str(tmp_path / "nothing.gguf"), "OLLAMA_HOST": "127.0.0.1:9"}
    hermes.home.mkdir()
    (hermes.home / "config.yaml").write_text("model: {provider: ollama, base_url: 'http://127.0.0.1:9/v1'}\n")
    failed = await hermes.run("-z", "x", env=lonely)
    assert (failed.returncode, failed.stdout) == (Exit.NO_MODEL, b"")
    assert failed.stderr.decode().startswith("hermes: ")


async def test_settings_that_cannot_be_read_are_named(hermes: Hermes) -> None:
    hermes.home.mkdir()
    (hermes.home / "config.yaml").write_text("- a list\n")
    failed = await hermes.run("-z", "x")
    assert failed.returncode == Exit.FAILED
    assert b"config.yaml" in failed.stderr
    assert b"Traceback" not in failed.stderr


async def test_a_folder_that_was_removed_is_a_usage_error(hermes: Hermes, tmp_path: Path) -> None:
    hermes.folder = tmp_path / "gone"
    hermes.folder.mkdir()
    command = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    async with ScriptedModel() as model:
        hermes.answered_by(model)
        done = await anyio.run_process(
            ["sh", "-c", command, "sh", str(hermes.folder), *HERMES, "-z", "Hello"], check=False
        )
        elsewhere = await anyio.run_process(
            [
                "sh",
                "-c",
                f"mkdir -p $1; {command}",
                "sh",
                str(hermes.folder),
                *HERMES,
                "--cwd",
                str(tmp_path),
                "-z",
                "Hi",
            ],
            check=False,
        )
    assert (done.returncode, done.stdout) == (Exit.USAGE, b"")
    assert done.stderr == b"hermes: This folder has been removed; go to another one, or name one with --cwd.\n"
    assert (elsewhere.returncode, elsewhere.stdout) == (Exit.OK, b"ok\n")


async def test_an_empty_message_is_a_usage_error(hermes: Hermes) -> None:
    assert (await hermes.run("-z", "  ")).returncode == Exit.USAGE
    assert (await hermes.run("chat", "-q", "-", stdin=b"\n")).returncode == Exit.USAGE


async def test_a_session_that_does_not_exist_is_a_usage_error(hermes: Hermes) -> None:
    missing = await hermes.run("-z", "x", "--resume", "20200101_000000_abcdef")
    assert missing.returncode == Exit.USAGE
    assert b"20200101_000000_abcdef" in missing.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_signal_stops_the_turn_and_keeps_what_was_said(
    hermes: Hermes, number: signal.Signals, code: int
) -> None:
    async with ScriptedModel([answer("Beginning", Stall())]) as model:
        hermes.answered_by(model)
        async with hermes.beside("chat", "-q", "tell") as process:
            assert process.stdout is not None
            assert await process.stdout.receive() == b"Beginning"
            process.send_signal(number)
            assert await process.wait() == code
        shown = await hermes.run("sessions", "export", (await only_session(hermes)))
    assert b"Beginning" in shown.stdout


# -- nobody is waited for


@pytest.mark.parametrize("words", [("-z", "x"), ("chat", "-q", "x")])
async def test_without_a_terminal_what_needs_an_approval_is_denied_at_once(
    hermes: Hermes, words: tuple[str, ...]
) -> None:
    """HA-054: no interactive channel never means yes."""
    async with ScriptedModel(
        [answer(call("terminal", **removal(hermes.folder))), answer("I was not allowed to.")]
    ) as model:
        hermes.answered_by(model)
        done = await hermes.run(*words)
        told = model.requests[1]["messages"][-1]["content"]
    assert (hermes.folder / "precious").is_dir()
    assert done.returncode == Exit.OK
    assert done.stdout == b"I was not allowed to.\n"
    assert "approval" in told


async def test_a_clarification_without_a_terminal_ends_empty(hermes: Hermes) -> None:
    """HA-054: a question where nobody can answer does not hang."""
    async with ScriptedModel([answer(call("clarify", question="Which?")), answer("I guessed.")]) as model:
        hermes.answered_by(model)
        done = await hermes.run("-z", "x")
    assert (done.returncode, done.stdout) == (Exit.OK, b"I guessed.\n")


@pytest.mark.parametrize("words", [("-z", "x"), ("chat", "-q", "x")])
async def test_the_bypass_flag_runs_what_would_be_denied(hermes: Hermes, words: tuple[str, ...]) -> None:
    """HA-135: the flag works; the test above shows that without it the same start asks (and is denied)."""
    async with ScriptedModel([answer(call("terminal", **removal(hermes.folder))), answer("Gone.")]) as model:
        hermes.answered_by(model)
        done = await hermes.run("--yolo", *words)
    assert not (hermes.folder / "precious").exists()
    assert done.stdout == b"Gone.\n"


async def test_the_bypass_flag_holds_for_its_process_only(hermes: Hermes) -> None:
    """HA-135"""
    remove = removal(hermes.folder)
    async with ScriptedModel([answer("ok"), answer(call("terminal", **remove)), answer("Not allowed.")]) as model:
        hermes.answered_by(model)
        await hermes.run("--yolo", "-z", "x")
        await hermes.run("-z", "x")
    assert (hermes.folder / "precious").is_dir()


@pytest.mark.parametrize(
    ("typed", "gone"), [("o\r", True), ("d\r", False), ("nonsense\rdeny\r", False), ("\x04", False)]
)
async def test_in_a_terminal_the_person_is_asked(hermes: Hermes, typed: str, gone: bool) -> None:
    """HA-135: the same start without the flag asks."""
    async with ScriptedModel([answer(call("terminal", **removal(hermes.folder))), answer("So be it.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal("chat", "-q", "x") as terminal:
            await terminal.until("[d] deny:")
            await type_slowly(terminal, typed)
            assert await terminal.ended() == Exit.OK
            assert "rm -rf" in terminal.text
    assert (hermes.folder / "precious").exists() is not gone


async def test_an_interrupt_takes_the_question_away(hermes: Hermes) -> None:
    async with ScriptedModel([answer(call("terminal", **removal(hermes.folder)))]) as model:
        hermes.answered_by(model)
        async with hermes.terminal("chat", "-q", "x") as terminal:
            await terminal.until("[d] deny:")
            terminal.type("\x03")
            assert await terminal.ended() == Exit.INTERRUPTED
    assert (hermes.folder / "precious").is_dir()


# -- sessions


async def test_a_conversation_goes_on_by_its_id_and_as_the_newest(hermes: Hermes) -> None:
    async with ScriptedModel([answer("one"), answer("two"), answer("three")]) as model:
        hermes.answered_by(model)
        await hermes.run("-z", "first")
        await hermes.run("-z", "second", "--continue")
        await hermes.run("chat", "-q", "third", "--resume", await only_session(hermes))
        said = [message["content"] for message in model.requests[2]["messages"] if message["role"] == "user"]
    assert said == ["first", "second", "third"]


async def test_a_message_is_read_from_stdin(hermes: Hermes) -> None:
    async with ScriptedModel([answer("fine")]) as model:
        hermes.answered_by(model)
        done = await hermes.run("chat", "-q", "-", stdin="größer\n".encode())
        assert model.requests[0]["messages"][-1]["content"] == "größer\n"
    assert done.stdout == b"fine\n"


async def test_the_model_and_the_folder_can_be_chosen_for_one_answer(hermes: Hermes, tmp_path: Path) -> None:
    async with ScriptedModel([answer(call("terminal", command="pwd")), answer("ok")]) as model:
        hermes.answered_by(model)
        await hermes.run("--model", "other", "-z", "x", "--cwd", str(tmp_path))
        assert model.requests[0]["model"] == "other"
        assert str(tmp_path) in model.requests[1]["messages"][-1]["content"].split()


async def only_session(hermes: Hermes) -> str:
    """Return the id of the newest session."""
    listed = await hermes.run("sessions", "list")
    return listed.stdout.decode().split()[0]


async def type_slowly(terminal: Terminal, lines: str) -> None:
    """Type line after line, each after the prompt that it answers."""
    for number, line in enumerate(lines.splitlines(keepends=True) if "\r" in lines else [lines], 1):
        await terminal.until(lambda seen, count=number: seen.text.count("[d] deny:") >= count)
        terminal.type(line)
