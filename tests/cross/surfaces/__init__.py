"""The four surfaces behind one small interface, so that a conversation is written once and held on each of them.

Each is the installed command in a process of its own, with the home that HERMES_HOME names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

PATIENCE = 60.0
"""Seconds that any wait may take: a fuse, not a measure."""


class Surface(Protocol):
    """One session on one surface, as its client sees it. Every wait ends with an error after PATIENCE."""

    async def prompt(self, text: str) -> None:
        """Send a prompt that begins a turn."""
        ...

    async def reads(self, text: str) -> None:
        """Wait until the client was shown `text` in an answer."""
        ...

    async def answered(self, text: str) -> None:
        """Wait until the turn is over that ends with `text`."""
        ...

    async def approve(self, command: str) -> None:
        """Wait until an approval of `command` is asked, and approve it once."""
        ...

    async def deny(self, command: str) -> None:
        """Wait until an approval of `command` is asked, and deny it."""
        ...

    async def interrupt(self) -> None:
        """Stop the running turn, and wait until it is over."""
        ...


def write_home(home: Path, base_url: str) -> None:
    """Make a home whose model answers at `base_url`."""
    model = {"default": "m", "provider": "custom", "base_url": base_url, "api_key": "k", "context_length": 100_000}
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"model: {json.dumps(model)}\n", encoding="utf-8")
