"""What a person does at the foot of the terminal. The screen sends these, the chat carries them out."""

from __future__ import annotations

from typing import NamedTuple

from hermes_core.questions import Choice


class Line(NamedTuple):
    """A finished line of the composer: a message, a command, or the answer to what is asked."""

    text: str


class Choose(NamedTuple):
    """An answer to the approval `request_id`."""

    request_id: str
    choice: Choice


class Stop(NamedTuple):
    """Ctrl-C."""


class Leave(NamedTuple):
    """Ctrl-D at an empty prompt, or a signal; `code` is the exit code."""

    code: int = 0


Action = Line | Choose | Stop | Leave
