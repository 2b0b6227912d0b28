"""JSON-RPC gateway over an agent core, for hosts that draw their own interface."""

from __future__ import annotations

__version__ = "2026.12.0"
