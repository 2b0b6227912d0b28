"""Which rows of a transcript live on when it is replaced: the same for every store."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence


def survivors(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[int | None]:
    """Return for each of `new` the place in `old` of the row that it repeats, None where it is new.

    A row repeats another one of the same time and content; each old row is repeated at most once, the first of
    several alike first.
    """
    places: dict[Hashable, deque[int]] = {}
    for place, row in enumerate(old):
        places.setdefault(row, deque()).append(place)
    return [places[row].popleft() if places.get(row) else None for row in new]
