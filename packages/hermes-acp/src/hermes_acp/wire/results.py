"""What we answer: the results of each method."""

from __future__ import annotations

from typing import Literal

from hermes_acp.wire.shape import Out

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class Implementation(Out):
    """Who we are."""

    name: str
    title: str
    version: str


class PromptCapabilities(Out):
    """What a prompt may hold besides text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class Empty(Out):
    """`{}`: a capability that is there, or a result that says nothing."""


class SessionCapabilities(Out):
    """What can be done with sessions besides the basics."""

    list: Empty | None = None
    resume: Empty | None = None
    close: Empty | None = None
    delete: Empty | None = None


class AgentCapabilities(Out):
    """What this agent serves."""

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
    """Result of `initialize`."""

    protocol_version: int
    agent_capabilities: AgentCapabilities
    auth_methods: tuple[AuthMethod, ...]
    agent_info: Implementation


class Mode(Out):
    """A way to approve edits."""

    id: str
    name: str
    description: str


class Modes(Out):
    """Every mode, and the one in use."""

    current_mode_id: str
    available_modes: tuple[Mode, ...]


class Model(Out):
    """A model to choose."""

    model_id: str
    name: str


class ModelList(Out):
    """Every model to choose, and the one in use."""

    current_model_id: str
    available_models: tuple[Model, ...]


class SelectValue(Out):
    """One value of an option."""

    value: str
    name: str
    description: str | None = None


class SelectOption(Out, tag="select"):
    """A setting with a list of values."""

    id: str
    name: str
    category: str
    current_value: str
    options: tuple[SelectValue, ...]


class NewSessionResult(Out):
    """Result of `session/new`."""

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
    """Result of `session/set_config_option`: every option, not only the one that changed."""

    config_options: tuple[SelectOption, ...]


class SessionEntry(Out):
    """One row of `session/list`; the time is RFC 3339."""

    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


class ListSessionsResult(Out):
    """Result of `session/list`."""

    sessions: tuple[SessionEntry, ...]
    next_cursor: str | None = None


class PromptUsage(Out):
    """The tokens of one turn; cached ones are part of the input, thoughts of the output."""

    total_tokens: int
    input_tokens: int
    output_tokens: int
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None


class PromptResult(Out):
    """Result of `session/prompt`: the turn is over."""

    stop_reason: StopReason
    usage: PromptUsage | None = None
