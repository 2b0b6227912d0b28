"""Where a cut falls: pure decisions over the rows of a transcript.

A cut is always before a user row, so it never parts calls from their results. Notes are shown, not said: they are
never a target and do not count.
"""

from __future__ import annotations

from collections.abc import Sequence

from hermes_core.commands.cut import Cut
from hermes_core.errors import CutRefused, InvalidInput
from hermes_core.messages import NoteMessage, StoredMessage, UserMessage


def user_places(rows: Sequence[StoredMessage]) -> list[int]:
    """Return the places of the user rows; each begins a turn."""
    return [place for place, row in enumerate(rows) if isinstance(row.message, UserMessage)]


def survivors(rows: Sequence[StoredMessage]) -> tuple[int, ...]:
    """Return the ids of the user rows in their order."""
    return tuple(rows[place].row_id for place in user_places(rows))


def count(rows: Sequence[StoredMessage]) -> int:
    """Return the number of user, assistant and tool rows."""
    return sum(not isinstance(row.message, NoteMessage) for row in rows)


def place_of(cut: Cut, rows: Sequence[StoredMessage]) -> int:
    """Return the place in `rows` of the user row before which to cut. Raises CutRefused, InvalidInput."""
    users = user_places(rows)
    if cut.row_id is not None:
        ordinal = next((number for number, place in enumerate(users) if rows[place].row_id == cut.row_id), None)
        if ordinal is None:
            raise CutRefused(f"There is no user message with the row id {cut.row_id}.", "not_found")
        if cut.ordinal not in (None, ordinal):
            raise CutRefused(f"Row {cut.row_id} is user message {ordinal}, not {cut.ordinal}.", "mismatch")
    elif cut.ordinal is not None:
        ordinal = cut.ordinal
        if not 0 <= ordinal < len(users):
            raise CutRefused(f"There is no user message {ordinal}: there are {len(users)}.", "not_found")
    else:
        raise InvalidInput("The cut names no message.", "cut")
    if not cut.allow_empty and count(rows[: users[ordinal]]) == 0:
        raise CutRefused("This would empty the conversation, which was not agreed to.", "empty")
    return users[ordinal]


def last_turns(turns: int, rows: Sequence[StoredMessage]) -> Cut:
    """Return the cut that takes back the last `turns` turns. Raises InvalidInput, CutRefused when there are fewer."""
    if turns < 1:
        raise InvalidInput("At least one turn must be taken back.", "turns")
    users = user_places(rows)
    if turns > len(users):
        raise CutRefused(
            "There is no turn to take back." if not users else f"There are only {len(users)} turns to take back.",
            "not_found",
        )
    return Cut(row_id=rows[users[-turns]].row_id, allow_empty=True)


def end_of_turn(row_id: int | None, rows: Sequence[StoredMessage]) -> int:
    """Return the id of the last row of the turn that a user row began, or of all rows. Raises CutRefused."""
    users = user_places(rows)
    if row_id is None:
        end = len(rows)
    else:
        begun = place_of(Cut(row_id=row_id, allow_empty=True), rows)
        end = next((place for place in users if place > begun), len(rows))
    if count(rows[:end]) == 0:
        raise CutRefused("There is nothing to branch from yet.", "empty")
    return rows[end - 1].row_id
