"""Chat messages in OpenAI's form, as embedding programs hand over and get back whole conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never, cast

from hermes_core.content import ImagePart, Part, TextPart
from hermes_core.errors import InvalidInput
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage


def from_openai(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return the messages as a transcript. System messages are left out: they are not part of a conversation.

    Raises InvalidInput naming the message that cannot be read, or that stands where no provider takes it.
    """
    read: list[Message] = []
    waiting: list[str] = []
    where = "conversation_history"
    for index, message in enumerate(messages):
        where = f"conversation_history[{index}]"
        if not isinstance(message, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - programs give anything
            raise InvalidInput(f"{where} is not a message.", where)
        role = message.get("role")
        if (role == "tool") != bool(waiting) or (waiting and message.get("tool_call_id") != waiting.pop(0)):
            raise InvalidInput(
                f"{where} is out of place: after calls of tools come their results, in the order of the calls.", where
            )
        if role == "user":
            read.append(UserMessage(parts=_parts(message.get("content"), where)))
        elif role == "assistant":
            calls = tuple(_call(call, where) for call in message.get("tool_calls") or ())
            waiting = [call.id for call in calls]
            read.append(AssistantMessage(text=_text(message.get("content")), tool_calls=calls))
        elif role == "tool":
            name = str(message.get("name", "tool"))
            read.append(ToolMessage(str(message.get("tool_call_id", "")), name, _text(message.get("content"))))
        elif role not in {"system", "developer"}:
            raise InvalidInput(f"{where} has the unknown role {role!r}.", f"{where}.role")
    if waiting:
        raise InvalidInput(f"{where}: the call {waiting[0]!r} has no result.", where)
    return read


def to_openai(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return a transcript as chat messages; notes are left out."""
    written: list[dict[str, Any]] = []
    for message in messages:
        match message:
            case UserMessage():
                written.append({"role": "user", "content": _content(message.parts)})
            case AssistantMessage():
                row: dict[str, Any] = {"role": "assistant", "content": message.text or None}
                if message.tool_calls:
                    row["tool_calls"] = [
                        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                        for c in message.tool_calls
                    ]
                written.append(row)
            case ToolMessage():
                written.append({"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text})
            case NoteMessage():
                pass
            case _:
                assert_never(message)
    return written


def _parts(content: Any, where: str) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    parts: list[Part] = []
    try:
        for part in cast("list[Any]", content) if isinstance(content, list) else ():
            if part["type"] == "text":
                parts.append(TextPart(str(part["text"])))
            elif part["type"] == "image_url":
                parts.append(ImagePart(str(part["image_url"]["url"])))
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{where} has a part that cannot be read.", f"{where}.content") from error
    if not parts:
        raise InvalidInput(f"{where} has no content.", f"{where}.content")
    return tuple(parts)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
        return "".join(str(part.get("text", "")) for part in parts)
    return "" if content is None else str(content)


def _call(call: Any, where: str) -> ToolCall:
    try:
        return ToolCall(str(call["id"]), str(call["function"]["name"]), str(call["function"]["arguments"]))
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{where} has a tool call that cannot be read.", f"{where}.tool_calls") from error


def _content(parts: tuple[Part, ...]) -> Any:
    if all(isinstance(part, TextPart) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, TextPart))
    return [
        {"type": "text", "text": part.text}
        if isinstance(part, TextPart)
        else {"type": "image_url", "image_url": {"url": part.url}}
        for part in parts
    ]
