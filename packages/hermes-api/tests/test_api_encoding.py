"""Every event meets every encoder; texts of any kind stay one legal frame."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hermes_api.encode.chat import ChatChunks, finish_reason
from hermes_api.encode.quote import quoted
from hermes_api.encode.runs import RunEvents, frame
from hermes_api.errors import TABLE
from hermes_core.errors import HermesError
from hermes_core.events import (
    ApprovalRequest,
    Event,
    MessageComplete,
    MessageDelta,
    MessageInterim,
    ReasoningDelta,
    StepDone,
    ToolComplete,
    ToolStart,
)
from hermes_core.questions import Approval
from hermes_core.session.subscription import SlowReader
from hermes_core.subagents.info import AgentInfo
from hermes_core.usage import Usage
from hypothesis import given
from hypothesis import strategies as st

QUESTION = Approval(id="q1", turn_id="t", tool="terminal", command="rm x", description="It deletes.", patterns=("rm",))
FIELDS: dict[str, Any] = {
    "row_id": 1,
    "parts": (),
    "text": "text",
    "step": 1,
    "usage": Usage(),
    "status": "complete",
    "name": "terminal",
    "tool_call_id": "call_1",
    "args": {"command": "ls"},
    "label": "ls",
    "result": "files",
    "outcome": "ok",
    "duration": 0.25,
    "question": QUESTION,
    "request_id": "q1",
    "kind": "approval",
    "reason": "answered",
    "texts": (),
    "stored_id": "s",
    "title": "t",
    "model": "m",
    "provider": "p",
    "cwd": "/",
    "state": "idle",
    "message": "m",
    "code": "c",
    "agent": AgentInfo(id="sa-0-00000000", goal="Look"),
    "tool": "patch",
    "task_id": "bg_1",
    "removed": 2,
    "before_messages": 9,
    "after_messages": 3,
    "before_tokens": 900,
    "after_tokens": 90,
}


def every_event() -> list[Event]:
    """Return one event of each kind there is."""
    kinds: tuple[type[Any], ...] = get_args(Event)
    return [
        kind(**{field.name: FIELDS[field.name] for field in msgspec.structs.fields(kind) if field.required})
        for kind in kinds
    ]


def frames(data: bytes) -> list[Any]:
    """Return the JSON of each frame, having checked that each is one line and ends with a blank one."""
    assert data == b"" or data.endswith(b"\n\n")
    found: list[Any] = []
    for block in data.split(b"\n\n")[:-1]:
        lines = [line for line in block.split(b"\n") if line.startswith(b"data: ")]
        assert len(lines) == 1
        found.append(msgspec.json.decode(lines[0][6:]) if lines[0] != b"data: [DONE]" else None)
    return found


def chunks(*, reasoning: bool = True, tool_progress: bool = True) -> ChatChunks:
    """Return an encoder of chat chunks."""
    return ChatChunks("chatcmpl-1", 7, 'a "model"', reasoning=reasoning, tool_progress=tool_progress)


@pytest.mark.parametrize("event", every_event(), ids=lambda event: str(type(event).__name__))
def test_every_event_is_encoded_by_both_encoders(event: Event) -> None:
    for chunk in frames(chunks().encode(event)):
        assert chunk["object"] == "chat.completion.chunk"
        assert {"id", "created", "model", "choices"} <= set(chunk)
    told = RunEvents(reasoning=True).encode(event)
    if told is not None:
        data = frame(3, "run_1", told)
        assert data.startswith(b"id: 3\nevent: ")
        assert frames(data)[0]["event"] == told.name


@pytest.mark.parametrize("event", every_event(), ids=lambda event: str(type(event).__name__))
def test_what_a_sub_agent_says_is_no_part_of_the_answer(event: Event) -> None:
    event.agent_id = "child-1"
    assert chunks().encode(event) == b""
    if isinstance(event, MessageDelta | MessageInterim | ReasoningDelta | StepDone):
        assert RunEvents(reasoning=True).encode(event) is None


def test_an_approval_of_a_sub_agent_is_told() -> None:
    """HA-118"""
    told = RunEvents(reasoning=False).encode(ApprovalRequest(question=QUESTION, agent_id="child-1"))
    assert told is not None
    assert (told.name, told.fields["request_id"], told.fields["command"]) == ("approval.request", "q1", "rm x")


@given(st.lists(st.text(alphabet=st.characters(), min_size=1), min_size=1))
def test_the_chunks_of_any_texts_join_to_these_texts(texts: list[str]) -> None:
    encoder = chunks()
    data = b"".join(encoder.encode(MessageDelta(text=text)) for text in texts)
    joined = "".join(chunk["choices"][0]["delta"]["content"] for chunk in frames(data))
    assert joined == encoder.said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@given(
    st.recursive(
        st.text() | st.integers() | st.just("\ud800"), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_anything_can_be_quoted(value: object) -> None:
    """HA-011"""
    assert msgspec.json.decode(quoted(value)) is not None


def test_text_after_tools_is_a_new_paragraph_in_both() -> None:
    events: list[Event] = [
        MessageDelta(text="a"),
        ToolStart(tool_call_id="1", name="todo", args={}, label=""),
        ToolStart(tool_call_id="2", name="todo", args={}, label=""),
        ToolComplete(tool_call_id="1", name="todo", args={}, result="", outcome="ok", duration=0),
        MessageDelta(text="b"),
        MessageDelta(text="c"),
    ]
    chat, run = chunks(), RunEvents(reasoning=False)
    for event in events:
        chat.encode(event)
    told = [run.encode(event) for event in events]
    assert chat.said == "a\n\nbc"
    assert "".join(t.fields["delta"] for t in told if t and t.name == "message.delta") == "a\n\nbc"


def test_text_that_comes_only_after_tools_has_no_blank_lines_before_it() -> None:
    chat = chunks()
    chat.encode(ToolStart(tool_call_id="1", name="todo", args={}, label=""))
    chat.encode(MessageDelta(text="b"))
    assert chat.said == "b"


@pytest.mark.parametrize(
    ("status", "code", "text", "finish", "reason"),
    [
        ("complete", "", "a", "stop", "stop"),
        ("complete", "", "", "stop", "stop"),
        ("complete", "", "a", "length", "length"),
        ("error", "truncated", "a", "length", "length"),
        ("error", "truncated", "", "length", "error"),
        ("error", "content_filter", "a", "content_filter", "content_filter"),
        ("error", "auth", "a", "error", "error"),
        ("error", "something new", "", "error", "error"),
        ("interrupted", "interrupted", "a", "interrupted", "error"),
    ],
)
def test_only_a_whole_answer_ends_with_stop(status: Any, code: str, text: str, finish: str, reason: str) -> None:
    """HA-100, HA-103"""
    end = MessageComplete(status=status, code=code, text=text, finish=finish)
    assert finish_reason(end) == reason
    *_, last, done = frames(chunks().finish(end, "It failed.", include_usage=False))
    assert done is None
    assert last["choices"][0]["finish_reason"] == reason
    assert ("error" in last) == (reason == "error")
    assert ("hermes" in last) == (reason != "stop")


def every_error(kind: type[HermesError] = HermesError) -> list[type[HermesError]]:
    """Return every error class of the core."""
    return [kind, *(found for child in kind.__subclasses__() for found in every_error(child))]


def test_every_code_of_the_core_has_a_status() -> None:
    assert SlowReader in every_error()
    for kind in every_error():
        if kind.__module__.startswith("hermes_core"):
            assert kind.code in TABLE, kind
