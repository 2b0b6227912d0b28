"""The encoder: every event has a place in it, and what goes out is one safe line."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hermes_core.content import ImagePart, TextPart
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
from hermes_core.questions import Approval, Clarify, ClarifyItem, FileChange, Secret, Sudo
from hermes_core.subagents.info import AgentInfo, ToolNote
from hermes_core.usage import Usage
from hermes_tui_gateway.encode import encode
from hermes_tui_gateway.frames import result_frame
from hermes_tui_gateway.info import Surroundings
from hypothesis import given
from hypothesis import strategies as st

ASK: dict[str, Any] = {"id": "q1", "turn_id": "t"}
APPROVAL = Approval(**ASK, tool="terminal", command="rm -rf x", description="It removes.", patterns=("p1", "p2"))
PLAIN = Clarify(**ASK, items=(ClarifyItem("a", "Which?", ("x", "y")),))
SEVERAL = Clarify(**ASK, items=(ClarifyItem("a", "Which?", ("x",), multiple=True), ClarifyItem("b", "Why?")))

AGENT = AgentInfo(
    id="sa-0-00000000", goal="Look", session_id="c", model="m", toolsets=("file",), status="running", tool_count=1
)
AGENT_SEEN: dict[str, Any] = {
    "goal": "Look",
    "task_count": 1,
    "task_index": 0,
    "subagent_id": "sa-0-00000000",
    "parent_id": "main",
    "depth": 1,
    "status": "running",
    "child_session_id": "c",
    "model": "m",
    "tool_count": 1,
    "toolsets": ["file"],
}
ENDED = msgspec.structs.replace(
    AGENT,
    status="completed",
    duration=1.5,
    summary="Done.",
    usage=Usage(input=7, output=5, reasoning=2, calls=1),
    files_read=("/w/a",),
    output_tail=(ToolNote("patch", "a.py"),),
    missed_steer="left",
)

GOLDEN: list[tuple[Event, str, Any]] = [
    (
        UserMessageAdded(row_id=4, parts=(TextPart("hi"), ImagePart("data:image/png;base64,AA")), turn_id="t"),
        "message.user",
        {"text": "hi", "row_id": 4, "turn_id": "t", "images": 1},
    ),
    (MessageStart(turn_id="t"), "message.start", None),
    (MessageDelta(text="a"), "message.delta", {"text": "a"}),
    (ReasoningDelta(text="b"), "reasoning.delta", {"text": "b"}),
    (
        MessageInterim(text="Looking.", row_id=5),
        "message.interim",
        {"text": "Looking.", "already_streamed": True, "row_id": 5},
    ),
    (StepDone(step=1, row_id=5, usage=Usage(), reasoning="because"), "reasoning.available", {"text": "because"}),
    (
        MessageComplete(status="error", error="It failed.", code="provider_error", turn_id="t", usage=Usage(input=2)),
        "message.complete",
        {
            "text": "It failed.",
            "usage": {
                "model": "",
                "input": 2,
                "output": 0,
                "reasoning": 0,
                "prompt": 2,
                "completion": 0,
                "total": 2,
                "calls": 0,
                "cached": 0,
                "estimated": False,
            },
            "status": "error",
            "turn_id": "t",
            "error": "It failed.",
            "code": "provider_error",
        },
    ),
    (ToolGenerating(name="patch"), "tool.generating", {"name": "patch"}),
    (
        ToolStart(tool_call_id="c1", name="patch", args={"path": "f"}, label="patch f", path="/w/f"),
        "tool.start",
        {"tool_id": "c1", "name": "patch", "context": "patch f", "args": {"path": "f"}, "path": "/w/f"},
    ),
    (
        ToolProgress(tool_call_id="c1", name="terminal", text="out"),
        "tool.progress",
        {"tool_id": "c1", "name": "terminal", "preview": "out"},
    ),
    (
        ToolComplete(
            tool_call_id="c1",
            name="todo",
            args={},
            result="Denied by the user.\nMore.",
            outcome="denied",
            duration=0.5,
            label="todo",
            todos=(TodoItem("1", "Look"),),
            exit_code=1,
        ),
        "tool.complete",
        {
            "tool_id": "c1",
            "name": "todo",
            "args": {},
            "duration_s": 0.5,
            "result": "Denied by the user.\nMore.",
            "outcome": "denied",
            "summary": "todo",
            "todos": [{"id": "1", "content": "Look", "status": "pending"}],
            "error": "Denied by the user.",
            "exit_code": 1,
        },
    ),
    (
        ApprovalRequest(question=APPROVAL),
        "approval.request",
        {
            "request_id": "q1",
            "command": "rm -rf x",
            "description": "It removes.",
            "pattern_key": "p1",
            "pattern_keys": ["p1", "p2"],
            "allow_permanent": True,
            "allow_session": True,
            "choices": ["once", "session", "always", "deny"],
            "tool": "terminal",
            "tool_id": "",
        },
    ),
    (
        ClarifyRequest(question=PLAIN),
        "clarify.request",
        {"request_id": "q1", "question": "Which?", "choices": ["x", "y"]},
    ),
    (
        ClarifyRequest(question=SEVERAL),
        "clarify.request",
        {
            "request_id": "q1",
            "questions": [
                {"qid": "a", "question": "Which?", "choices": ["x"], "multi_select": True},
                {"qid": "b", "question": "Why?", "choices": None, "multi_select": False},
            ],
        },
    ),
    (SudoRequest(question=Sudo(**ASK, command="id")), "sudo.request", {"request_id": "q1", "command": "id"}),
    (
        SecretRequest(question=Secret(**ASK, env_var="KEY", prompt="The key", deadline=9.5)),
        "secret.request",
        {"request_id": "q1", "prompt": "The key", "env_var": "KEY", "deadline": 9.5},
    ),
    (
        QuestionClosed(request_id="q1", kind="secret", reason="expired"),
        "secret.expire",
        {"request_id": "q1", "reason": "expired"},
    ),
    (
        QuestionClosed(request_id="q1", kind="approval", reason="withdrawn"),
        "approval.expire",
        {"request_id": "q1", "reason": "withdrawn"},
    ),
    (
        QuestionClosed(request_id="q1", kind="approval", reason="answered", choice="once"),
        "question.answered",
        {"request_id": "q1", "kind": "approval", "choice": "once"},
    ),
    (SteerQueued(text="left"), "steer.queued", {"text": "left"}),
    (SteerDelivered(text="left", tool_call_id="c1"), "steer.delivered", {"text": "left", "tool_id": "c1"}),
    (QueueChanged(texts=("a",), dropped=("t2",)), "queue.changed", {"texts": ["a"], "dropped": ["t2"]}),
    (SessionTitle(stored_id="s", title="T"), "session.title", {"session_id": "s", "title": "T"}),
    (SessionClosedEvent(reason="tui_close"), "session.closed", {"reason": "tui_close"}),
    (AgentRequested(agent=AGENT), "subagent.spawn_requested", AGENT_SEEN),
    (AgentStarted(agent=AGENT, agent_id=AGENT.id), "subagent.start", AGENT_SEEN),
    (AgentThinking(agent=AGENT, text="Hm"), "subagent.thinking", {**AGENT_SEEN, "text": "Hm"}),
    (
        AgentTool(agent=AGENT, tool="patch", preview="a.py"),
        "subagent.tool",
        {**AGENT_SEEN, "tool_name": "patch", "tool_preview": "a.py"},
    ),
    (AgentProgress(agent=AGENT, text="Half."), "subagent.progress", {**AGENT_SEEN, "text": "Half."}),
    (
        AgentComplete(agent=ENDED),
        "subagent.complete",
        {
            **AGENT_SEEN,
            "status": "completed",
            "summary": "Done.",
            "duration_seconds": 1.5,
            "input_tokens": 7,
            "output_tokens": 5,
            "reasoning_tokens": 2,
            "api_calls": 1,
            "files_read": ["/w/a"],
            "files_written": [],
            "output_tail": [{"tool": "patch", "preview": "a.py", "is_error": False}],
            "missed_steer": "left",
        },
    ),
    (
        BackgroundComplete(task_id="bg_1", text="No model.", status="error", agent_id="bg_1"),
        "background.complete",
        {"task_id": "bg_1", "text": "error: No model."},
    ),
    (TranscriptCut(removed=3, survivors=(9,)), "transcript.cut", {"removed": 3, "survivors": [9]}),
    (
        TranscriptCompacted(before_messages=9, after_messages=3, before_tokens=900, after_tokens=90, survivors=(12,)),
        "transcript.compacted",
        {
            "before_messages": 9,
            "after_messages": 3,
            "before_tokens": 900,
            "after_tokens": 90,
            "automatic": False,
            "survivors": [12],
        },
    ),
    (ToolsChanged(added=("a",), removed=("b",)), "tools.changed", {"added": ["a"], "removed": ["b"]}),
    (StatusUpdate(kind="retry", text="Again."), "status.update", {"kind": "retry", "text": "Again."}),
    (ErrorEvent(message="No.", code="no_model"), "error", {"message": "No.", "code": "no_model"}),
]

INFO = SessionInfo(
    stored_id="s", title="T", model="m", provider="p", cwd="/w", state="working", usage=Usage(input=3, output=1)
)


def frame_of(event: Event, around: Surroundings | None = None) -> dict[str, Any]:
    """Encode, and read it back."""
    event.session_id, event.seq = "cafe0123", 7
    line = encode(event, around or Surroundings())
    assert line is not None
    return msgspec.json.decode(line)


@pytest.mark.parametrize(("event", "kind", "payload"), GOLDEN, ids=lambda value: type(value).__name__)
def test_an_event_becomes_its_frame(event: Event, kind: str, payload: Any) -> None:
    params: dict[str, Any] = {"type": kind, "session_id": "cafe0123", "seq": 7}
    if payload is not None:
        params["payload"] = payload
    assert frame_of(event) == {"jsonrpc": "2.0", "method": "event", "params": params}


def test_every_event_of_the_core_has_a_golden_frame() -> None:
    covered = {type(event) for event, _, _ in GOLDEN} | {SessionInfo}
    assert covered == set(get_args(Event))


def test_session_info_tells_settings_tools_and_totals() -> None:
    around = Surroundings(tools={"file": ["patch"]}, approval_mode="off")
    payload = frame_of(INFO, around)["params"]["payload"]
    assert payload["tools"] == {"file": ["patch"]}
    assert (payload["model"], payload["provider"], payload["yolo"]) == ("m", "p", True)
    assert (payload["running"], payload["status"], payload["usage"]["total"]) == (True, "working", 4)


def test_the_share_of_the_context_that_is_used_is_told_once_its_size_is_known() -> None:
    usage = frame_of(msgspec.structs.replace(INFO, context_used=50, context_max=200))["params"]["payload"]["usage"]
    assert (usage["context_used"], usage["context_max"], usage["context_percent"]) == (50, 200, 25)
    assert "context_percent" not in frame_of(INFO)["params"]["payload"]["usage"]


def test_a_step_without_reasoning_becomes_no_frame() -> None:
    assert encode(StepDone(step=1, row_id=1, usage=Usage()), Surroundings()) is None


def test_interim_texts_are_left_out_where_the_settings_say_so() -> None:
    assert encode(MessageInterim(text="a", row_id=1), Surroundings(interim=False)) is None


def test_an_interrupted_turn_that_said_nothing_has_no_text() -> None:
    payload = frame_of(MessageComplete(status="interrupted", turn_id="t"))["params"]["payload"]
    assert payload["text"] is None
    assert "error" not in payload


def test_the_words_of_a_sub_agent_are_not_mixed_into_the_answer() -> None:
    assert encode(MessageDelta(text="a", agent_id="sa-1"), Surroundings()) is None


def test_a_question_of_a_sub_agent_reaches_the_host() -> None:
    assert encode(ApprovalRequest(question=APPROVAL, agent_id="sa-1"), Surroundings()) is not None


def test_edits_are_shown_as_a_coloured_diff() -> None:
    change = FileChange("/w/f", "a\nb\n", "a\nc\n")
    done = ToolComplete(
        tool_call_id="c", name="patch", args={}, result="ok", outcome="ok", duration=0.1, changes=(change,)
    )
    diff = frame_of(done)["params"]["payload"]["inline_diff"]
    assert "\x1b[31m-b\x1b[0m" in diff
    assert "\x1b[32m+c\x1b[0m" in diff


def test_the_diff_of_huge_files_is_a_summary() -> None:
    change = FileChange("/w/f", "a\n" * 300_000, None)
    done = ToolComplete(
        tool_call_id="c", name="patch", args={}, result="ok", outcome="ok", duration=0.1, changes=(change,)
    )
    assert frame_of(done)["params"]["payload"]["inline_diff"] == "/w/f: 600,000 -> 0 characters"


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_text_goes_out_as_one_line_of_utf_8(text: str) -> None:
    """HA-088: no reader of lines finds an end inside a frame; a half surrogate pair breaks nothing."""
    line = encode(MessageDelta(text=text, session_id="s"), Surroundings())
    assert line is not None
    assert len(line.decode().splitlines()) == 1
    read = msgspec.json.decode(line)["params"]["payload"]["text"]
    assert read == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"])
def test_line_separators_are_escaped_in_results_too(mark: str) -> None:
    """HA-088."""
    line = result_frame(b'"r1"', {"text": f"a{mark}b"})
    assert mark not in line.decode()
    assert msgspec.json.decode(line)["result"]["text"] == f"a{mark}b"
