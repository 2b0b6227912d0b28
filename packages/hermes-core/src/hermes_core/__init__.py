"""Hermes core: an agent that knows no protocol.

These are the names an embedder needs; they are a contract that a test keeps. They load when first used,
so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hermes_core.agent import AIAgent as AIAgent
    from hermes_core.commands import AnswerApprovals as AnswerApprovals
    from hermes_core.commands import AnswerQuestion as AnswerQuestion
    from hermes_core.commands import Interrupt as Interrupt
    from hermes_core.commands import SetEdits as SetEdits
    from hermes_core.commands import SetModel as SetModel
    from hermes_core.commands import SetTitle as SetTitle
    from hermes_core.commands import Steer as Steer
    from hermes_core.commands import Submit as Submit
    from hermes_core.config.config import load_config as load_config
    from hermes_core.config.settings import Config as Config
    from hermes_core.content import ImagePart as ImagePart
    from hermes_core.content import TextPart as TextPart
    from hermes_core.errors import HermesError as HermesError
    from hermes_core.events import Event as Event
    from hermes_core.runtime import Runtime as Runtime
    from hermes_core.session.session import Session as Session
    from hermes_core.tools.tool import Tool as Tool
    from hermes_core.tools.tool import ToolContext as ToolContext
    from hermes_core.tools.tool import ToolResult as ToolResult

_HOMES = {
    "AIAgent": "agent",
    "AnswerApprovals": "commands",
    "AnswerQuestion": "commands",
    "Config": "config.settings",
    "Event": "events",
    "HermesError": "errors",
    "ImagePart": "content",
    "Interrupt": "commands",
    "Runtime": "runtime",
    "Session": "session.session",
    "SetEdits": "commands",
    "SetModel": "commands",
    "SetTitle": "commands",
    "Steer": "commands",
    "Submit": "commands",
    "TextPart": "content",
    "Tool": "tools.tool",
    "ToolContext": "tools.tool",
    "ToolResult": "tools.tool",
    "load_config": "config.config",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
