"""What kind of work a tool does, in the protocol's words: editors choose an icon and a layout by it."""

from __future__ import annotations

from hermes_acp.wire.updates import ToolKind

_KINDS: dict[str, ToolKind] = {
    "read_file": "read",
    "skills_list": "read",
    "skill_view": "read",
    "browser_snapshot": "read",
    "browser_vision": "read",
    "browser_get_images": "read",
    "write_file": "edit",
    "patch": "edit",
    "search_files": "search",
    "session_search": "search",
    "terminal": "execute",
    "process": "execute",
    "delegate_task": "execute",
    "browser_click": "execute",
    "browser_type": "execute",
    "browser_scroll": "execute",
    "browser_press": "execute",
    "browser_back": "execute",
    "browser_navigate": "fetch",
    "todo": "think",
}

# Output of these is text of a program or a file: it is shown as it is, not read as Markdown.
_VERBATIM: frozenset[ToolKind] = frozenset({"read", "execute", "search"})


_VERBS = {
    "read_file": "Read",
    "write_file": "Write",
    "patch": "Edit",
    "search_files": "Search for",
    "process": "Process:",
    "todo": "Plan",
}


def title_of(tool: str, label: str) -> str:
    """Return one line that says what a call does; a shell command speaks for itself."""
    verb = _VERBS.get(tool, "")
    if label in ("", tool):
        return verb.rstrip(":") or tool
    return f"{verb} {label}".strip()


def kind_of(tool: str) -> ToolKind:
    """Return the kind of the tool of this name; `other` for tools we do not know."""
    return _KINDS.get(tool, "other")


def is_verbatim(tool: str) -> bool:
    """Say whether the tool's output is to be shown character by character."""
    return kind_of(tool) in _VERBATIM
