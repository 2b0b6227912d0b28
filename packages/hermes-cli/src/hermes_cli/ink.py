"""The few colours the terminal shows: meaning only, from the terminal's own palette, none where they are not wanted."""

from __future__ import annotations

import os

from hermes_core.messages import Outcome

MARKS: dict[Outcome, str] = {"ok": "✓", "error": "✗", "denied": "⊘", "interrupted": "■", "unknown": "?"}
_OUTCOME_CODES: dict[Outcome, str] = {"ok": "32", "error": "31", "denied": "33", "interrupted": "33", "unknown": "33"}


class Ink:
    """Writes ANSI styles around text, or leaves it plain."""

    def __init__(self, *, coloured: bool) -> None:
        self.coloured = coloured

    def dim(self, text: str) -> str:
        """Side matters."""
        return self._styled("2", text)

    def bold(self, text: str) -> str:
        """What a line is about."""
        return self._styled("1", text)

    def red(self, text: str) -> str:
        """Failures, and lines taken away."""
        return self._styled("31", text)

    def green(self, text: str) -> str:
        """Success, and lines added."""
        return self._styled("32", text)

    def yellow(self, text: str) -> str:
        """What wants attention."""
        return self._styled("33", text)

    def cyan(self, text: str) -> str:
        """What the person said, and what is theirs to choose."""
        return self._styled("36", text)

    def mark(self, outcome: Outcome) -> str:
        """Return the sign for how a tool call ended."""
        return self._styled(_OUTCOME_CODES[outcome], MARKS[outcome])

    def _styled(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured and text else text


def wants_colour(*, terminal: bool) -> bool:
    """Say whether colours are shown on something that is a terminal or not (https://no-color.org)."""
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
