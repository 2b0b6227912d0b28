"""Rewind: reading the wish to cut a conversation before one of its user messages, and refusing every doubtful one.

The order of the checks is part of the protocol, and so is that a refusal changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from hermes_core.commands import Cut
from hermes_core.errors import CutRefused
from hermes_core.messages import StoredMessage
from hermes_core.session.cutting import place_of, user_places

from hermes_tui_gateway.codes import BUSY, CUT_CODES, MALFORMED, NOT_CONFIRMED, TARGET_GONE, WireError
from hermes_tui_gateway.wire.turns import SubmitParams

_YES = frozenset({"1", "true", "yes", "on"})


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
    if row_id is None and (ordinal is None or params.truncate_before_message_id is not None):
        raise _gone(rows, ordinal)
    cut = Cut(row_id=row_id, ordinal=ordinal, allow_empty=_is_yes(params.confirm_empty_truncate))
    try:
        target = rows[place_of(cut, rows)]
    except CutRefused as error:
        match error.problem:
            case "not_found":
                raise _gone(rows, ordinal) from error
            case "empty":
                message = "This would empty the conversation. Send confirm_empty_truncate if it is meant."
                raise WireError(CUT_CODES[error.problem], message) from error
            case "mismatch":
                raise WireError(CUT_CODES[error.problem], f"{error.message} Nothing was changed.") from error
            case _:
                assert_never(error.problem)
    return Cut(row_id=target.row_id, allow_empty=cut.allow_empty)


def _is_yes(flag: Any) -> bool:
    if isinstance(flag, str):
        return flag.strip().lower() in _YES
    return flag is True or (type(flag) is int and flag == 1)


def _check_whole(value: Any, field: str) -> None:
    if value is not None and type(value) is not int:
        raise WireError(MALFORMED, f"{field} must be an integer.")


def _gone(rows: Sequence[StoredMessage], ordinal: int | None) -> WireError:
    data = {
        "user_turn_count": len(user_places(rows)),
        "ordinal": ordinal,
        "segment_ordinal": ordinal,
        "prefix_user_count": 0,
    }
    return WireError(TARGET_GONE, "The message to rewind to is no longer in this session's history.", data)
