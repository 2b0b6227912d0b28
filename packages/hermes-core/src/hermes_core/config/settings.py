"""The settings as the core reads them. All frozen; `repr` shows no secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

from hermes_core.models.provider import ApiMode

ApprovalMode = Literal["manual", "smart", "off"]
BusyInputMode = Literal["queue", "steer", "interrupt"]


class ModelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`model`: what answers by default. Empty strings and 0 mean that nothing is set."""

    default: str = ""
    provider: str = ""
    base_url: str = ""
    api_key: str = ""
    context_length: int = 0
    api_mode: ApiMode | None = None

    def __repr__(self) -> str:
        return f"ModelSettings({self.provider or 'any'}:{self.default})"


class ProviderSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`providers.<name>`: a named endpoint. `models` maps the names it offers to their context length, 0 = unknown."""

    base_url: str = ""
    api_key: str = ""
    api_mode: ApiMode | None = None
    models: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"ProviderSettings({self.base_url})"


class FallbackSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One of `fallback_providers`: what to try when the model in use cannot be reached, in the order given."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    api_key: str = ""

    def __repr__(self) -> str:
        return f"FallbackSettings({self.provider}:{self.model})"


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`agent`. `max_turns` bounds the model calls of one turn; `clarify_timeout` is in seconds, 0 = for ever."""

    max_turns: int = 90
    clarify_timeout: float = 3600.0


class ApprovalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`approvals`. `timeout` is in seconds; an approval that expires is a denial.

    `deny` are rules such as `sudo *` or `git push*`: commands that fall under one are refused, whatever the mode.
    """

    mode: ApprovalMode = "manual"
    timeout: float = 300.0
    deny: tuple[str, ...] = ()


class DisplaySettings(msgspec.Struct, frozen=True, kw_only=True):
    """`display`: what happens to a second prompt, and what people see besides the answer."""

    busy_input_mode: BusyInputMode = "queue"
    show_reasoning: bool = False
    interim_assistant_messages: bool = True


class TerminalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`terminal`. `timeout` is in seconds; `env_passthrough` names secrets that child processes may see."""

    cwd: str = ""
    timeout: float = 180.0
    env_passthrough: tuple[str, ...] = ()


class CompressionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`compression`. `threshold` is the part of the context that may be full before older messages are summed up."""

    enabled: bool = True
    threshold: float = 0.5
    summary_model: str = ""
    summary_provider: str = ""


class DelegationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """`delegation`: the bounds of sub-agents, and their model where it is not the parent's."""

    max_iterations: int = 50
    max_concurrent_children: int = 3
    max_spawn_depth: int = 1
    model: str = ""
    provider: str = ""


class ApiServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The HTTP API. `max_concurrent_runs` 0 means no limit; `cors_origins` may hold `*`.

    `allowed_hosts` are names, beside loopback and the address it listens on, by which clients may call it.
    """

    enabled: bool = False
    host: str = "127.0.0.1"
    port: int = 8642
    key: str = ""
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    model_name: str = "hermes-agent"
    max_concurrent_runs: int = 10
    tool_progress_events: bool = True

    def __repr__(self) -> str:
        return f"ApiServerSettings({self.host}:{self.port})"


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of one home.

    `environ` is the process environment laid over the home's `.env`. `raw` is the document of `config.yaml` as
    written, placeholders unexpanded: it may hold secrets, so it is redacted before anyone sees it.
    """

    home: Path
    environ: dict[str, str] = {}
    model: ModelSettings = ModelSettings()
    providers: dict[str, ProviderSettings] = {}
    fallback_providers: tuple[FallbackSettings, ...] = ()
    agent: AgentSettings = AgentSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    display: DisplaySettings = DisplaySettings()
    terminal: TerminalSettings = TerminalSettings()
    toolsets: tuple[str, ...] = ()
    compression: CompressionSettings = CompressionSettings()
    delegation: DelegationSettings = DelegationSettings()
    mcp_servers: dict[str, Any] = {}
    api_server: ApiServerSettings = ApiServerSettings()
    browser_extension_control: bool = False
    raw: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Config({self.home})"
