"""The history of a session: what takes turns back, makes one again, or goes on from an earlier point elsewhere.

What is cut is written to the store first and then in memory, while no turn can begin.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable
from typing import assert_never

import msgspec

from hermes_core import ids
from hermes_core.commands import Branch, BranchReply, Retry, Rewind, RewindReply, Submit, SubmitReply, Undo
from hermes_core.commands.cut import Cut
from hermes_core.commands.history import HistoryCommand, HistoryReply
from hermes_core.events import Event, TranscriptCut
from hermes_core.messages import UserMessage
from hermes_core.session.agenda import Agenda
from hermes_core.session.cutting import count, end_of_turn, last_turns, place_of, survivors, user_places
from hermes_core.session.settings import MAX_TITLE, SessionSettings, checked_title
from hermes_core.session.transcript import Transcript
from hermes_core.shield import shielded
from hermes_core.store.limits import MAX_PAGE
from hermes_core.store.protocol import SessionQuery, Store
from hermes_core.store.search import preview_of

_NUMBERED = re.compile(r"(.*) \((\d{1,6})\)", re.DOTALL)
_HEAD = 60
"""Characters of the first message that stand for a title where there is none."""


class History:
    """Carries out the commands about what was said. `submit` is how the session takes a submit."""

    def __init__(
        self,
        store: Store,
        settings: SessionSettings,
        transcript: Transcript,
        agenda: Agenda,
        publish: Callable[[Event], None],
        submit: Callable[[Submit], Awaitable[SubmitReply]],
    ) -> None:
        self._store = store
        self._settings = settings
        self._transcript = transcript
        self._agenda = agenda
        self._publish = publish
        self._submit = submit

    async def dispatch(self, command: HistoryCommand) -> HistoryReply:
        """Carry out `command`. Raises what it names, and then nothing has changed."""
        match command:
            case Rewind():
                return await self._rewind(command.cut)
            case Undo():
                return await self._rewind(last_turns(command.turns, self._transcript.rows))
            case Retry():
                return await self._retry()
            case Branch():
                return await self._branch(command)
            case _:
                assert_never(command)

    async def _rewind(self, cut: Cut) -> RewindReply:
        with self._agenda.hold():
            return await shielded(self._cut(cut))

    async def _cut(self, cut: Cut) -> RewindReply:
        rows = self._transcript.rows
        place = place_of(cut, rows)
        target = rows[place].message
        removed = count(rows[place:])
        left = await self._transcript.rewrite([(row.created_at, row.message) for row in rows[:place]])
        self._publish(TranscriptCut(removed=removed, survivors=survivors(left)))
        return RewindReply(removed, survivors(left), target.parts if isinstance(target, UserMessage) else ())

    async def _retry(self) -> SubmitReply:
        rows = self._transcript.rows
        cut = last_turns(1, rows)
        last = rows[user_places(rows)[-1]].message
        return await self._submit(Submit(parts=last.parts if isinstance(last, UserMessage) else (), cut=cut))

    async def _branch(self, command: Branch) -> BranchReply:
        through = end_of_turn(command.row_id, self._transcript.rows)
        title = checked_title(command.title) if command.title else await self._next_title()
        source = self._settings.record
        record = msgspec.structs.replace(
            source,
            id=ids.stored_session_id(),
            title=title,
            kind="branch",
            parent_id=source.id,
            created_at=time.time(),
            ended_at=0.0,
            end_reason="",
        )
        copied = await shielded(self._store.branch(source.id, record, through))
        return BranchReply(record.id, title, copied)

    async def _next_title(self) -> str:
        """Return this title with the first number, from 2 up, that neither a branch nor a sibling of it has."""
        record = self._settings.record
        previews = (preview_of(row.message) for row in self._transcript.rows)
        title = record.title or next(filter(None, previews), "Branch")[:_HEAD].rstrip()
        numbered = _NUMBERED.fullmatch(title)
        base, number = (numbered[1], int(numbered[2])) if numbered else (title, 1)
        taken = {title}
        for parent in filter(None, (record.id, record.parent_id)):
            query = SessionQuery(parent=parent, only_used=False, limit=MAX_PAGE)
            taken |= {summary.record.title for summary in await self._store.list_sessions(query)}
        while (candidate := f"{base[: MAX_TITLE - 10]} ({number + 1})") in taken:
            number += 1
        return candidate
