"""Steering: text that reaches the model in the middle of a turn, with the results of its next tool batch."""

from __future__ import annotations

from hermes_core.commands import Submit
from hermes_core.errors import InvalidInput

MAX_WAITING = 100


class Steering:
    """The texts that wait for the running turn's next tool batch, in the order in which they came.

    A text is delivered once or comes back once. What comes back is either text to return to whoever sent it,
    or, where it was a submit, the submit itself: it becomes a follow-up instead.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Submit | None]] = []

    def add(self, text: str, follow_up: Submit | None = None) -> None:
        """Keep a text for the next tool batch; `follow_up` is the submit that it was, if it was one.

        Raises InvalidInput when MAX_WAITING texts wait.
        """
        if len(self._waiting) >= MAX_WAITING:
            raise InvalidInput(f"{MAX_WAITING} texts wait for this turn already.", "text")
        self._waiting.append((text, follow_up))

    @property
    def waits(self) -> bool:
        """Whether there is a text that was not delivered."""
        return bool(self._waiting)

    def return_all(self) -> None:
        """Let what waits come back as text, also where it was a submit: nothing is to follow this turn."""
        self._waiting = [(text, None) for text, _ in self._waiting]

    def take(self) -> Taken:
        """Take everything that waits, for delivery."""
        taken = Taken(self._waiting)
        self._waiting = []
        return taken

    def put_back(self, taken: Taken) -> None:
        """Keep what was taken and could not be delivered, before what came since."""
        self._waiting = [*taken.entries, *self._waiting]

    def leftover(self) -> str:
        """Return, and forget, the texts that only their sender can use again; empty when there is none."""
        text = "\n".join(text for text, follow_up in self._waiting if follow_up is None)
        self._waiting = [entry for entry in self._waiting if entry[1] is not None]
        return text

    def follow_ups(self) -> list[Submit]:
        """Return, and forget, the submits that could not be delivered."""
        submits = [follow_up for _, follow_up in self._waiting if follow_up is not None]
        self._waiting = [entry for entry in self._waiting if entry[1] is None]
        return submits


class Taken:
    """Texts on their way to the model."""

    def __init__(self, entries: list[tuple[str, Submit | None]]) -> None:
        self.entries = entries

    @property
    def text(self) -> str:
        """The texts, joined by newlines; empty when there is none."""
        return "\n".join(text for text, _ in self.entries)


def steered(result: str, text: str) -> str:
    """Return a tool result with steering text after it, marked as the person's own words."""
    return f"{result}\n\n[The user says, while you work: {text}]"
