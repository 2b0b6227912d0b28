"""Tool calls as the cards that an editor shows: how one begins, how it ends, and how permission for it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hermes_core.content import bounded
from hermes_core.messages import Outcome
from hermes_core.questions import Approval, Choice, FileChange

from hermes_acp import limits
from hermes_acp.diffs import diffs
from hermes_acp.kinds import is_verbatim, kind_of, title_of
from hermes_acp.wire.content import TextContent
from hermes_acp.wire.updates import (
    Location,
    PermissionKind,
    PermissionOption,
    PermissionParams,
    PermissionToolCall,
    ToolCall,
    ToolCallUpdate,
    ToolContent,
    ToolText,
)

_OPTIONS: dict[Choice, tuple[str, str, PermissionKind]] = {
    "once": ("allow_once", "Allow", "allow_once"),
    "session": ("allow_session", "Allow in this session", "allow_always"),
    "always": ("allow_always", "Always allow", "allow_always"),
    "deny": ("deny", "Deny", "reject_once"),
}
_CHOICES: dict[str, Choice] = {option: choice for choice, (option, _, _) in _OPTIONS.items()}


def begun(
    call_id: str, name: str, label: str, args: dict[str, Any], path: str, changes: Iterable[FileChange] = ()
) -> ToolCall:
    """Return the card of a call that was announced."""
    line = args.get("offset")
    line = line if isinstance(line, int) and line > 0 else None
    return ToolCall(
        tool_call_id=call_id,
        title=_line(title_of(name, label)),
        kind=kind_of(name),
        status="pending",
        content=diffs(changes),
        locations=_locations([path], line),
        raw_input=limits.arguments(args),
    )


def ended(
    call_id: str,
    name: str,
    outcome: Outcome,
    result: str,
    *,
    changes: tuple[FileChange, ...] = (),
    exit_code: int | None = None,
) -> ToolCallUpdate:
    """Return the end of a call: its edits, and its text where that says more than they do."""
    ok = outcome == "ok"
    return ToolCallUpdate(
        tool_call_id=call_id,
        status="completed" if ok else "failed",
        content=(*diffs(changes), *(() if ok and changes else shown(name, result))),
        locations=_locations(change.path for change in changes),
        raw_output=None if exit_code is None else {"exitCode": exit_code},
    )


def shown(name: str, text: str) -> tuple[ToolContent, ...]:
    """Return the output of a tool as content, none for no output."""
    if not text.strip():
        return ()
    text = limits.fenced(text) if is_verbatim(name) else bounded(text, limits.RESULT_TEXT)
    return (ToolText(content=TextContent(text=text)),)


def permission(session_id: str, call_id: str, question: Approval) -> PermissionParams:
    """Return the request that puts an approval to the client, on the card of its tool call."""
    return PermissionParams(
        session_id=session_id,
        tool_call=PermissionToolCall(
            tool_call_id=call_id,
            title=_line(question.command or question.tool),
            kind=kind_of(question.tool),
            status="pending",
            content=(*_reason(question), *diffs(question.changes)),
            locations=_locations(change.path for change in question.changes),
        ),
        options=tuple(_option(choice) for choice in question.choices),
    )


def choice_of(option_id: str, question: Approval) -> Choice | None:
    """Return the choice that an option stands for; None for one that was not offered."""
    choice = _CHOICES.get(option_id)
    return choice if choice in question.choices else None


def _locations(paths: Iterable[str], line: int | None = None) -> tuple[Location, ...]:
    """Return the files that a call works on, as many as fit: a model may write a path of any length."""
    room = limits.LOCATION_BYTES
    fitting: list[Location] = []
    for path in filter(None, paths):
        room -= limits.size_of(path)
        if room < 0:
            break
        fitting.append(Location(path=path, line=line))
    return tuple(fitting)


def _option(choice: Choice) -> PermissionOption:
    option_id, name, kind = _OPTIONS[choice]
    return PermissionOption(option_id=option_id, name=name, kind=kind)


def _reason(question: Approval) -> tuple[ToolContent, ...]:
    command = "" if question.changes else f"\n\n{limits.fenced(question.command)}"
    return (ToolText(content=TextContent(text=bounded(question.description, limits.TITLE_TEXT * 2) + command)),)


def _line(text: str) -> str:
    return bounded(" ".join(text.split()), limits.TITLE_TEXT)
