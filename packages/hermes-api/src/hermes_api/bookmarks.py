"""Bookmarks: which stored session a conversation continues that a client sends along whole.

Frontends keep the conversation themselves and send all of it each time. When an answer goes out, the whole
conversation as that client now has it is a bookmark of the session's newest row. A request whose history has a
bookmark continues that session, as long as nothing was added to it since; one without (a new chat, an edited or
regenerated message, another device) begins a new session with the history it brought.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import sha256

import msgspec
from hermes_core.messages import AssistantMessage, Message, UserMessage
from hermes_core.store.protocol import Store

from hermes_api.encode.quote import quoted

SPACE = "api.bookmarks"
KEPT_SECONDS = 30 * 24 * 3600.0


class Bookmark(msgspec.Struct, frozen=True):
    """A stored session and the row it ended with."""

    session_id: str
    row_id: int


class Bookmarks:
    """Finds and sets bookmarks; they are kept for 30 days."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, owner: str, history: Sequence[Message]) -> Bookmark | None:
        """Return the bookmark of a conversation, None where it has none."""
        value = await self._store.get(SPACE, _key(owner, history))
        return msgspec.json.decode(value, type=Bookmark) if value else None

    async def put(self, owner: str, history: Sequence[Message], bookmark: Bookmark) -> None:
        """Set the bookmark of a conversation."""
        value = msgspec.json.encode(bookmark)
        await self._store.put(SPACE, _key(owner, history), value, expires_at=time.time() + KEPT_SECONDS)


def _key(owner: str, history: Sequence[Message]) -> str:
    """Return a digest of who said what. Instructions are no part of it: frontends put the date there."""
    digest = sha256(owner.encode())
    for message in history:
        match message:
            case UserMessage():
                said = ["user", message.text.strip(), *(image.url for image in message.images)]
            case AssistantMessage():
                said = ["assistant", message.text.strip()]
            case _:
                continue
        digest.update(b"\n" + quoted(said))
    return digest.hexdigest()
