"""A process to be killed: it resumes (or begins) a session, runs one turn, and reports each event."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path

import anyio
from hermes_core import Runtime, Submit, TextPart, load_config
from hermes_core.errors import SessionNotFound
from hermes_core.events import MessageComplete

PROMPT = """\
[[think n=3 size=8]] [[text n=4 size=8]] [[call todo {"todos": [{"id": "1", "content": "x", "status": "pending"}]}]]
[[call write_file {"path": "a.txt", "content": "a"}]] [[call terminal {"command": "echo b; cat a.txt"}]]
[[text n=4 size=8]] [[call read_file {"path": "a.txt"}]] [[echo All done.]]"""


def run(home: Path, folder: Path, stored_id: str, reports: Connection) -> None:
    """Run one turn, and report the tag of each event; last the status of the turn."""
    anyio.run(_run, home, folder, stored_id, reports)


async def _run(home: Path, folder: Path, stored_id: str, reports: Connection) -> None:
    async with Runtime(load_config(home)) as runtime:
        try:
            session = await runtime.resume(stored_id, answerable=False)
        except SessionNotFound:
            session = await runtime.create(source="test", stored_id=stored_id, cwd=str(folder), answerable=False)
        with session.subscribe() as events:
            await session.dispatch(Submit(parts=(TextPart(PROMPT),)))
            async for event in events:
                reports.send(str(event.__struct_config__.tag))
                if isinstance(event, MessageComplete):
                    reports.send(f"{event.status} {event.error}")
                    return
