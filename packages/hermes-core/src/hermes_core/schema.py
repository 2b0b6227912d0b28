"""The JSON Schema of the vocabulary, for people who write a transport or read event logs.

    python -m hermes_core.schema DIR [--write | --check]

`--write` writes `DIR/events.json`, `DIR/commands.json`, ...; `--check` says which of them are out of date, exit code 1.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from hermes_core.commands import Command, Reply
from hermes_core.events import Event
from hermes_core.messages import Message
from hermes_core.questions import Answer, Question

UNIONS: dict[str, Any] = {
    "answers": Answer,
    "commands": Command,
    "events": Event,
    "messages": Message,
    "questions": Question,
}
REPLIES: tuple[Any, ...] = Reply.__args__


def schemas() -> dict[str, bytes]:
    """Return file name -> text of every schema."""
    found = {f"{name}.json": _text(msgspec.json.schema(union)) for name, union in UNIONS.items()}
    _, replies = msgspec.json.schema_components(REPLIES)
    found["replies.json"] = _text({"$defs": replies})
    return found


def main(arguments: list[str]) -> int:
    """Write or check the files; return the exit code."""
    folder, flag = Path(arguments[0]), arguments[1] if len(arguments) > 1 else "--check"
    stale: list[str] = []
    for name, text in schemas().items():
        path = folder / name
        if flag == "--write":
            folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)
        elif not path.exists() or path.read_bytes() != text:
            stale.append(name)
    if stale:
        sys.stderr.write(f"out of date in {folder}: {', '.join(stale)}; run `uv run nox -s schema -- --write`\n")
    return 1 if stale else 0


def _text(schema: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
