"""Fixtures of the tests that cross packages."""

from __future__ import annotations

from acp_schema import frame_schema

__all__ = ["frame_schema"]
