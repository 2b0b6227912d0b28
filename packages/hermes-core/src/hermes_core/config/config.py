"""`load_config`: the home's `config.yaml` and `.env`, and the process environment over them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hermes_core.config.env import read_env
from hermes_core.config.home import CONFIG_NAME, find_home, read_text
from hermes_core.config.section import TRUE, Section
from hermes_core.config.settings import (
    AgentSettings,
    ApiServerSettings,
    ApprovalMode,
    ApprovalSettings,
    BusyInputMode,
    CompressionSettings,
    Config,
    DelegationSettings,
    DisplaySettings,
    FallbackSettings,
    ModelSettings,
    ProviderSettings,
    TerminalSettings,
)
from hermes_core.models.provider import ApiMode

API_MODES: dict[str, ApiMode] = {
    "chat_completions": "chat_completions",
    "responses": "responses",
    "codex_responses": "responses",
}


def load_config(home: Path | None = None, environ: Mapping[str, str] | None = None) -> Config:
    """Read the settings of a home (default: `HERMES_HOME`, else `~/.hermes`).

    Process environment over `.env` over `config.yaml` over defaults; `environ` stands for the process environment.
    Missing files are defaults, and nothing is parsed or created then. Raises ConfigError naming file and line or key.
    """
    process = dict(os.environ if environ is None else environ)
    home = find_home(process) if home is None else home
    merged = {**read_env(home), **process}
    path = home / CONFIG_NAME
    text = read_text(path)
    if text is None:
        return _config(home, merged, Section({}, path), {})
    from hermes_core.config.document import expand, parse_document

    raw = expand(parse_document(text, path), {})
    return _config(home, merged, Section(expand(raw, merged), path), raw)


def _config(home: Path, environ: dict[str, str], root: Section, raw: dict[str, Any]) -> Config:
    extension = root.section("browser").section("extension_control")
    return Config(
        home=home,
        environ=environ,
        model=_model(root),
        providers={name: _provider(section, environ) for name, section in root.section("providers").sections()},
        fallback_providers=_fallbacks(root, environ),
        agent=_agent(root.section("agent")),
        approvals=_approvals(root.section("approvals")),
        display=_display(root.section("display")),
        terminal=_terminal(root.section("terminal"), environ),
        toolsets=root.names("toolsets"),
        compression=_compression(root.section("compression")),
        delegation=_delegation(root.section("delegation")),
        mcp_servers=root.section("mcp_servers").values,
        api_server=_api_server(root, environ),
        # A control of a person's browser is on only where it was literally switched on.
        browser_extension_control=extension.values.get("enabled") is True,
        raw=raw,
    )


def _model(root: Section) -> ModelSettings:
    value = root.values.get("model")
    if isinstance(value, str):
        return ModelSettings(default=value.strip())
    section = root.section("model")
    provider = section.text("provider").lower()
    return ModelSettings(
        default=section.text("default") or section.text("model") or section.text("name"),
        provider="" if provider == "auto" else provider,
        base_url=section.text("base_url"),
        api_key=section.secret("api_key"),
        context_length=section.whole("context_length", 0),
        api_mode=_api_mode(section),
    )


def _api_mode(section: Section) -> ApiMode | None:
    word = section.text("api_mode")
    if word and word not in API_MODES:
        raise section.wrong("api_mode", "must be one of chat_completions, responses")
    return API_MODES.get(word)


def _key(section: Section, environ: Mapping[str, str]) -> str:
    """Return the key itself, or that in the variable which `key_env` names."""
    return section.secret("api_key") or environ.get(section.text("key_env"), "")


def _provider(section: Section, environ: Mapping[str, str]) -> ProviderSettings:
    return ProviderSettings(
        base_url=section.text("base_url"),
        api_key=_key(section, environ),
        api_mode=_api_mode(section),
        models=_models(section),
    )


def _models(section: Section) -> dict[str, int]:
    """Return the models of a provider: a list of names, or a mapping from names to their settings."""
    value = section.values.get("models")
    if isinstance(value, dict):
        models = section.section("models")
        return {name: models.section(name).whole("context_length", 0) for name in cast("dict[str, Any]", value)}
    names = section.names("models") or (section.text("default_model"),)
    return {name: 0 for name in names if name}


def _fallbacks(root: Section, environ: Mapping[str, str]) -> tuple[FallbackSettings, ...]:
    value = root.values.get("fallback_providers")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise root.wrong("fallback_providers", "must be a list")
    found: list[FallbackSettings] = []
    for index, item in enumerate(cast("list[Any]", value)):
        if isinstance(item, str):
            found.append(FallbackSettings(model=item))
            continue
        section = Section({"": item}, root.path, f"fallback_providers[{index}]").section("")
        found.append(
            FallbackSettings(
                provider=section.text("provider").lower(),
                model=section.text("model"),
                base_url=section.text("base_url"),
                api_key=_key(section, environ),
            )
        )
    return tuple(found)


def _agent(section: Section) -> AgentSettings:
    return AgentSettings(
        max_turns=section.whole("max_turns", 90, least=1), clarify_timeout=section.number("clarify_timeout", 3600.0)
    )


def _approvals(section: Section) -> ApprovalSettings:
    mode: ApprovalMode = section.choice("mode", ApprovalMode, "manual")
    return ApprovalSettings(mode=mode, timeout=section.number("timeout", 300.0, least=1), deny=section.names("deny"))


def _display(section: Section) -> DisplaySettings:
    mode: BusyInputMode = section.choice("busy_input_mode", BusyInputMode, "queue")
    return DisplaySettings(
        busy_input_mode=mode,
        show_reasoning=section.flag("show_reasoning"),
        interim_assistant_messages=section.flag("interim_assistant_messages", default=True),
    )


def _terminal(section: Section, environ: Mapping[str, str]) -> TerminalSettings:
    return TerminalSettings(
        cwd=section.text("cwd") or environ.get("TERMINAL_CWD", ""),
        timeout=section.number("timeout", 180.0, least=1),
        env_passthrough=section.names("env_passthrough"),
    )


def _compression(section: Section) -> CompressionSettings:
    threshold = section.number("threshold", 0.5)
    if not 0 < threshold <= 1:
        raise section.wrong("threshold", "must be a part of the context, above 0 and at most 1")
    return CompressionSettings(
        enabled=section.flag("enabled", default=True),
        threshold=threshold,
        summary_model=section.text("summary_model"),
        summary_provider=section.text("summary_provider"),
    )


def _delegation(section: Section) -> DelegationSettings:
    return DelegationSettings(
        max_iterations=section.whole("max_iterations", 50, least=1),
        max_concurrent_children=section.whole("max_concurrent_children", 3, least=1),
        max_spawn_depth=section.whole("max_spawn_depth", 1),
        model=section.text("model"),
        provider=section.text("provider").lower(),
    )


def _api_server(root: Section, environ: Mapping[str, str]) -> ApiServerSettings:
    """Lay the environment over the places where the file may speak of the server; the first place wins."""
    homes = (
        root.section("gateway").section("api_server"),
        root.section("gateway").section("platforms").section("api_server"),
        root.section("platforms").section("api_server"),
    )
    values: dict[str, Any] = {}
    for home in reversed(homes):
        values.update({name: value for name, value in home.values.items() if value is not None})
    for name in ("enabled", "host", "port", "key", "cors_origins", "allowed_hosts", "model_name"):
        if given := environ.get(f"API_SERVER_{name.upper()}", "").strip():
            values[name] = given
    merged = Section(values, root.path, "api_server")
    return ApiServerSettings(
        enabled=str(values.get("enabled", "")).strip().lower() in TRUE,
        host=merged.text("host") or "127.0.0.1",
        port=_lenient(values.get("port"), 8642, most=65535),
        key=merged.secret("key"),
        cors_origins=merged.names("cors_origins"),
        allowed_hosts=merged.names("allowed_hosts"),
        model_name=merged.text("model_name") or "hermes-agent",
        max_concurrent_runs=_lenient(values.get("max_concurrent_runs"), 10),
        tool_progress_events=merged.flag("tool_progress_events", default=True),
    )


def _lenient(value: Any, default: int, most: int | None = None) -> int:
    """Return a whole number; malformed is the default and negative is 0, as the reference reads these two."""
    if isinstance(value, bool):
        return default
    try:
        number = max(0, int(str(value).strip()))
    except ValueError:
        return default
    return default if most is not None and number > most else number
