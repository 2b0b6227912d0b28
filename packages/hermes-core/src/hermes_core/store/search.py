"""What a search finds, apart from any index: the same words for every store.

Searched are what people, the model and tools said: the text of user, assistant and tool rows, and the name and
argument values of tool calls. Not searched: reasoning, notes, images, titles, and what lies beyond the first
SEARCHED characters of a message.
"""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from hermes_core.content import clean
from hermes_core.errors import InvalidInput
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage
from hermes_core.store.limits import MAX_QUERY, MAX_TERMS, PREVIEW, SEARCHED, SNIPPET


def terms_of(query: str) -> tuple[str, ...]:
    """Return the terms of `query`, folded, each once, in order. Raises InvalidInput for a query beyond bounds."""
    if len(query) > MAX_QUERY:
        raise InvalidInput(f"The search query is longer than {MAX_QUERY:,} characters.", "query")
    terms = tuple(dict.fromkeys(fold(clean(query)).split()))
    if len(terms) > MAX_TERMS:
        raise InvalidInput(f"The search query has more than {MAX_TERMS} terms.", "query")
    return terms


def fold(text: str) -> str:
    """Return `text` without differences of case, each character in its old place.

    Positions must stay, since a snippet is cut from the original where the folded text matched: a character whose
    small form is longer keeps its form. NUL becomes a blank, because SQLite's tokenizers stop there.
    """
    small = text.lower()
    if len(small) != len(text):
        small = "".join(low if len(low := character.lower()) == 1 else character for character in text)
    return small.replace("ς", "σ").replace("\0", " ")


def searchable(message: Message) -> str:
    """Return the text in which `message` can be found, in its own case; empty where it cannot."""
    match message:
        case UserMessage():
            text = message.text
        case AssistantMessage():
            text = "\n".join(part for part in (message.text, *map(_call_text, message.tool_calls)) if part)
        case ToolMessage():
            text = message.text
        case NoteMessage():
            text = ""
        case _:
            assert_never(message)
    return text[:SEARCHED]


def matches(folded: str, terms: tuple[str, ...]) -> bool:
    """Return whether every term occurs in the folded text."""
    return all(term in folded for term in terms)


def snippet_of(text: str, terms: tuple[str, ...]) -> str:
    """Return some 160 characters of `text` on one line, around the first place where a term occurs.

    An ellipsis marks each end at which text was left out.
    """
    folded = fold(text)
    first = min((at for at in map(folded.find, terms) if at >= 0), default=0)
    start = max(0, min(first - SNIPPET // 3, len(text) - SNIPPET))
    end = start + SNIPPET
    return ("…" if start else "") + one_line(text[start:end]) + ("…" if end < len(text) else "")


def preview_of(message: Message) -> str:
    """Return the start of a user's text on one line, at most 160 characters; empty for other messages."""
    if not isinstance(message, UserMessage):
        return ""
    # A longer head than needed, since runs of blanks shrink to one.
    return one_line(message.text[: PREVIEW * 8])[:PREVIEW].rstrip()


def one_line(text: str) -> str:
    """Return `text` with every run of blanks and line ends as one space."""
    return " ".join(text.split())


def _call_text(call: ToolCall) -> str:
    """Return name and argument values of a call: values, because JSON's escapes would hide what was meant."""
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError):
        return f"{call.name}\n{call.arguments}"
    return "\n".join([call.name, *_leaves(arguments)])


def _leaves(value: Any) -> list[str]:
    found: list[str] = []
    waiting: list[Any] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting.extend(reversed(list(item.values())))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
        elif isinstance(item, list):
            waiting.extend(reversed(item))  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(item, int | float):
            found.append(str(item))
    return found
