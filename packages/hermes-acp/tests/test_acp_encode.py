"""Events as updates: every event has its place, frames look as the protocol says, and none is too long."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hermes_acp import cards, limits
from hermes_acp.encode import Encoder, stop_reason
from hermes_acp.errors import InvalidParams, rpc_error
from hermes_acp.wire.updates import UpdateParams
from hermes_core.content import ImagePart, TextPart
from hermes_core.errors import ProviderError, SessionNotFound
from hermes_core.events import (
    AgentComplete,
    AgentProgress,
    AgentRequested,
    AgentStarted,
    AgentThinking,
    AgentTool,
    ApprovalRequest,
    BackgroundComplete,
    ClarifyRequest,
    ErrorEvent,
    Event,
    MessageComplete,
    MessageDelta,
    MessageInterim,
    MessageStart,
    QuestionClosed,
    QueueChanged,
    ReasoningDelta,
    SecretRequest,
    SessionClosedEvent,
    SessionInfo,
    SessionTitle,
    StatusUpdate,
    SteerDelivered,
    SteerQueued,
    StepDone,
    SudoRequest,
    TodoItem,
    ToolComplete,
    ToolGenerating,
    ToolProgress,
    ToolsChanged,
    ToolStart,
    TranscriptCompacted,
    TranscriptCut,
    UserMessageAdded,
)
from hermes_core.jsonrpc import error_line, notification_line
from hermes_core.questions import Approval, Clarify, ClarifyItem, FileChange, Secret, Sudo
from hermes_core.subagents.info import AgentInfo
from hermes_core.usage import Usage
from hypothesis import given
from hypothesis import strategies as st

APPROVAL = Approval(
    id="q1",
    turn_id="t",
    tool_call_id="c1",
    tool="write_file",
    command="write /w/a",
    description="it changes files",
    changes=(FileChange("/w/a", "old\n", "new\n"),),
)

AGENT = AgentInfo(id="sa-0-00000000", goal="Look")

SAMPLES: dict[type, Event] = {
    type(event): event
    for event in (
        UserMessageAdded(row_id=1, parts=(TextPart("hi"), ImagePart("data:image/png;base64,AAAA"))),
        MessageStart(),
        MessageDelta(text="Hello"),
        ReasoningDelta(text="Hm"),
        MessageInterim(text="Looking", row_id=2),
        StepDone(step=1, row_id=2, usage=Usage(), context_used=10),
        MessageComplete(status="complete", text="Hello"),
        ToolGenerating(name="terminal"),
        ToolStart(tool_call_id="c1", name="read_file", args={"path": "a", "offset": 7}, label="a", path="/w/a"),
        ToolProgress(tool_call_id="c1", name="terminal", text="line\n"),
        ToolComplete(tool_call_id="c1", name="read_file", args={}, result="1|x", outcome="ok", duration=0.1),
        ApprovalRequest(question=APPROVAL),
        ClarifyRequest(question=Clarify(id="q2", turn_id="t", items=(ClarifyItem("i", "Which?"),))),
        SudoRequest(question=Sudo(id="q3", turn_id="t")),
        SecretRequest(question=Secret(id="q4", turn_id="t", env_var="KEY")),
        QuestionClosed(request_id="q1", kind="approval", reason="answered", choice="once"),
        SteerQueued(text="left"),
        SteerDelivered(text="left", tool_call_id="c1"),
        QueueChanged(texts=("next",)),
        SessionInfo(
            stored_id="s",
            title="",
            model="m",
            provider="p",
            cwd="/w",
            state="idle",
            usage=Usage(),
            context_used=10,
            context_max=100,
        ),
        SessionTitle(stored_id="s", title="A title", time=0.0),
        SessionClosedEvent(reason="shutdown"),
        AgentRequested(agent=AGENT),
        AgentStarted(agent=AGENT),
        AgentThinking(agent=AGENT, text="Hm"),
        AgentTool(agent=AGENT, tool="patch"),
        AgentProgress(agent=AGENT, text="Half."),
        AgentComplete(agent=AGENT),
        BackgroundComplete(task_id="bg_1", text="Done."),
        TranscriptCut(removed=2),
        TranscriptCompacted(before_messages=9, after_messages=3, before_tokens=900, after_tokens=90),
        ToolsChanged(added=("a",)),
        StatusUpdate(kind="retry", text="Trying again"),
        ErrorEvent(message="The disk is full.", code="store"),
    )
}


def encoded(event: Event, encoder: Encoder | None = None) -> list[dict[str, Any]]:
    """Return the updates of one event as they stand on the wire."""
    updates: list[dict[str, Any]] = []
    for update in (encoder or Encoder(notices=True)).updates(event):
        line = notification_line("session/update", UpdateParams(session_id="s", update=update))
        assert len(line) < 60 * 1024
        updates.append(json.loads(line)["params"]["update"])
    return updates


def test_there_is_a_sample_of_every_event_so_that_none_is_forgotten() -> None:
    assert set(SAMPLES) == set(get_args(Event))


@pytest.mark.parametrize("event", SAMPLES.values(), ids=lambda event: type(event).__name__)
def test_every_event_can_be_encoded(event: Event) -> None:
    for update in encoded(event):
        assert update["sessionUpdate"]


GOLDEN: list[tuple[Event, list[dict[str, Any]]]] = [
    (
        MessageDelta(text="Hello"),
        [{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hello"}}],
    ),
    (ReasoningDelta(text="Hm"), [{"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "Hm"}}]),
    (
        SAMPLES[UserMessageAdded],
        [
            {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "hi"}},
            {
                "sessionUpdate": "user_message_chunk",
                "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            },
        ],
    ),
    (
        SAMPLES[ToolStart],
        [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "c1",
                "title": "Read a",
                "kind": "read",
                "status": "pending",
                "locations": [{"path": "/w/a", "line": 7}],
                "rawInput": {"path": "a", "offset": 7},
            },
            {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"},
        ],
    ),
    (
        ToolStart(tool_call_id="c2", name="terminal", args={"command": "ls"}, label="ls", asks=True),
        [
            {
                "sessionUpdate": "tool_call",
                "toolCallId": "c2",
                "title": "ls",
                "kind": "execute",
                "status": "pending",
                "rawInput": {"command": "ls"},
            }
        ],
    ),
    (
        ToolProgress(tool_call_id="c2", name="terminal", text="one\n"),
        [
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c2",
                "content": [{"type": "content", "content": {"type": "text", "text": "```\none\n```"}}],
            }
        ],
    ),
    (
        ToolComplete(
            tool_call_id="c3",
            name="patch",
            args={},
            result="Edited.",
            outcome="ok",
            duration=0.1,
            changes=(FileChange("/w/a", "x\n", "y\n"), FileChange("/w/new", None, "z\n")),
        ),
        [
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c3",
                "status": "completed",
                "content": [
                    {"type": "diff", "path": "/w/a", "oldText": "x\n", "newText": "y\n"},
                    {"type": "diff", "path": "/w/new", "newText": "z\n"},
                ],
                "locations": [{"path": "/w/a"}, {"path": "/w/new"}],
            }
        ],
    ),
    (
        ToolComplete(
            tool_call_id="c4", name="terminal", args={}, result="no", outcome="error", duration=0.1, exit_code=2
        ),
        [
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c4",
                "status": "failed",
                "content": [{"type": "content", "content": {"type": "text", "text": "```\nno\n```"}}],
                "rawOutput": {"exitCode": 2},
            }
        ],
    ),
    (
        ToolComplete(
            tool_call_id="c5",
            name="todo",
            args={},
            result="",
            outcome="ok",
            duration=0.1,
            todos=(TodoItem("1", "Look", "completed"), TodoItem("2", "Leave", "cancelled"), TodoItem("3", "Do")),
        ),
        [
            {"sessionUpdate": "tool_call_update", "toolCallId": "c5", "status": "completed"},
            {
                "sessionUpdate": "plan",
                "entries": [
                    {"content": "Look", "priority": "medium", "status": "completed"},
                    {"content": "Do", "priority": "medium", "status": "pending"},
                ],
            },
        ],
    ),
    (SAMPLES[SessionInfo], [{"sessionUpdate": "usage_update", "used": 10, "size": 100}]),
    (
        SAMPLES[SessionTitle],
        [{"sessionUpdate": "session_info_update", "title": "A title", "updatedAt": "1970-01-01T00:00:00+00:00"}],
    ),
    (SAMPLES[StatusUpdate], [{"sessionUpdate": "notice", "severity": "warning", "title": "Trying again"}]),
    (SAMPLES[ErrorEvent], [{"sessionUpdate": "notice", "severity": "error", "title": "The disk is full."}]),
    (SAMPLES[MessageComplete], []),
    (SAMPLES[SessionClosedEvent], []),
]


@pytest.mark.parametrize(("event", "updates"), GOLDEN, ids=lambda value: type(value).__name__)
def test_an_event_looks_on_the_wire_as_the_protocol_says(event: Event, updates: list[dict[str, Any]]) -> None:
    assert encoded(event) == updates


def test_notices_go_only_to_clients_that_show_them() -> None:
    plain = Encoder(notices=False)
    assert list(plain.updates(SAMPLES[StatusUpdate])) == []
    assert list(plain.updates(SAMPLES[ErrorEvent])) == []


def test_running_output_is_told_as_the_end_of_all_that_was_said() -> None:
    encoder = Encoder()
    encoded(ToolProgress(tool_call_id="c", name="terminal", text="one\n"), encoder)
    [update] = encoded(ToolProgress(tool_call_id="c", name="terminal", text="two\n"), encoder)
    assert update["content"][0]["content"]["text"] == "```\none\ntwo\n```"
    [update] = encoded(ToolProgress(tool_call_id="c", name="terminal", text="x" * 9_000), encoder)
    assert len(update["content"][0]["content"]["text"]) <= limits.RESULT_TEXT + 10


def test_an_allowed_call_is_in_progress_only_after_the_answer() -> None:
    encoder = Encoder()
    start = ToolStart(tool_call_id="c1", name="write_file", args={}, label="a", asks=True)
    assert [update["sessionUpdate"] for update in encoded(start, encoder)] == ["tool_call"]
    assert encoded(ApprovalRequest(question=APPROVAL), encoder) == []
    closed = QuestionClosed(request_id="q1", kind="approval", reason="answered", choice="session")
    assert encoded(closed, encoder) == [
        {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "in_progress"}
    ]


@pytest.mark.parametrize("reason", ["answered", "expired", "withdrawn"])
def test_a_call_that_is_not_allowed_never_looks_as_if_it_ran(reason: Any) -> None:
    encoder = Encoder()
    encoded(ToolStart(tool_call_id="c1", name="write_file", args={}, label="a", asks=True), encoder)
    encoded(ApprovalRequest(question=APPROVAL), encoder)
    choice = "deny" if reason == "answered" else None
    assert encoded(QuestionClosed(request_id="q1", kind="approval", reason=reason, choice=choice), encoder) == []


def test_a_question_about_a_call_nobody_announced_gets_a_card_and_the_card_an_end() -> None:
    """HA-078: a sub-agent's question has the parent's session and a tool call id that the client knows."""
    encoder = Encoder()
    [card] = encoded(ApprovalRequest(question=APPROVAL), encoder)
    assert (card["sessionUpdate"], card["toolCallId"], card["status"]) == ("tool_call", "c1", "pending")
    [end] = encoded(QuestionClosed(request_id="q1", kind="approval", reason="expired"), encoder)
    assert (end["toolCallId"], end["status"]) == ("c1", "failed")


def test_a_sub_agent_shows_its_tool_calls_and_keeps_its_words() -> None:
    assert encoded(MessageDelta(text="inner", agent_id="child")) == []
    assert encoded(ReasoningDelta(text="inner", agent_id="child")) == []
    assert encoded(ToolStart(tool_call_id="c9", name="terminal", args={}, label="ls", agent_id="child"))


def test_how_full_the_context_is_is_told_when_it_changes() -> None:
    encoder = Encoder()
    assert encoded(SAMPLES[SessionInfo], encoder)
    assert encoded(SAMPLES[SessionInfo], encoder) == []
    [update] = encoded(StepDone(step=2, row_id=3, usage=Usage(), context_used=20), encoder)
    assert (update["used"], update["size"]) == (20, 100)


def test_permission_is_asked_on_the_card_of_the_call_with_the_cautious_choice_first() -> None:
    params = json.loads(notification_line("x", cards.permission("s", "c1", APPROVAL)))["params"]
    assert params["sessionId"] == "s"
    assert params["toolCall"]["toolCallId"] == "c1"
    assert params["toolCall"]["content"][-1] == {
        "type": "diff",
        "path": "/w/a",
        "oldText": "old\n",
        "newText": "new\n",
    }
    assert [(option["optionId"], option["kind"]) for option in params["options"]] == [
        ("allow_once", "allow_once"),
        ("allow_session", "allow_always"),
        ("allow_always", "allow_always"),
        ("deny", "reject_once"),
    ]
    assert all(option["name"] for option in params["options"])


def test_an_option_that_was_not_offered_stands_for_no_choice() -> None:
    """HA-079."""
    narrow = Approval(id="q", turn_id="t", tool="terminal", command="x", description="d", choices=("once", "deny"))
    assert cards.choice_of("allow_once", narrow) == "once"
    assert cards.choice_of("allow_always", narrow) is None
    assert cards.choice_of("allow", narrow) is None


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        ("complete", "", "end_turn"),
        ("interrupted", "interrupted", "cancelled"),
        ("error", "truncated", "max_tokens"),
        ("error", "budget", "max_turn_requests"),
        ("error", "content_filter", "refusal"),
        ("error", "auth", None),
    ],
)
def test_a_turn_stops_for_one_of_the_protocols_reasons_or_fails(status: Any, code: str, reason: str | None) -> None:
    assert stop_reason(MessageComplete(status=status, code=code)) == reason


NASTY = st.sampled_from(["\0", "\u2028", "é", "\U0001f600", '"', "`", "x", "\n", "\ud83d"])
LONG: st.SearchStrategy[str] = st.tuples(NASTY, st.integers(0, 60_000)).map(lambda pair: pair[0] * pair[1])


@given(LONG)
def test_no_text_makes_a_frame_too_long_and_none_is_lost(words: str) -> None:
    updates = encoded(MessageDelta(text=words))
    assert "".join(update["content"]["text"] for update in updates) == words.replace("\ud83d", "\ufffd")


@given(LONG, LONG, LONG, LONG)
def test_no_tool_call_makes_a_frame_too_long(old: str, new: str, result: str, path: str) -> None:
    changes = tuple(FileChange(f"/w/{path}{number}", old, new) for number in range(3))
    args = {"content": new, "list": [result] * 40}
    encoded(ToolStart(tool_call_id="c", name="write_file", args=args, label=result, path=path, changes=changes))
    encoded(
        ToolComplete(
            tool_call_id="c", name="x", args=args, result=result, outcome="error", duration=0.0, changes=changes
        )
    )
    question = Approval(id="q", turn_id="t", tool="x", command=result, description=old, changes=changes)
    assert len(notification_line("x", cards.permission("s", "c", question))) < 60 * 1024


@given(LONG)
def test_no_error_makes_a_frame_too_long(words: str) -> None:
    words = words.replace("\ud83d", "\ufffd")
    for error in (InvalidParams("cwd", words), SessionNotFound(words), ProviderError(words)):
        assert len(error_line(b"1", rpc_error(error))) < 60 * 1024


@given(LONG, st.integers(0, 100))
def test_no_plan_makes_a_frame_too_long(content: str, count: int) -> None:
    todos = tuple(TodoItem(str(number), content) for number in range(count))
    encoded(ToolComplete(tool_call_id="c", name="todo", args={}, result="", outcome="ok", duration=0.0, todos=todos))


def test_a_long_file_shows_the_lines_that_changed_exactly() -> None:
    before = [f"line {number}\n" for number in range(20_000)]
    after = [*before[:10_000], "changed\n", *before[10_001:]]
    changes = (FileChange("/w/a", "".join(before), "".join(after)),)
    [update] = encoded(
        ToolComplete(tool_call_id="c", name="patch", args={}, result="", outcome="ok", duration=0.0, changes=changes)
    )
    [diff] = update["content"]
    assert diff["oldText"] == "".join(before[9_997:10_004])
    assert diff["newText"] == diff["oldText"].replace("line 10000\n", "changed\n")


def test_output_is_fenced_so_that_nothing_in_it_ends_the_block() -> None:
    assert limits.fenced("a\n````\nb").startswith("`````\n")
    assert limits.fenced("plain").startswith("```\n")
