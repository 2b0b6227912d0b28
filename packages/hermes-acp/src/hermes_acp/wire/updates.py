"""What we tell without being asked: the updates of a session, and the permission that we ask for."""

from __future__ import annotations

from typing import Any, Literal

from hermes_acp.wire.content import Content
from hermes_acp.wire.results import SelectOption
from hermes_acp.wire.shape import Out

ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]
PermissionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class _Update(Out, tag_field="sessionUpdate"):
    pass


class UserMessageChunk(_Update, tag="user_message_chunk"):
    content: Content


class AgentMessageChunk(_Update, tag="agent_message_chunk"):
    content: Content


class AgentThoughtChunk(_Update, tag="agent_thought_chunk"):
    content: Content


class ToolText(Out, tag="content"):
    content: Content


class ToolDiff(Out, tag="diff"):
    path: str
    new_text: str
    old_text: str | None = None


ToolContent = ToolText | ToolDiff


class Location(Out):
    path: str
    line: int | None = None


class ToolCall(_Update, tag="tool_call"):
    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    content: tuple[ToolContent, ...] = ()
    locations: tuple[Location, ...] = ()
    raw_input: dict[str, Any] | None = None


class ToolCallUpdate(_Update, tag="tool_call_update"):
    tool_call_id: str
    status: ToolStatus | None = None
    content: tuple[ToolContent, ...] = ()
    locations: tuple[Location, ...] = ()
    raw_output: dict[str, Any] | None = None


class PlanEntry(Out):
    content: str
    priority: Literal["high", "medium", "low"]
    status: Literal["pending", "in_progress", "completed"]


class Plan(_Update, tag="plan"):
    entries: tuple[PlanEntry, ...]


class CommandInput(Out):
    hint: str


class AvailableCommand(Out):
    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommandsUpdate(_Update, tag="available_commands_update"):
    available_commands: tuple[AvailableCommand, ...]


class CurrentModeUpdate(_Update, tag="current_mode_update"):
    current_mode_id: str


class ConfigOptionUpdate(_Update, tag="config_option_update"):
    config_options: tuple[SelectOption, ...]


class SessionInfoUpdate(_Update, tag="session_info_update"):
    title: str
    updated_at: str


class UsageUpdate(_Update, tag="usage_update"):
    used: int
    size: int


class Notice(_Update, tag="notice"):
    severity: Literal["info", "warning", "error"]
    title: str


Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCall
    | ToolCallUpdate
    | Plan
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
)


class UpdateParams(Out):
    session_id: str
    update: Update


class PermissionOption(Out):
    option_id: str
    name: str
    kind: PermissionKind


class PermissionToolCall(Out):
    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    content: tuple[ToolContent, ...] = ()
    locations: tuple[Location, ...] = ()


class PermissionParams(Out):
    session_id: str
    tool_call: PermissionToolCall
    options: tuple[PermissionOption, ...]


class CancelRequest(Out):
    request_id: int
