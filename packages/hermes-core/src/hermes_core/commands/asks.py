"""What every command is: something a client asks, and the type of its reply."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


class Asks(msgspec.Struct, Generic[ReplyT_co], frozen=True):
    """A command whose reply is a `ReplyT_co`: `Session.dispatch` gives back just that."""


class Done(msgspec.Struct, frozen=True):
    """The reply of commands that have nothing to tell."""
