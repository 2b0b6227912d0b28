"""What is told of a sub-agent: pure data, the same in events, lists and saved trees."""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_core.usage import Usage

AgentStatus = Literal["queued", "running", "completed", "error", "failed", "interrupted", "timeout"]
"""How far a sub-agent is; the last five are final. `failed`: it never began. `timeout`: its time ran out."""


class ToolNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of the last tools that a sub-agent used."""

    tool: str
    preview: str = ""
    is_error: bool = False


class AgentInfo(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One sub-agent as it is now.

    `id` is `sa-<task index>-<8 hex>`; `parent_id` is the agent that asked for it (`main` for the session's own),
    `session_id` the stored id of its session. `depth` counts from 1. Times are UNIX seconds.
    """

    id: str
    goal: str
    parent_id: str = "main"
    session_id: str = ""
    depth: int = 1
    task_index: int = 0
    task_count: int = 1
    model: str = ""
    toolsets: tuple[str, ...] = ()
    background: bool = False
    status: AgentStatus = "queued"
    started_at: float = 0.0
    duration: float = 0.0
    tool_count: int = 0
    summary: str = ""
    """Its final answer, bounded; the error where it failed."""
    usage: Usage = Usage()
    files_read: tuple[str, ...] = ()
    files_written: tuple[str, ...] = ()
    output_tail: tuple[ToolNote, ...] = ()
    missed_steer: str = ""
    """Steering text that it ended too early to read."""
