"""What every struct of the wire is built on, and the ones without any field."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

__all__ = ["UNSET", "Maybe", "Nothing", "Params", "Result", "SessionParams"]

T = TypeVar("T")
Maybe = T | UnsetType
"""A field that is left out where there is nothing to say."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the params of a method."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what a method answers, and of what stands inside it."""


class Nothing(Params, frozen=True, kw_only=True):
    """Params of the methods that take none."""


class SessionParams(Params, frozen=True, kw_only=True):
    """Params of a method that only names a live session by its runtime id."""

    session_id: str = ""
