"""Commands that change what a session is set to; each takes effect with the next turn."""

from __future__ import annotations

from typing import Literal

from hermes_core.commands.asks import Asks, Done

EditMode = Literal["ask", "workspace", "allow", "plan"]
"""File edits: ask for each; allow below the session's folder; allow all; none at all (read-only planning).
Sensitive paths are asked in every mode."""


class SetTitle(Asks[Done], tag="set_title", frozen=True):
    """Name the session. Errors: InvalidInput (empty, longer than 200 characters)."""

    title: str


class SetModel(Asks[Done], tag="set_model", frozen=True):
    """Use another model from the next turn on: `name`, `provider:name` or `provider/name`.

    Errors: InvalidInput (unknown provider), NoModelError. The old model stays on failure.
    """

    model: str


class SetEdits(Asks[Done], tag="set_edits", frozen=True):
    """Change how file edits are approved."""

    mode: EditMode


SettingsCommand = SetTitle | SetModel | SetEdits
