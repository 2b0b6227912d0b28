"""Settings: the home, `config.yaml`, `.env`, what in them is secret, and how one of them is changed."""

from __future__ import annotations

from hermes_core.config.config import load_config
from hermes_core.config.edit import set_value
from hermes_core.config.env import child_env, set_env
from hermes_core.config.home import ensure_home, find_home
from hermes_core.config.redaction import redact, redact_settings, secrets_of
from hermes_core.config.settings import Config

__all__ = [
    "Config",
    "child_env",
    "ensure_home",
    "find_home",
    "load_config",
    "redact",
    "redact_settings",
    "secrets_of",
    "set_env",
    "set_value",
]
