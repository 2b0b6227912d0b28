"""The journal of a run: its newest events as frames, numbered from 1, read by any number of clients.

Readers have cursors, not queues: one that is slow costs nothing, and at worst finds that the oldest frames it
wanted are gone. Frames are kept in pages, in memory and in the store alike.
"""

from __future__ import annotations

import anyio
import msgspec

from hermes_api.encode.runs import RunEvent, frame

PAGE = 256
MAX_FRAMES = 4096
MAX_BYTES = 4 * 1024 * 1024


class Journal:
    """The frames of one run. `oldest` is the number of the first one still kept, `newest` that of the last."""

    def __init__(
        self, run_id: str, frames: list[bytes] | None = None, oldest: int = 1, *, closed: bool = False
    ) -> None:
        self.run_id = run_id
        self.oldest = oldest
        self.closed = closed
        self._frames = frames or []
        self._bytes = sum(map(len, self._frames))
        self._saved = self.newest
        self._changed = anyio.Event()

    @property
    def newest(self) -> int:
        """The number of the last frame, 0 before the first."""
        return self.oldest + len(self._frames) - 1

    @property
    def unsaved(self) -> int:
        """How many frames are not in the store yet."""
        return self.newest - self._saved

    def add(self, event: RunEvent) -> None:
        """Add an event. Readers see it when `tell` is called."""
        data = frame(self.newest + 1, self.run_id, event)
        self._frames.append(data)
        self._bytes += len(data)

    def tell(self) -> None:
        """Wake the readers."""
        self._changed.set()
        self._changed = anyio.Event()

    def close(self) -> None:
        """Say that no frame follows."""
        self.closed = True
        self.tell()

    def after(self, number: int, limit: int = PAGE) -> list[bytes]:
        """Return kept frames with higher numbers, at most `limit`."""
        begin = max(0, number + 1 - self.oldest)
        return self._frames[begin : begin + limit]

    async def changed(self) -> None:
        """Wait for the next `tell`."""
        await self._changed.wait()

    def trim(self) -> list[int]:
        """Drop whole pages while there is too much; return their numbers, for the store to drop them too."""
        dropped: list[int] = []
        while len(self._frames) > PAGE and (len(self._frames) > MAX_FRAMES or self._bytes > MAX_BYTES):
            dropped.append(_page(self.oldest))
            self._bytes -= sum(map(len, self._frames[:PAGE]))
            del self._frames[:PAGE]
            self.oldest += PAGE
        return dropped

    def unsaved_pages(self) -> dict[int, bytes]:
        """Return the pages that hold unsaved frames, by number, as the store keeps them; they count as saved now."""
        if not self.unsaved:
            return {}
        pages: dict[int, bytes] = {}
        for number in range(_page(max(self._saved + 1, self.oldest)), _page(self.newest) + 1):
            begin = max(0, number * PAGE + 1 - self.oldest)
            pages[number] = msgspec.msgpack.encode(self._frames[begin : begin + PAGE])
        self._saved = self.newest
        return pages


def restored(run_id: str, pages: dict[int, bytes]) -> Journal:
    """Return the closed journal of a run from its stored pages."""
    if not pages:
        return Journal(run_id, closed=True)
    frames = [frame for _, page in sorted(pages.items()) for frame in msgspec.msgpack.decode(page, type=list[bytes])]
    return Journal(run_id, frames, min(pages) * PAGE + 1, closed=True)


def _page(number: int) -> int:
    return (number - 1) // PAGE
