"""`hermes model`: which model answers and why, and choosing the default."""

from __future__ import annotations

import sys
from typing import Any, cast

import anyio
from hermes_core.config import Config, load_config, set_value
from hermes_core.models.choice import own_provider
from hermes_core.models.provider import Endpoint
from hermes_core.models.resolve import Models

from hermes_cli.answering import advice
from hermes_cli.exits import Exit


def run(name: str) -> int:
    """Show what answers, or make `name` the default; return the exit code. Raises HermesError."""
    config = load_config()
    endpoint, note = anyio.run(_resolved, config, name)
    if name:
        keep(config, endpoint)
        # What is in the file may still be overruled; say what answers from now on, not what was asked for.
        config = load_config()
        endpoint, note = anyio.run(_resolved, config, "")
    sys.stdout.write(f"{endpoint.provider}:{endpoint.model}\n")
    sys.stderr.write(f"{note}\n")
    if endpoint.base_url:
        sys.stderr.write(f"It answers at {endpoint.base_url}\n")
    if hint := advice(endpoint, config, asked_for=False):
        sys.stderr.write(f"{hint}\n")
    return Exit.OK


async def _resolved(config: Config, name: str) -> tuple[Endpoint, str]:
    models = Models(config)
    try:
        endpoint = await models.resolve(name)
        return endpoint, models.note
    finally:
        await models.aclose()


def keep(config: Config, endpoint: Endpoint) -> None:
    """Write `endpoint` down as the default of the home.

    An address and key that stand in the section `model` belong to the old provider: they move to `providers.<name>`,
    so that the old choice still works by its name and the new one never gets another's key.
    """
    old = own_provider(config)
    if old and old != endpoint.provider and (config.model.base_url or config.model.api_key):
        _move_endpoint(config, old)
    set_value(config.home, "model.provider", endpoint.provider)
    set_value(config.home, "model.default", endpoint.model)


def _move_endpoint(config: Config, old: str) -> None:
    """Move what `model` says of its own endpoint to `providers.<old>`, as written: placeholders stay placeholders."""
    written, there = _mapping(config.raw.get("model")), _mapping(_mapping(config.raw.get("providers")).get(old))
    for name in ("base_url", "api_key", "api_mode"):
        if written.get(name):
            if not there.get(name):
                set_value(config.home, ("providers", old, name), written[name])
            set_value(config.home, ("model", name), None)
    if written.get("context_length"):
        set_value(config.home, ("model", "context_length"), None)


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
