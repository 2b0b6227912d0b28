"""Rewind: reading the wish to cut a conversation before one of its user messages, and refusing every doubtful one.

The order of the checks is part of the protocol, and so is that a refusal changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hermes_core.messages import StoredMessage, UserMessage

from hermes_tui_gateway.codes import (
    BUSY,
    MALFORMED,
    NOT_CONFIRMED,
    TARGET_GONE,
    TARGETS_DISAGREE,
    WOULD_EMPTY,
    WireError,
)
from hermes_tui_gateway.wire.turns import SubmitParams

_YES = frozenset({"1", "true", "yes", "on"})


class Cut(msgspec.Struct, frozen=True):
    """A cut that may be made: the user row at which the conversation ends, and its place among the user rows."""

    row_id: int
    ordinal: int


def wanted_cut(params: SubmitParams, rows: Sequence[StoredMessage], *, running: bool) -> Cut | None:
    """Return the cut that a submit asks for, None for an ordinary one. Raises WireError for all in between."""
    row_id, ordinal = params.truncate_before_row_id, params.truncate_before_user_ordinal
    targeted = row_id is not None or ordinal is not None or params.truncate_before_message_id is not None
    confirmed = _is_yes(params.confirm_truncate)
    if running and (targeted or confirmed):
        raise WireError(BUSY, "session busy: a turn runs, so nothing can be cut now. Interrupt it, then try again.")
    if confirmed and not targeted:
        raise WireError(MALFORMED, "confirm_truncate is set, but no message to rewind to is named.")
    _check_whole(row_id, "truncate_before_row_id")
    _check_whole(ordinal, "truncate_before_user_ordinal")
    if not targeted:
        return None
    if not confirmed:
        raise WireError(
            NOT_CONFIRMED, "A rewind cuts stored messages. Send confirm_truncate with it, or leave its fields out."
        )
    cut = _located(row_id, ordinal, params.truncate_before_message_id, rows)
    if cut.row_id == rows[0].row_id and not _is_yes(params.confirm_empty_truncate):
        raise WireError(WOULD_EMPTY, "This would empty the conversation. Send confirm_empty_truncate if it is meant.")
    return cut


def _is_yes(flag: Any) -> bool:
    if isinstance(flag, str):
        return flag.strip().lower() in _YES
    return flag is True or (type(flag) is int and flag == 1)


def _check_whole(value: Any, field: str) -> None:
    if value is not None and type(value) is not int:
        raise WireError(MALFORMED, f"{field} must be an integer.")


def _located(row_id: int | None, ordinal: int | None, message_id: Any, rows: Sequence[StoredMessage]) -> Cut:
    """Return the user row that is meant. A row id that is gone is never replaced by the ordinal beside it."""
    users = [row.row_id for row in rows if isinstance(row.message, UserMessage)]
    if row_id is not None:
        if row_id not in users:
            raise _gone(len(users), ordinal)
        place = users.index(row_id)
        if ordinal is not None and ordinal != place:
            raise WireError(
                TARGETS_DISAGREE, f"Row {row_id} is user message {place}, not {ordinal}. Nothing was changed."
            )
        return Cut(row_id, place)
    if ordinal is None or message_id is not None or not 0 <= ordinal < len(users):
        raise _gone(len(users), ordinal)
    return Cut(users[ordinal], ordinal)


def _gone(count: int, ordinal: int | None) -> WireError:
    data = {
        "user_turn_count": count,
        "ordinal": ordinal,
        "segment_ordinal": ordinal,
        "prefix_user_count": 0,
    }
    return WireError(TARGET_GONE, "The message to rewind to is no longer in this session's history.", data)
