"""Commands that change what was said: take turns back, make one again, go on from an earlier point elsewhere."""

from __future__ import annotations

import msgspec

from hermes_core.commands.asks import Asks
from hermes_core.commands.cut import Cut
from hermes_core.commands.turn import SubmitReply
from hermes_core.content import Part


class RewindReply(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a cut took away. Every row id known before is void.

    `removed` counts user, assistant and tool rows; `survivors` are the new ids of the user rows that are left, in
    their order; `parts` is what the first removed user row said, to be edited and sent again.
    """

    removed: int
    survivors: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()


class Rewind(Asks[RewindReply], tag="rewind", frozen=True):
    """Take back a user's message and everything after it. What was taken stays in the store's archive.

    Errors: CutRefused, InvalidInput (a cut without a target), SessionBusy, StoreError. Then nothing has changed.
    """

    cut: Cut


class Undo(Asks[RewindReply], tag="undo", frozen=True):
    """Take back the last `turns` turns; none may be left. Errors: those of Rewind; InvalidInput below 1."""

    turns: int = 1


class Retry(Asks[SubmitReply], tag="retry", frozen=True):
    """Take back the last turn and submit its message again, as one act. Errors: those of Rewind and Submit."""


class BranchReply(msgspec.Struct, frozen=True):
    """The new session: it is stored and not live; resume it to go on in it. `message_count` as a list shows it."""

    stored_id: str
    title: str
    message_count: int


class Branch(Asks[BranchReply], tag="branch", frozen=True, omit_defaults=True):
    """Make a new session of the beginning of this one, which stays as it is; also while a turn runs.

    The turn that the user row `row_id` began is the last that is copied; None copies all that is stored. An empty
    `title` takes this one's with the next free number of its branches. Errors: CutRefused (no such user row, or
    nothing to copy), InvalidInput (title), StoreError.
    """

    row_id: int | None = None
    title: str = ""


HistoryCommand = Rewind | Undo | Retry | Branch
HistoryReply = RewindReply | SubmitReply | BranchReply
