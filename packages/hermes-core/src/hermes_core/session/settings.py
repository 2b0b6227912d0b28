"""The settings of a live session: its record, and the durable row behind it once there is one."""

from __future__ import annotations

import msgspec

from hermes_core.content import clean
from hermes_core.errors import InvalidInput
from hermes_core.shield import shielded
from hermes_core.store.protocol import SessionPatch, SessionRecord, Store

MAX_TITLE = 200


class SessionSettings:
    """The record of one session as it is now. A change is stored first, if there is a row yet, then taken over."""

    def __init__(self, store: Store, record: SessionRecord, *, stored: bool) -> None:
        self._store = store
        self.record = record
        self.stored = stored
        """Whether the session has its durable row."""

    async def change(self, patch: SessionPatch) -> None:
        """Store a change of settings, then take it over; never the one without the other."""
        await shielded(self._change(patch))

    async def ensure_stored(self) -> None:
        """Give the session its durable row, once, with the first thing that is worth keeping."""
        if not self.stored:
            self.stored = True
            try:
                # Shielded: a row that is there although we do not know of it could never be made again.
                await shielded(self._store.create_session(self.record))
            except BaseException:
                self.stored = False
                raise

    async def _change(self, patch: SessionPatch) -> None:
        if self.stored:
            await self._store.update_session(self.record.id, patch)
        self.record = patched(self.record, patch)


def patched(record: SessionRecord, patch: SessionPatch) -> SessionRecord:
    """Return `record` with the fields that `patch` sets."""
    changes = {name: value for name in patch.__struct_fields__ if (value := getattr(patch, name)) is not msgspec.UNSET}
    return msgspec.structs.replace(record, **changes)


def checked_title(title: str) -> str:
    """Return a title on one line. Raises InvalidInput when it is empty or longer than MAX_TITLE characters."""
    title = " ".join(clean(title).split())
    if not title:
        raise InvalidInput("The title is empty.", "title")
    if len(title) > MAX_TITLE:
        raise InvalidInput(f"The title is longer than {MAX_TITLE} characters.", "title")
    return title
