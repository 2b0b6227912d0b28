"""Events of a turn to chunks of a chat completion. Pure: bytes out, no I/O.

A chunk of text is put together from bytes that are the same for the whole answer and the escaped text, since
that is what nearly all chunks are.
"""

from __future__ import annotations

from typing import assert_never

import msgspec
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
    ToolComplete,
    ToolGenerating,
    ToolProgress,
    ToolsChanged,
    ToolStart,
    TranscriptCompacted,
    TranscriptCut,
    UserMessageAdded,
)

from hermes_api.encode.quote import quoted
from hermes_api.wire.chat import Ending, chat_usage

DONE = b"data: [DONE]\n\n"

EMOJI = {
    "terminal": "💻",
    "process": "💻",
    "read_file": "📖",
    "write_file": "📝",
    "patch": "📝",
    "search_files": "🔎",
    "session_search": "🔎",
    "todo": "📋",
    "delegate_task": "👥",
    "memory": "🧠",
}
OTHER_TOOL = "🔧"


class ChatChunks:
    """Encodes one streamed answer; `said` is the text sent so far, just as the client joins it."""

    def __init__(self, id: str, created: int, model: str, *, reasoning: bool, tool_progress: bool) -> None:
        self._head = b'{"id":%b,"object":"chat.completion.chunk","created":%d,"model":%b,"choices":' % (
            quoted(id),
            created,
            quoted(model),
        )
        delta = b"data: " + self._head + b'[{"index":0,"delta":{"%b":'
        self._content = delta % b"content"
        self._thinking = delta % b"reasoning_content"
        self._tail = b'},"finish_reason":null}]}\n\n'
        self._reasoning = reasoning
        self._tool_progress = tool_progress
        self._said: list[str] = []
        self._new_step = False

    @property
    def said(self) -> str:
        """The text of all chunks so far."""
        return "".join(self._said)

    def role(self) -> bytes:
        """Return the first chunk, before the agent has done anything."""
        return b"data: " + self._head + b'[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}\n\n'

    def encode(self, event: Event) -> bytes:
        """Return the frames of one event; empty for those that a chat client does not see."""
        if event.agent_id != "main":
            return b""
        match event:
            case MessageDelta():
                return self._text(event.text)
            case ReasoningDelta():
                return self._thinking + quoted(event.text) + self._tail if self._reasoning else b""
            case ToolStart():
                self._new_step = True
                return self._tool(event.tool_call_id, event.name, event.label or event.name)
            case ToolComplete():
                return self._tool(event.tool_call_id, event.name, None)
            case MessageInterim() | StepDone() | MessageComplete() | MessageStart() | UserMessageAdded():
                return b""
            case ToolGenerating() | ToolProgress():
                return b""
            case ApprovalRequest() | ClarifyRequest() | SudoRequest() | SecretRequest() | QuestionClosed():
                return b""
            case SteerQueued() | SteerDelivered() | QueueChanged():
                return b""
            case SessionInfo() | SessionTitle() | SessionClosedEvent() | StatusUpdate() | ErrorEvent():
                return b""
            case AgentRequested() | AgentStarted() | AgentThinking() | AgentTool() | AgentProgress() | AgentComplete():
                return b""
            case BackgroundComplete() | TranscriptCut() | TranscriptCompacted() | ToolsChanged():
                return b""
            case _:
                assert_never(event)

    def finish(self, end: MessageComplete, error: str, *, include_usage: bool) -> bytes:
        """Return the last chunks and the end mark. `error` is what the client may read of the turn's error."""
        reason = finish_reason(end)
        usage = msgspec.json.encode(chat_usage(end.usage))
        frame = (
            b"data: "
            + self._head
            + b'[{"index":0,"delta":{},"finish_reason":%b}],"usage":%b'
            % (
                quoted(reason),
                usage,
            )
        )
        if reason != "stop":
            frame += b',"hermes":' + msgspec.json.encode(ending(end, error))
        if reason == "error":
            body = {"message": error, "type": "agent_error", "param": None, "code": end.code or "internal"}
            frame += b',"error":' + msgspec.json.encode(body)
        frame += b"}\n\n"
        if include_usage:
            frame += b"data: " + self._head + b'[],"usage":' + usage + b"}\n\n"
        return frame + DONE

    def _text(self, text: str) -> bytes:
        if self._new_step:
            self._new_step = False
            if self._said:
                text = "\n\n" + text
        self._said.append(text)
        return self._content + quoted(text) + self._tail

    def _tool(self, call_id: str, name: str, label: str | None) -> bytes:
        """Return a progress frame: its own event for those who know it, an empty chunk for everybody else."""
        if not self._tool_progress:
            return b""
        call = b'"tool":%b,"toolCallId":%b' % (quoted(name), quoted(call_id))
        if label is None:
            call += b',"status":"completed"'
        else:
            call += b',"emoji":%b,"label":%b,"status":"running"' % (quoted(EMOJI.get(name, OTHER_TOOL)), quoted(label))
        return b"event: hermes.tool.progress\ndata: " + self._head + b"[]," + call + b"}\n\n"


def finish_reason(end: MessageComplete) -> str:
    """Return why the answer ended: `stop` only when it is whole; `length`, `content_filter` or `error` else.

    A used-up step budget counts as `length`: there would have been more.
    """
    if end.status == "complete":
        return end.finish if end.finish in ("length", "content_filter") else "stop"
    if end.status == "error" and end.text:
        match end.code:
            case "truncated" | "budget":
                return "length"
            case "content_filter":
                return "content_filter"
            case _:
                return "error"
    return "error"


def ending(end: MessageComplete, error: str) -> Ending:
    """Return `hermes`, the description of an end that was not a good one."""
    reason = finish_reason(end)
    code = "output_truncated" if end.code == "truncated" else end.code or "agent_error"
    return Ending(completed=False, partial=bool(end.text), failed=reason == "error", error=error, error_code=code)
