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
    """More of what the person said."""

    content: Content


class AgentMessageChunk(_Update, tag="agent_message_chunk"):
    """More of what the agent says."""

    content: Content


class AgentThoughtChunk(_Update, tag="agent_thought_chunk"):
    """More of the model's reasoning."""

    content: Content


class ToolText(Out, tag="content"):
    """Words on a card."""

    content: Content


class ToolDiff(Out, tag="diff"):
    """A change of one file; no `old_text` means that it is new."""

    path: str
    new_text: str
    old_text: str | None = None


ToolContent = ToolText | ToolDiff


class Location(Out):
    """A file that a call works on; lines count from 1."""

    path: str
    line: int | None = None


class ToolCall(_Update, tag="tool_call"):
    """A card for a new tool call."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    content: tuple[ToolContent, ...] = ()
    locations: tuple[Location, ...] = ()
    raw_input: dict[str, Any] | None = None


class ToolCallUpdate(_Update, tag="tool_call_update"):
    """What changed on a card; content and locations replace what was there."""

    tool_call_id: str
    status: ToolStatus | None = None
    content: tuple[ToolContent, ...] = ()
    locations: tuple[Location, ...] = ()
    raw_output: dict[str, Any] | None = None


class PlanEntry(Out):
    """One step of the plan."""

    content: str
    priority: Literal["high", "medium", "low"]
    status: Literal["pending", "in_progress", "completed"]


class Plan(_Update, tag="plan"):
    """The whole plan, each time."""

    entries: tuple[PlanEntry, ...]


class CommandInput(Out):
    """What may be typed behind a command."""

    hint: str


class AvailableCommand(Out):
    """A command that can be typed as a prompt, without its slash."""

    name: str
    description: str
    input: CommandInput | None = None


class AvailableCommandsUpdate(_Update, tag="available_commands_update"):
    """Every command there is now."""

    available_commands: tuple[AvailableCommand, ...]


class CurrentModeUpdate(_Update, tag="current_mode_update"):
    """The mode in use."""

    current_mode_id: str


class ConfigOptionUpdate(_Update, tag="config_option_update"):
    """Every option with its value now."""

    config_options: tuple[SelectOption, ...]


class SessionInfoUpdate(_Update, tag="session_info_update"):
    """The session's title."""

    title: str
    updated_at: str


class UsageUpdate(_Update, tag="usage_update"):
    """Tokens in the context, and how many fit."""

    used: int
    size: int


class Notice(_Update, tag="notice"):
    """A line that is no part of the conversation; only for clients that asked for notices."""

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
    """Parameters of `session/update`."""

    session_id: str
    update: Update


class PermissionOption(Out):
    """One answer to choose."""

    option_id: str
    name: str
    kind: PermissionKind


class PermissionToolCall(Out):
    """The card on which permission is asked."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    content: tuple[ToolContent, ...] = ()
    locations: tuple[Location, ...] = ()


class PermissionParams(Out):
    """Parameters of `session/request_permission`."""

    session_id: str
    tool_call: PermissionToolCall
    options: tuple[PermissionOption, ...]


class CancelRequest(Out):
    """Parameters of our own `$/cancel_request`."""

    request_id: int
