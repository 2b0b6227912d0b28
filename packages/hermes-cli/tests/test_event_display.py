"""Every event there is, shown by the chat and by the one-shot answer; and how single things look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast, get_args

import pytest
from hermes_cli.answering import LOCAL, advice
from hermes_cli.asking import chosen
from hermes_cli.chat.inquiry import Inquiry
from hermes_cli.chat.markdown import Painter
from hermes_cli.chat.scene import OpenApproval, Scene
from hermes_cli.chat.screen import Screen
from hermes_cli.chat.scroll import Scroll
from hermes_cli.chat.watch import Watch
from hermes_cli.diff import BIGGEST, diff_lines
from hermes_cli.exits import Exit, exit_for_code
from hermes_cli.ink import Ink
from hermes_cli.oneshot import OneShot
from hermes_cli.options import ChatOptions
from hermes_cli.printable import duration, one_line, printable
from hermes_core import events as ev
from hermes_core.config import Config
from hermes_core.content import TextPart
from hermes_core.models.provider import Endpoint
from hermes_core.questions import (
    Approval,
    ApprovalAnswer,
    Clarify,
    ClarifyAnswer,
    ClarifyItem,
    FileChange,
    Secret,
    SecretAnswer,
    Sudo,
    SudoAnswer,
)
from hermes_core.subagents.info import AgentInfo
from hermes_core.usage import Usage
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.output import DummyOutput

pytestmark = pytest.mark.anyio

PLAIN = Ink(coloured=False)
CHANGE = FileChange("/w/a", "one\ntwo\n", "one\n2\n")
START = ev.ToolStart(tool_call_id="c", name="patch", args={}, label="a")
END = ev.ToolComplete(
    tool_call_id="c", name="patch", args={}, result="ok", outcome="ok", duration=1.0, label="a", changes=(CHANGE,)
)

AGENT = AgentInfo(id="sa-0-00000000", goal="Look", status="completed")

EVERY: list[ev.Event] = [
    ev.UserMessageAdded(row_id=1, parts=(TextPart("hello"),)),
    ev.MessageStart(),
    ev.ReasoningDelta(text="I think"),
    ev.MessageDelta(text="Look.\n"),
    ev.ToolGenerating(name="patch"),
    ev.MessageInterim(text="Look.\n", row_id=2),
    ev.StepDone(step=1, row_id=2, usage=Usage()),
    START,
    ev.ApprovalRequest(question=Approval(id="q1", turn_id="t", tool="patch", command="patch a", description="why")),
    ev.QuestionClosed(request_id="q1", kind="approval", reason="answered", choice="once"),
    ev.ClarifyRequest(question=Clarify(id="q2", turn_id="t", items=(ClarifyItem("i", "Which?", ("x", "y")),))),
    ev.QuestionClosed(request_id="q2", kind="clarify", reason="expired"),
    ev.SudoRequest(question=Sudo(id="q3", turn_id="t", command="sudo id")),
    ev.QuestionClosed(request_id="q3", kind="sudo", reason="withdrawn"),
    ev.SecretRequest(question=Secret(id="q4", turn_id="t", env_var="KEY")),
    ev.QuestionClosed(request_id="q4", kind="secret", reason="answered"),
    ev.ToolProgress(tool_call_id="c", name="patch", text="half"),
    ev.SteerQueued(text="left"),
    END,
    ev.SteerDelivered(text="left", tool_call_id="c"),
    ev.QueueChanged(texts=("next one",)),
    ev.AgentRequested(agent=AGENT),
    ev.AgentStarted(agent=AGENT),
    ev.AgentThinking(agent=AGENT, text="Hm"),
    ev.AgentTool(agent=AGENT, tool="patch"),
    ev.AgentProgress(agent=AGENT, text="Half."),
    ev.AgentComplete(agent=AGENT),
    ev.BackgroundComplete(task_id="bg_1", text="Done beside."),
    ev.TranscriptCut(removed=2),
    ev.TranscriptCompacted(before_messages=9, after_messages=3, before_tokens=900, after_tokens=90),
    ev.ToolsChanged(added=("a",)),
    ev.StatusUpdate(kind="retry", text="again in 2 s"),
    ev.ErrorEvent(message="a fault", code="x"),
    ev.MessageComplete(status="error", error="it broke", code="x", pending_steer="unread"),
    ev.SessionTitle(stored_id="s", title="A title"),
    ev.SessionInfo(
        stored_id="s", title="A title", model="m", provider="p", cwd="/w", state="idle", usage=Usage(), context_max=100,
        context_used=50,
    ),
    ev.SessionClosedEvent(reason="quit"),
]  # fmt: skip


class Chat:
    """Scene, screen, scroll and watch without a terminal; `printed` is the scrollback."""

    def __init__(self, history: Path) -> None:
        self.printed = ""
        self.screen = Screen(Scene(PLAIN), history, DummyOutput())
        self.scroll = Scroll(PLAIN, Painter(coloured=False), self._print, lambda: 80)
        self.inquiry = Inquiry(self.screen, self.scroll)
        self.watch = Watch(self.screen, self.scroll, self.inquiry, reasoning=True)

    def _print(self, text: str) -> None:
        self.printed += text


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Chat]:
    chat = Chat(tmp_path / "history")
    with closing(chat.screen):
        yield chat


def test_the_list_above_holds_every_event_there_is() -> None:
    assert {type(event) for event in EVERY} == set(get_args(ev.Event))


async def test_the_chat_shows_every_event(chat: Chat) -> None:
    for event in EVERY:
        chat.watch.show([event])
        for width in (20, 80):
            assert all("\n" not in line for line in chat.screen.scene.tool_lines(width))
            assert len(chat.screen.scene.footer(width)) <= width
            assert len(chat.screen.scene.status_line(width)) <= width
    shown = chat.printed
    for expected in ("❯ hello", "Look.", "? patch asks: why", "Allowed: once.", "Nobody answered in time", "sudo id"):
        assert expected in shown
    for expected in ("→ left", "✓ patch a  1.0s", "2 + 2", "· again in 2 s", "✗ a fault", "✗ it broke", "unread"):
        assert expected in shown
    for expected in ("⤷ sub-agent: Look", "⤶ sub-agent completed: Look", "bg_1: Done beside.", "9 messages are now 3"):
        assert expected in shown
    assert chat.screen.scene.context == "50% full"
    assert not chat.screen.scene.busy


async def test_events_of_one_read_and_events_one_by_one_look_the_same(tmp_path: Path) -> None:
    together, apart = Chat(tmp_path / "a"), Chat(tmp_path / "b")
    with closing(together.screen), closing(apart.screen):
        together.watch.show(EVERY)
        for event in EVERY:
            apart.watch.show([event])
    assert together.printed == apart.printed


@pytest.mark.parametrize("answer_only", [True, False])
async def test_the_one_shot_answer_shows_every_event(capfd: pytest.CaptureFixture[str], answer_only: bool) -> None:
    options = ChatOptions(text="x", answer_only=answer_only)
    shot = OneShot(cast("Any", None), options, Config(home=Path("/")), person=False)
    for event in EVERY:
        await shot.show(event)
    out, err = capfd.readouterr()
    assert out == ("" if answer_only else "Look.\n")
    assert ("✓ patch" in err) is not answer_only


# -- questions


async def test_what_is_typed_answers_the_question_on_the_screen(chat: Chat) -> None:
    items = (ClarifyItem("i", "Which?", ("x", "y")), ClarifyItem("j", "Why?"))
    chat.inquiry.add(Clarify(id="q", turn_id="t", items=items))
    assert chat.inquiry.typed("2") is None
    assert chat.inquiry.typed("because") == ClarifyAnswer({"i": "y", "j": "because"})
    chat.inquiry.closed("q", "answered", None)
    for question, answer in (
        (Sudo(id="s", turn_id="t"), SudoAnswer("hunter2")),
        (Secret(id="k", turn_id="t", env_var="KEY"), SecretAnswer("hunter2")),
    ):
        chat.inquiry.add(question)
        assert chat.screen.scene.hidden
        assert chat.inquiry.typed("hunter2") == answer
        chat.inquiry.closed(question.id, "answered", None)
        assert not chat.screen.scene.hidden
    chat.scroll.flush()
    assert "hunter2" not in chat.printed


async def test_questions_come_one_after_the_other_and_a_closed_one_is_never_shown(chat: Chat) -> None:
    for name in ("q1", "q2", "q3"):
        chat.inquiry.add(Approval(id=name, turn_id="t", tool="terminal", command=f"run {name}", description="why"))
    assert chat.inquiry.current is not None
    assert chat.inquiry.current.id == "q1"
    chat.inquiry.closed("q2", "withdrawn", None)
    chat.inquiry.closed("q1", "answered", "once")
    assert chat.inquiry.current.id == "q3"
    chat.scroll.flush()
    assert "run q2" not in chat.printed
    assert chat.inquiry.choose("deny") == ApprovalAnswer("deny")


async def test_a_message_being_written_survives_a_question(chat: Chat) -> None:
    chat.screen.composer.text = "half a mess"
    chat.inquiry.add(Sudo(id="s", turn_id="t"))
    assert chat.screen.composer.text == ""
    chat.inquiry.closed("s", "answered", None)
    assert chat.screen.composer.text == "half a mess"


def test_only_offered_answers_stand_on_the_screen() -> None:
    scene = Scene(PLAIN)
    question = Approval(id="q", turn_id="t", tool="x", command="y", description="", choices=("once", "deny"))
    scene.approval = OpenApproval(question)
    scene.approval.since -= 10
    assert scene.approval_lines(80, typing=False) == ["❯ [o] allow once", "  [d] deny"]
    scene.approval.move(1)
    assert scene.approval_lines(80, typing=False)[1].startswith("❯")


def test_a_fresh_approval_takes_no_keys_yet() -> None:
    scene = Scene(PLAIN)
    scene.approval = OpenApproval(Approval(id="q", turn_id="t", tool="x", command="y", description=""))
    scene.approval.since += 3600
    assert not scene.approval.armed
    assert not any("[" in line for line in scene.approval_lines(80, typing=False))


@pytest.mark.parametrize(
    ("typed", "multiple", "answer"),
    [("1", False, "a"), ("3", False, "3"), ("1, 2", True, "a, b"), ("1 2", False, "1 2"), ("own", True, "own")],
)  # fmt: skip
def test_numbers_stand_for_choices(typed: str, multiple: bool, answer: str) -> None:
    assert chosen(ClarifyItem("i", "Which?", ("a", "b"), multiple), typed) == answer


# -- small things


@given(st.text(), st.integers(1, 100))
def test_one_line_is_one_line_and_never_longer_than_allowed(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line)


@given(st.text())
def test_printable_text_holds_no_control_but_newline_and_tab(text: str) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printable(text))


@given(st.text(), st.text(), st.integers(20, 120))
def test_a_diff_fits_the_width_and_the_limit(old: str, new: str, width: int) -> None:
    lines = diff_lines(FileChange("/a", old, new), PLAIN, width, 10)
    assert len(lines) <= 11
    assert all(len(line) <= width for line in lines)


def test_a_huge_edit_is_counted_not_compared() -> None:
    assert diff_lines(FileChange("/a", None, "x\n" * BIGGEST), PLAIN, 80, 10) == [
        f"  0 lines before, {BIGGEST} lines after"
    ]


def test_spans_are_told_like_people_tell_them() -> None:
    assert [duration(span) for span in (0.44, 12.3, 185)] == ["0.4s", "12s", "3m 05s"]


def test_codes_of_turns_become_exit_codes() -> None:
    codes = ("no_model", "invalid_input", "session_not_found", "interrupted", "auth")
    assert [exit_for_code(code) for code in codes] == [
        Exit.NO_MODEL, Exit.USAGE, Exit.USAGE, Exit.INTERRUPTED, Exit.FAILED
    ]  # fmt: skip


def test_advice_is_given_where_nobody_chose_the_model(tmp_path: Path) -> None:
    config = Config(home=tmp_path)
    small, found = Endpoint(provider=LOCAL, model="tiny"), Endpoint(provider="ollama", model="big")
    assert "hermes setup" in advice(small, config, asked_for=True)
    assert "hermes model" in advice(found, config, asked_for=False)
    assert advice(found, config, asked_for=True) == ""
