"""The payloads that tell of sub-agents and of background prompts."""

from __future__ import annotations

from hermes_core.subagents.info import AgentStatus

from hermes_tui_gateway.wire.shapes import UNSET, Maybe, Result


class ToolNote(Result, frozen=True, kw_only=True):
    """One of the last tools that a sub-agent used."""

    tool: str
    preview: str
    is_error: bool


class Agent(Result, frozen=True, kw_only=True):
    """`subagent.spawn_requested`, `.start`, `.thinking`, `.tool`, `.progress`, `.complete`.

    The fields from `summary` on come with `subagent.complete`. `child_session_id` is a stored id.
    """

    goal: str
    task_count: int
    task_index: int
    subagent_id: str
    parent_id: str
    depth: int
    status: AgentStatus
    tool_count: int
    child_session_id: Maybe[str] = UNSET
    model: Maybe[str] = UNSET
    toolsets: Maybe[list[str]] = UNSET
    text: Maybe[str] = UNSET
    tool_name: Maybe[str] = UNSET
    tool_preview: Maybe[str] = UNSET
    summary: Maybe[str] = UNSET
    duration_seconds: Maybe[float] = UNSET
    input_tokens: Maybe[int] = UNSET
    output_tokens: Maybe[int] = UNSET
    reasoning_tokens: Maybe[int] = UNSET
    api_calls: Maybe[int] = UNSET
    files_read: Maybe[list[str]] = UNSET
    files_written: Maybe[list[str]] = UNSET
    output_tail: Maybe[list[ToolNote]] = UNSET
    missed_steer: Maybe[str] = UNSET


class Background(Result, frozen=True, kw_only=True):
    """`background.complete`: the text of a failure begins with `error:`."""

    task_id: str
    text: str
