"""The interactive chat in a real terminal: what a person types, and what they see."""

from __future__ import annotations

import signal
import stat

import pytest
from hermes_cli.exits import Exit
from hermes_core.testing import ScriptedModel, Stall, Text, answer, call
from hermes_process import Hermes, Terminal

pytestmark = pytest.mark.anyio

READY = "m (custom)"
ENTER, CTRL_C, CTRL_D, UP, ALT_ENTER = "\r", "\x03", "\x04", "\x1b[A", "\x1b\r"


def said(model: ScriptedModel, request: int) -> list[str]:
    """Return what the person had said in one request."""
    return [message["content"] for message in model.requests[request]["messages"] if message["role"] == "user"]


def idle(terminal: Terminal) -> bool:
    """Whether the foot shows that nothing goes on."""
    return READY in terminal.text and "Ctrl-C stops" not in terminal.text


async def test_a_conversation_is_left_whole_in_the_scrollback(hermes: Hermes) -> None:
    text = "# Title\n\nSome **bold** words.\n\n- one\n- two\n\n```py\nx = 1\n```\n\nThe end."
    async with ScriptedModel([answer(Text(text, size=3)), answer("Again.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("hello" + ENTER)
            await terminal.until("The end.")
            await terminal.until(idle)
            terminal.type("more" + ENTER)
            await terminal.until("Again.")
            await terminal.until(idle)
            terminal.type(CTRL_D)
            assert await terminal.ended() == Exit.OK
            lines = [line for line in terminal.text.split("\n") if line]
    assert lines[:-1] == [
        "Hermes · /help lists the commands",
        "❯ hello",
        "Title",
        "Some bold words.",
        " • one",
        " • two",
        "  x = 1",
        "The end.",
        "❯ more",
        "Again.",
    ]
    assert lines[-1].startswith("hermes --resume ")


@pytest.mark.parametrize(("key", "gone"), [("o", True), ("d", False), ("\x1b[A\r", False)])
async def test_an_approval_is_answered_with_a_key(hermes: Hermes, key: str, gone: bool) -> None:
    """HA-135: without the flag the chat asks; the last key chooses by arrow: the last line denies."""
    (hermes.folder / "old").mkdir()
    async with ScriptedModel([answer(call("terminal", command="rm -rf old")), answer("So be it.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("tidy" + ENTER)
            await terminal.until("❯ [o] allow once")
            assert "rm -rf old" in terminal.text
            terminal.type(key)
            await terminal.until("So be it.")
            assert ("✓ terminal rm -rf old" in terminal.text) is gone
            assert ("⊘ terminal rm -rf old" in terminal.text) is not gone
    assert (hermes.folder / "old").exists() is not gone


async def test_the_bypass_flag_asks_nothing_and_says_so_all_the_time(hermes: Hermes) -> None:
    """HA-135"""
    (hermes.folder / "old").mkdir()
    async with ScriptedModel([answer(call("terminal", command="rm -rf old")), answer("Gone.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal("--yolo") as terminal:
            await terminal.until("approvals are off")
            terminal.type("tidy" + ENTER)
            await terminal.until("Gone.")
            assert "allow once" not in terminal.text
    assert not (hermes.folder / "old").exists()


async def test_a_message_that_is_being_written_does_not_answer_an_approval(hermes: Hermes) -> None:
    (hermes.folder / "old").mkdir()
    async with ScriptedModel(
        [answer("Wait.", Stall(), call("terminal", command="rm -rf old")), answer("Ok.")]
    ) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("tidy" + ENTER)
            await terminal.until("Wait.")
            terminal.type("also")
            await terminal.until("❯ also")
            model.release()
            await terminal.until("Send or clear the message below to answer.")
            terminal.type(" oops" + ENTER)
            await terminal.until("next: also oops")
            await terminal.until("❯ [o] allow once")
            assert (hermes.folder / "old").is_dir()
            terminal.type("d")
            await terminal.until("Denied.")
    assert (hermes.folder / "old").is_dir()


async def test_ctrl_c_stops_the_turn_and_the_chat_goes_on(hermes: Hermes) -> None:
    async with ScriptedModel([answer("Beginning", Stall()), answer("Next answer.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("tell" + ENTER)
            await terminal.until("Beginning")
            terminal.type(CTRL_C)
            await terminal.until("Interrupted.")
            await terminal.until(idle)
            terminal.type("again" + ENTER)
            await terminal.until("Next answer.")
            await terminal.until(idle)
            terminal.type(CTRL_C)
            await terminal.until("Press Ctrl-C again to leave.")
            terminal.type(CTRL_C)
            assert await terminal.ended() == Exit.OK


async def test_what_is_typed_during_a_turn_waits_for_its_end(hermes: Hermes) -> None:
    async with ScriptedModel([answer("Slow.", Stall()), answer("Second answer.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("first" + ENTER)
            await terminal.until("Slow.")
            terminal.type("second" + ALT_ENTER + "line" + ENTER)
            await terminal.until("next: second line")
            model.release()
            await terminal.until("Second answer.")
            assert said(model, 1) == ["first", "second\nline"]


async def test_a_dropped_follow_up_is_shown(hermes: Hermes) -> None:
    async with ScriptedModel([answer("Slow.", Stall())]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("first" + ENTER)
            await terminal.until("Slow.")
            terminal.type("second" + ENTER)
            await terminal.until("next: second")
            terminal.type(CTRL_C)
            await terminal.until("Not sent: second")
            await terminal.until(idle)
            assert len(model.requests) == 1


async def test_steering_reaches_the_running_turn(hermes: Hermes) -> None:
    async with ScriptedModel([answer("Hm.", Stall(), call("terminal", command="true")), answer("I see.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("/steer too early" + ENTER)
            await terminal.until("Nothing is running")
            terminal.type("go" + ENTER)
            await terminal.until("Hm.")
            terminal.type("/steer look left" + ENTER)
            await terminal.until("→ look left")
            model.release()
            await terminal.until("I see.")
            assert "look left" in model.requests[1]["messages"][-1]["content"]
            assert "too early" not in str(model.requests)


async def test_a_clarification_is_answered_by_number_or_in_words(hermes: Hermes) -> None:
    ask = call("clarify", question="Which colour?", choices=["red", "green"])
    async with ScriptedModel([answer(ask), answer("One."), answer(ask), answer("Two.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            for typed, meant, end in (("2", "green", "One."), ("blue please", "blue please", "Two.")):
                terminal.type("paint" + ENTER)
                await terminal.until("answer ❯")
                terminal.type(typed + ENTER)
                await terminal.until(f"→ {meant}")
                await terminal.until(end)
                await terminal.until(idle)
                assert meant in model.requests[-1]["messages"][-1]["content"]


async def test_slips_cost_nothing_and_paths_are_messages(hermes: Hermes) -> None:
    """HA-141, HA-132: in the chat, as in the rule."""
    async with ScriptedModel([answer("It lists hosts."), answer("A note.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("/ btw x" + ENTER)
            await terminal.until("A command follows the slash directly; /help")
            terminal.type("/zzz" + ENTER)
            await terminal.until("There is no command /zzz; /help")
            assert model.requests == []
            terminal.type("/etc/hosts explain" + ENTER)
            await terminal.until("It lists hosts.")
            await terminal.until(idle)
            terminal.type("// note" + ENTER)
            await terminal.until("A note.")
            assert said(model, 1) == ["/etc/hosts explain", "// note"]


async def test_sessions_are_named_left_and_taken_up_again(hermes: Hermes) -> None:
    async with ScriptedModel([answer("First answer."), answer("Second answer."), answer("Third answer.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal(rows=40) as terminal:
            await terminal.until(READY)
            terminal.type("one" + ENTER)
            await terminal.until("First answer.")
            terminal.type("/title My work" + ENTER)
            await terminal.until("· My work")
            terminal.type("/new" + ENTER)
            await terminal.until("A new session.")
            terminal.type("two" + ENTER)
            await terminal.until("Second answer.")
            terminal.type("/sessions" + ENTER)
            await terminal.until("/resume NUMBER")
            terminal.type("/resume 2" + ENTER)
            await terminal.until(lambda seen: seen.text.count("First answer.") == 2)
            terminal.type("three" + ENTER)
            await terminal.until("Third answer.")
            assert said(model, 2) == ["one", "three"]


async def test_a_resumed_session_shows_what_its_calls_did(hermes: Hermes) -> None:
    async with ScriptedModel([answer(call("terminal", command="echo hello there")), answer("Said.")]) as model:
        hermes.answered_by(model)
        await hermes.run("-z", "Say hello.")
        async with hermes.terminal("--continue") as terminal:
            await terminal.until("Said.")
            assert "✓ terminal echo hello there" in terminal.text


async def test_the_model_can_be_changed_in_the_chat(hermes: Hermes) -> None:
    async with ScriptedModel([answer("From the other.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("/model other" + ENTER)
            await terminal.until("other (custom)")
            terminal.type("hi" + ENTER)
            await terminal.until("From the other.")
            assert model.requests[0]["model"] == "other"


async def test_a_failed_turn_says_why_and_the_chat_goes_on(hermes: Hermes) -> None:
    async with ScriptedModel([]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("[[status 401 no]]" + ENTER)
            await terminal.until("✗ ")
            await terminal.until(idle)
            terminal.type("[[echo Better.]]" + ENTER)
            await terminal.until(lambda seen: "Better." in seen.lines)
            assert len(model.requests) == 2


async def test_without_a_model_the_chat_says_what_to_do(hermes: Hermes) -> None:
    hermes.home.mkdir(mode=0o700)
    (hermes.home / "config.yaml").write_text("model: {provider: ollama, base_url: 'http://127.0.0.1:9/v1'}\n")
    async with hermes.terminal() as terminal:
        await terminal.until("! Ollama does not answer")
        terminal.type("hi" + ENTER)
        await terminal.until("✗ Ollama does not answer")
        terminal.type(CTRL_D)
        assert await terminal.ended() == Exit.OK


async def test_lines_are_remembered_in_a_private_file(hermes: Hermes) -> None:
    async with ScriptedModel([answer("One."), answer("Two.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("remember me" + ENTER)
            await terminal.until("One.")
            await terminal.until(idle)
            terminal.type(CTRL_D)
            await terminal.ended()
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type(UP)
            await terminal.until("❯ remember me")
    assert stat.S_IMODE((hermes.home / "history").stat().st_mode) == 0o600


async def test_a_signal_ends_the_chat_and_restores_the_terminal(hermes: Hermes) -> None:
    async with ScriptedModel([answer("Beginning", Stall())]) as model:
        hermes.answered_by(model)
        async with hermes.terminal() as terminal:
            await terminal.until(READY)
            terminal.type("tell" + ENTER)
            await terminal.until("Beginning")
            terminal.process.send_signal(signal.SIGTERM)
            assert await terminal.ended() == Exit.TERMINATED
    assert terminal.raw.rstrip().count(b"\x1b[?2004l") >= 1
    assert terminal.raw.rindex(b"\x1b[?25h") > terminal.raw.rindex(b"\x1b[?25l")


async def test_a_narrow_terminal_shows_all_of_an_approval(hermes: Hermes) -> None:
    (hermes.folder / "old").mkdir()
    command = "rm -rf old && echo " + "x" * 60 + " END"
    async with ScriptedModel([answer(call("terminal", command=command)), answer("Done.")]) as model:
        hermes.answered_by(model)
        async with hermes.terminal(rows=18, columns=32) as terminal:
            await terminal.until(READY)
            terminal.type("go" + ENTER)
            await terminal.until("❯ [o] allow once")
            shown = "".join(line.strip() for line in terminal.text.split("\n"))
            assert "x" * 60 in shown
            assert "END" in shown
            terminal.type("d")
            await terminal.until("Done.")
