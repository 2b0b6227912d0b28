"""Where a conversation is to be cut: data of several commands."""

from __future__ import annotations

import msgspec


class Cut(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The user row before which a conversation ends: its row id, or its place among the user rows, counted from 0.

    Where both are given they must agree. A row id that is gone is never replaced by the place. `allow_empty` agrees
    to a cut that leaves no message.
    """

    row_id: int | None = None
    ordinal: int | None = None
    allow_empty: bool = False
