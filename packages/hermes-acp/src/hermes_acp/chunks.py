"""What is said, as chunks of messages, each small enough for a frame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import assert_never

from hermes_core.content import ImagePart, Part, TextPart, bounded
from hermes_core.events import TodoItem

from hermes_acp import limits
from hermes_acp.wire.content import Content, ImageContent, TextContent
from hermes_acp.wire.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Plan,
    PlanEntry,
    Update,
    UserMessageChunk,
)


def said(text: str) -> Iterator[Update]:
    """Yield the agent's words."""
    for piece in limits.pieces(text):
        yield AgentMessageChunk(content=TextContent(text=piece))


def thought(text: str) -> Iterator[Update]:
    """Yield the model's reasoning."""
    for piece in limits.pieces(text):
        yield AgentThoughtChunk(content=TextContent(text=piece))


def asked(parts: Iterable[Part]) -> Iterator[Update]:
    """Yield what a person said, images with it as far as they fit."""
    for part in parts:
        match part:
            case TextPart():
                for piece in limits.pieces(part.text):
                    yield UserMessageChunk(content=TextContent(text=piece))
            case ImagePart():
                yield UserMessageChunk(content=_image(part))
            case _:
                assert_never(part)


def plan(todos: Iterable[TodoItem]) -> Plan:
    """Return the agent's plan. What was given up is left out: the protocol has no word for it."""
    entries = [
        PlanEntry(content=bounded(todo.content, limits.PLAN_TEXT), priority="medium", status=todo.status)
        for todo in todos
        if todo.status != "cancelled"
    ]
    return Plan(entries=tuple(entries[: limits.PLAN_ENTRIES]))


def timestamp(seconds: float) -> str:
    """Return UNIX seconds as RFC 3339 in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _image(part: ImagePart) -> Content:
    head, comma, data = part.url.partition(";base64,")
    if comma and head.startswith("data:image/") and len(data) <= limits.IMAGE_BYTES:
        return ImageContent(data=data, mime_type=head.removeprefix("data:"))
    return TextContent(text="[image]" if comma else f"[image: {bounded(part.url, limits.TITLE_TEXT)}]")
