"""The bounds of every store, each with what happens at it."""

from __future__ import annotations

MAX_PAGE = 1_000
"""Sessions of one list; a higher limit is taken as this one."""
MAX_HITS = 1_000
"""Hits of one search; a higher limit is taken as this one."""
MAX_QUERY = 1_000
"""Characters of a search query; a longer one is refused."""
MAX_TERMS = 32
"""Terms of a search query; more are refused."""
SEARCHED = 100_000
"""Characters of one message that can be found; what lies beyond is stored but not searched."""
SNIPPET = 160
"""Characters of a search hit's snippet, without the ellipses that mark a cut."""
PREVIEW = 160
"""Characters of a session's preview."""
PATIENCE = 15.0
"""Seconds to wait for another process's write lock; then StoreBusy."""
READERS = 4
"""Connections that read side by side; further reads wait their turn."""
SWEPT = 100
"""Expired values that one `put` removes."""
UNINDEXED = 100
"""Texts that one transaction takes out of the search index after a deletion."""
