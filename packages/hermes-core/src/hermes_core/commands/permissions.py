"""Commands about what a person has allowed once and for all: see it, and take it back."""

from __future__ import annotations

import msgspec

from hermes_core.commands.asks import Asks


class Grant(msgspec.Struct, frozen=True):
    """A pattern that runs without a question: in this session, or (`always`) in every one, for ever.

    `created_at` is in UNIX seconds.
    """

    pattern: str
    created_at: float
    always: bool


class GrantsReply(msgspec.Struct, frozen=True):
    """What is allowed here, oldest first. A pattern that was granted in both ways is there twice."""

    grants: tuple[Grant, ...]


class Grants(Asks[GrantsReply], tag="grants", frozen=True):
    """List what was granted with `session` in this session, and with `always` in any. Errors: StoreError."""


class RevokeReply(msgspec.Struct, frozen=True):
    """How many grants were taken back; 0 where there was none of that pattern."""

    revoked: int


class Revoke(Asks[RevokeReply], tag="revoke", frozen=True):
    """Take back the grants of exactly this pattern: the next call of it is asked about. Errors: StoreError.

    What was granted with `always` is taken back in every session.
    """

    pattern: str


PermissionCommand = Grants | Revoke
PermissionReply = GrantsReply | RevokeReply
