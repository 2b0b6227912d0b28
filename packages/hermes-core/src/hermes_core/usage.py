"""Token counts. The same meaning everywhere: cached tokens are part of the input, reasoning of the output."""

from __future__ import annotations

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one or more model calls.

    `cached` and `cache_write` are parts of `input`; `reasoning` is a part of `output`. `estimated` is true as
    soon as one of the added figures is our own estimate, because the provider sent none.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0
    calls: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        return self.input + self.output

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cached=self.cached + other.cached,
            cache_write=self.cache_write + other.cache_write,
            reasoning=self.reasoning + other.reasoning,
            calls=self.calls + other.calls,
            estimated=self.estimated or other.estimated,
        )


def estimate_tokens(text: str) -> int:
    """Return a rough token count of `text`: a quarter of its UTF-8 bytes, at least 1 for any text."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
