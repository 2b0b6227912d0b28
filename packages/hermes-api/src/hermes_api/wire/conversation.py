"""A conversation as clients send it: instructions, history, and the message that is the new turn."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hermes_core.content import Part, TextPart
from hermes_core.messages import AssistantMessage, Message, UserMessage

from hermes_api.errors import ApiError
from hermes_api.wire.content import parts_of, texts_of


class ClientMessage(msgspec.Struct, frozen=True):
    """One message of a request. Tool calls, names and whatever else it carries are not read."""

    role: str
    content: object = None


class Conversation(msgspec.Struct, frozen=True):
    """`history` is legal as it stands: users and assistants only, no two users and no two assistants in a row."""

    system: str
    history: tuple[Message, ...]
    turn: tuple[Part, ...]

    @property
    def first_text(self) -> str:
        """The first thing the user said."""
        first = next((m.parts for m in self.history if isinstance(m, UserMessage)), self.turn)
        return next((part.text for part in first if isinstance(part, TextPart)), "")


def conversation_of(messages: Sequence[ClientMessage], field: str = "messages") -> Conversation:
    """Sort a request's messages: system and developer texts, history, and the last user message as the turn.

    What comes after the last user message (a prefilled answer) and tool messages are left out. Raises ApiError 400.
    """
    system: list[str] = []
    said: list[tuple[str, tuple[Part, ...]]] = []
    last_user = -1
    for index, message in enumerate(messages):
        where = f"{field}[{index}].content"
        match message.role.lower():
            case "system" | "developer":
                system.append(texts_of(message.content, where))
            case "user":
                last_user = len(said)
                said.append(("user", parts_of(message.content, where)))
            case "assistant":
                said.append(("assistant", parts_of(message.content, where)))
            case "tool" | "function":
                pass
            case role:
                raise ApiError(400, f"There is no role {role[:40]!r}.", "invalid_role", param=f"{field}[{index}].role")
    turn = said[last_user][1] if last_user >= 0 else ()
    if not any(not isinstance(part, TextPart) or part.text.strip() for part in turn):
        raise ApiError(400, f"No user message found in '{field}'.", "no_user_message", param=field)
    return Conversation("\n".join(text for text in system if text), merged(said[:last_user]), turn)


def merged(said: Sequence[tuple[str, tuple[Part, ...]]]) -> tuple[Message, ...]:
    """Return history in which roles alternate: neighbours of one role become one message, empty ones vanish."""
    joined: list[tuple[str, tuple[Part, ...]]] = []
    for role, parts in said:
        if not parts:
            continue
        if joined and joined[-1][0] == role:
            joined[-1] = (role, (*joined[-1][1], *parts))
        else:
            joined.append((role, parts))
    return tuple(_message(role, parts) for role, parts in joined)


def extended(history: Sequence[Message], turn: tuple[Part, ...], said: str) -> tuple[Message, ...]:
    """Return the history that a client will send after this turn, in the form that `conversation_of` gives it."""
    before = [
        ("user", message.parts) if isinstance(message, UserMessage) else ("assistant", (TextPart(message.text),))
        for message in history
        if isinstance(message, UserMessage | AssistantMessage)
    ]
    answer = (TextPart(said),) if said else ()
    return merged([*before, ("user", turn), ("assistant", answer)])


def _message(role: str, parts: tuple[Part, ...]) -> Message:
    if role == "user":
        return UserMessage(parts=parts)
    return AssistantMessage(text="\n\n".join(part.text for part in parts if isinstance(part, TextPart)))
