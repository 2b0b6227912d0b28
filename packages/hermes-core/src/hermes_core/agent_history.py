"""Chat messages in OpenAI's form, as embedding programs hand over and get back whole conversations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, assert_never, cast

from hermes_core.content import ImagePart, Part, TextPart
from hermes_core.errors import InvalidInput
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage


def from_openai(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return the messages as a transcript. System messages are left out: they are not part of a conversation.

    Raises InvalidInput naming the message that cannot be read.
    """
    read: list[Message] = []
    for index, message in enumerate(messages):
        where = f"conversation_history[{index}]"
        role = message.get("role")
        if role == "user":
            read.append(UserMessage(parts=_parts(message.get("content"), where)))
        elif role == "assistant":
            calls = tuple(_call(call, where) for call in message.get("tool_calls") or ())
            read.append(AssistantMessage(text=_text(message.get("content")), tool_calls=calls))
        elif role == "tool":
            name = str(message.get("name", "tool"))
            read.append(ToolMessage(str(message.get("tool_call_id", "")), name, _text(message.get("content"))))
        elif role not in {"system", "developer"}:
            raise InvalidInput(f"{where} has the unknown role {role!r}.", f"{where}.role")
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
    for part in cast("list[Any]", content) if isinstance(content, list) else ():
        kind: Any = cast("dict[str, Any]", part).get("type") if isinstance(part, dict) else None
        if kind == "text":
            parts.append(TextPart(str(part["text"])))
        elif kind == "image_url":
            parts.append(ImagePart(str(part["image_url"]["url"])))
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
