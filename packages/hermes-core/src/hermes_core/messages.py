"""Messages: the rows of a transcript.

A transcript is *valid* when it can be sent to a provider as it stands: directly after an assistant message
come the results of all its tool calls, one each, in call order, and no other result stands anywhere.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from hermes_core.content import ImagePart, Part, TextPart, text_of
from hermes_core.usage import Usage

Outcome = Literal["ok", "error", "denied", "interrupted", "unknown"]
"""How a tool call ended. `unknown`: it was begun and nobody lived to see its end; it is never run again."""

Finish = Literal["stop", "tool_calls", "length", "content_filter", "interrupted", "error"]
"""Why an assistant message ended. The last two are ours: stopped by a person, broken off by the provider."""


class ToolCall(msgspec.Struct, frozen=True):
    """One call that the model asked for. `arguments` is the JSON text exactly as the model wrote it."""

    id: str
    name: str
    arguments: str


class UserMessage(msgspec.Struct, tag="user", tag_field="role", frozen=True, omit_defaults=True):
    """What a person said. `parts` is never empty."""

    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return text_of(self.parts)

    @property
    def images(self) -> tuple[ImagePart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ImagePart))


class AssistantMessage(msgspec.Struct, tag="assistant", tag_field="role", frozen=True, omit_defaults=True):
    """One answer of the model: text, the reasoning behind it, and the tools it called."""

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish: Finish = "stop"
    model: str = ""
    usage: Usage = Usage()


class ToolMessage(msgspec.Struct, tag="tool", tag_field="role", frozen=True, omit_defaults=True):
    """The result of one tool call, as the model reads it."""

    tool_call_id: str
    name: str
    text: str
    outcome: Outcome = "ok"
    duration: float = 0.0
    """Seconds that the call took."""


class NoteMessage(msgspec.Struct, tag="note", tag_field="role", frozen=True, omit_defaults=True):
    """A row for the reader's eye only, such as a change of model. Never sent to the model, never counted."""

    text: str
    display_kind: str = "note"


Message = UserMessage | AssistantMessage | ToolMessage | NoteMessage


class StoredMessage(msgspec.Struct, frozen=True):
    """A message with the place it has in the store. `row_id` is never given twice; `created_at` is UNIX seconds."""

    row_id: int
    created_at: float
    message: Message


def user_text(text: str) -> UserMessage:
    """Return a user message of one text part."""
    return UserMessage(parts=(TextPart(text),))
