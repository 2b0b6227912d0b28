"""What we answer: the results of each method."""

from __future__ import annotations

from typing import Literal

from hermes_acp.wire.shape import Out

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class Implementation(Out):
    name: str
    title: str
    version: str


class PromptCapabilities(Out):
    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class Empty(Out):
    """`{}`: a capability that is there, or a result that says nothing."""


class SessionCapabilities(Out):
    list: Empty | None = None
    resume: Empty | None = None
    close: Empty | None = None
    delete: Empty | None = None


class AgentCapabilities(Out):
    load_session: bool
    prompt_capabilities: PromptCapabilities
    session_capabilities: SessionCapabilities


class AuthMethod(Out):
    """A way to be set up: without `type` the agent does it itself, `terminal` runs us again with `args`."""

    id: str
    name: str
    description: str
    type: str | None = None
    args: tuple[str, ...] | None = None


class InitializeResult(Out):
    protocol_version: int
    agent_capabilities: AgentCapabilities
    auth_methods: tuple[AuthMethod, ...]
    agent_info: Implementation


class Mode(Out):
    id: str
    name: str
    description: str


class Modes(Out):
    current_mode_id: str
    available_modes: tuple[Mode, ...]


class Model(Out):
    model_id: str
    name: str


class ModelList(Out):
    current_model_id: str
    available_models: tuple[Model, ...]


class SelectValue(Out):
    value: str
    name: str
    description: str | None = None


class SelectOption(Out, tag="select"):
    id: str
    name: str
    category: str
    current_value: str
    options: tuple[SelectValue, ...]


class NewSessionResult(Out):
    session_id: str
    modes: Modes
    config_options: tuple[SelectOption, ...]
    models: ModelList


class LoadSessionResult(Out):
    """Also the result of `session/resume`."""

    modes: Modes
    config_options: tuple[SelectOption, ...]
    models: ModelList


class SetConfigOptionResult(Out):
    config_options: tuple[SelectOption, ...]


class SessionEntry(Out):
    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


class ListSessionsResult(Out):
    sessions: tuple[SessionEntry, ...]
    next_cursor: str | None = None


class PromptUsage(Out):
    total_tokens: int
    input_tokens: int
    output_tokens: int
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptResult(Out):
    stop_reason: StopReason
    usage: PromptUsage | None = None
