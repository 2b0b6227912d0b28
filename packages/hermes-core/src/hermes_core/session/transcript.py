"""The transcript of a live session: the store's rows and the copy in memory, kept alike.

The store is written first, always. A step's assistant row is stored together with one result row for each of
its calls, marked `unknown`; each is settled when its call has ended. So what is stored can be sent to a
provider at every instant, whenever the process dies, and tells which calls were begun.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Sequence

from hermes_core.messages import AssistantMessage, Message, NoteMessage, StoredMessage, ToolMessage, UserMessage
from hermes_core.shield import shielded
from hermes_core.store.protocol import Store
from hermes_core.usage import Usage

UNKNOWN_RESULT = (
    "The outcome of this call is unknown: it was begun, and the process ended before it was recorded. "
    "Find out what happened before you repeat it."
)
INTERRUPTED_RESULT = "This call was stopped before it ended."
NOT_BEGUN_RESULT = "This call was not begun: the turn was stopped before it."
CLOSING_TEXT = "(This turn ended before an answer was given.)"


class Transcript:
    """The rows of one session. Only the running turn writes, so there is one writer at a time."""

    def __init__(self, store: Store, session_id: str, ensure_stored: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._session_id = session_id
        self._ensure_stored = ensure_stored
        self._rows: list[StoredMessage] = []
        self._seed: tuple[Message, ...] = ()

    @property
    def rows(self) -> Sequence[StoredMessage]:
        """Every row in order; do not change it."""
        return self._rows

    @property
    def messages(self) -> tuple[Message, ...]:
        """Every message in order, as a model request takes them."""
        return tuple(row.message for row in self._rows)

    def seed(self, messages: Sequence[Message]) -> None:
        """Begin with these messages; they are stored together with the first turn."""
        self._seed = tuple(messages)

    async def load(self) -> None:
        """Read all rows from the store."""
        self._rows = await self._store.messages(self._session_id)

    async def keyed(self, key: str) -> int | None:
        """Return the user row that was stored with `key`, None where there is none, 0 when it was cut since."""
        return await self._store.keyed(self._session_id, key)

    async def add_user(self, message: UserMessage, *, before: int | None = None, key: str = "") -> StoredMessage:
        """Store a user row and return it, after whatever row must stand between it and the rows before.

        With `before`, the place of a row, the transcript is cut there in the same transaction.
        """
        await self._ensure_stored()
        begun = self._seed
        kept = self._rows[:before]
        earlier = itertools.chain(reversed(begun), (row.message for row in reversed(kept)))
        last = next((m for m in earlier if not isinstance(m, NoteMessage)), None)
        # Some providers refuse a user message after a tool result or another user message.
        closing = [AssistantMessage(text=CLOSING_TEXT, finish="interrupted")]
        between = closing if isinstance(last, ToolMessage | UserMessage) else []
        new = [*begun, *between, message]
        if before is None:
            row = (await self._add(new, key=key))[-1]
        else:
            now = time.time()
            rows = [(row.created_at, row.message) for row in kept] + [(now, message) for message in new]
            row = (await self.rewrite(rows, key=key))[-1]
        self._seed = ()  # not before it is stored: a submit that failed can be made again
        return row

    async def add_step(self, answer: AssistantMessage) -> list[StoredMessage]:
        """Store an answer and a result row for each of its calls; return these rows, the answer's first."""
        begun = [
            ToolMessage(tool_call_id=call.id, name=call.name, text=UNKNOWN_RESULT, outcome="unknown")
            for call in answer.tool_calls
        ]
        return await self._add([answer, *begun], answer.usage)

    async def settle(self, row_id: int, result: ToolMessage) -> None:
        """Put the real result in the place of the row that was stored when the call began."""
        await self._store.settle(self._session_id, row_id, result)
        for index in range(len(self._rows) - 1, -1, -1):
            row = self._rows[index]
            if row.row_id == row_id:
                self._rows[index] = StoredMessage(row_id=row_id, created_at=row.created_at, message=result)
                return

    async def rewrite(
        self, rows: Sequence[tuple[float, Message]], *, archive: bool = True, key: str = ""
    ) -> Sequence[StoredMessage]:
        """Make `rows` (time, message) the whole transcript and return it; all row ids are new.

        What is no longer in it is kept in the store's archive, unless `archive` is False. `key` names the last row.
        """
        return await shielded(self._rewrite(tuple(rows), archive, key))

    async def _rewrite(self, rows: Sequence[tuple[float, Message]], archive: bool, key: str) -> Sequence[StoredMessage]:
        expected = self._rows[-1].row_id if self._rows else 0
        row_ids = await self._store.replace(self._session_id, rows, expected=expected, archive=archive, key=key)
        self._rows = [StoredMessage(row_id, at, message) for row_id, (at, message) in zip(row_ids, rows, strict=True)]
        return self._rows

    async def _add(self, messages: list[Message], usage: Usage | None = None, key: str = "") -> list[StoredMessage]:
        # Shielded: what the store has written must be in memory too, also when the turn is being interrupted.
        return await shielded(self._append(messages, usage, key))

    async def _append(self, messages: list[Message], usage: Usage | None, key: str) -> list[StoredMessage]:
        now = time.time()
        row_ids = await self._store.append(self._session_id, messages, usage, at=now, key=key)
        rows = [StoredMessage(row_id=i, created_at=now, message=m) for i, m in zip(row_ids, messages, strict=True)]
        self._rows += rows
        return rows
