"""Which model answers, and how to get a better one where that was left to chance."""

from __future__ import annotations

from hermes_core.config import Config
from hermes_core.models.provider import Endpoint

from hermes_cli.printable import one_line

LOCAL = "local"
"""The provider name of the engine in a child process of ours."""


def name_of(endpoint: Endpoint) -> str:
    """Return `model (provider)`, on one line."""
    return f"{one_line(endpoint.model, 60)} ({one_line(endpoint.provider, 30)})"


def advice(endpoint: Endpoint, config: Config, *, asked_for: bool) -> str:
    """Return how to use a better model; empty where a person chose this one.

    `asked_for`: the model was named on the command line or belongs to the session.
    """
    if endpoint.provider == LOCAL:
        return "`hermes setup` connects a stronger model."
    chosen = asked_for or config.model.default or config.model.provider or config.model.base_url
    return "" if chosen else "`hermes model NAME` chooses another."
