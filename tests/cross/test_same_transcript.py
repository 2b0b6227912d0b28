"""One conversation held on every surface is stored as the same transcript, and asks the model the same things."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hermes_core.store.protocol import SessionQuery
from hermes_core.store.sqlite import SqliteStore
from hermes_core.testing import Answer, Call, ScriptedModel, Stall, Text, Think, Tokens, answer
from surfaces import Surface, write_home
from surfaces.editor import editor_session
from surfaces.gateway import host_session
from surfaces.person import terminal_session
from surfaces.web import web_session

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

SHAPE = [
    *[("user", ""), ("assistant", "")],
    *[("user", ""), ("assistant", "tool_calls"), ("tool", ""), ("tool", ""), ("assistant", "")],
    *[("user", ""), ("assistant", "tool_calls"), ("tool", ""), ("assistant", "")],
    *[("user", ""), ("assistant", "tool_calls"), ("tool", "denied"), ("assistant", "")],
    *[("user", ""), ("assistant", "interrupted")],
    *[("user", ""), ("assistant", "")],
]
"""Who says what in each of the six turns, with the outcome or finish where it is not the usual one."""

SURFACES: dict[str, Callable[[Path], AbstractAsyncContextManager[Surface]]] = {
    "terminal": terminal_session,
    "acp": editor_session,
    "gateway": host_session,
    "http": web_session,
}


def script() -> list[Answer]:
    """Return the model's part of the conversation."""

    def remove(folder: str) -> Call:
        return Call("terminal", {"command": f"rm -rf {folder}"}, id=f"call_{folder}")

    return [
        answer(Text("Hello, friend.", size=3), Tokens(100, 4)),
        answer(
            Think("Two files, at once."),
            "Let me look.",
            Call("read_file", {"path": "one.txt"}, id="call_one"),
            Call("read_file", {"path": "two.txt"}, id="call_two", pieces=3),
        ),
        answer(Text("One says uno, two says dos.", size=5)),
        answer(remove("old")),
        answer("The old one is gone."),
        answer(remove("kept")),
        answer("Then it stays."),
        answer(Text("Once upon a time", size=4), Stall()),
        answer("And they lived on."),
    ]


async def converse(surface: Surface, folder: Path) -> None:
    """Hold the person's part of the conversation."""
    await surface.prompt("Say hello.")
    await surface.answered("Hello, friend.")
    await surface.prompt("What is in the files?")
    await surface.answered("One says uno, two says dos.")
    await surface.prompt("Remove the old folder.")
    await surface.approve("rm -rf old")
    await surface.answered("The old one is gone.")
    await surface.prompt("Remove the other one too.")
    await surface.deny("rm -rf kept")
    await surface.answered("Then it stays.")
    await surface.prompt("Tell a story.")
    await surface.reads("Once upon a time")
    await surface.interrupt()
    await surface.prompt("Go on.")
    await surface.answered("And they lived on.")
    assert (folder / "kept").is_dir()
    assert not (folder / "old").exists()


def comparable(value: Any, folder: Path) -> Any:
    """Return `value` as plain data without what may differ.

    That is how long things took, where the folder lies, and an estimate of tokens: it counts the whole request, which
    names the folder, and the tools that the surface can serve.
    """
    text = msgspec.json.encode(value).decode().replace(str(folder), "FOLDER")
    return json.loads(text, object_hook=_lasting)


def _lasting(fields: dict[str, Any]) -> dict[str, Any]:
    if fields.get("estimated"):
        return {"estimated": True}
    return {key: value for key, value in fields.items() if key != "duration"}


async def stored(home: Path, folder: Path) -> list[Any]:
    """Return the one transcript of a home, row by row."""
    store = SqliteStore(home / "sessions.sqlite3")
    await store.open()
    try:
        (session,) = await store.list_sessions(SessionQuery(children=True, only_used=False))
        assert session.record.cwd == str(folder)
        return [comparable(row.message, folder) for row in await store.messages(session.record.id)]
    finally:
        await store.close()


async def test_every_surface_stores_the_same_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The laws "one vocabulary" and "the store tells the truth", for all four at once."""
    transcripts: dict[str, list[Any]] = {}
    requests: dict[str, list[Any]] = {}
    for name, session in SURFACES.items():
        home, folder = tmp_path / f"{name}-home", tmp_path / f"{name}-work"
        prepare(folder)
        monkeypatch.setenv("HERMES_HOME", str(home))
        async with ScriptedModel(script()) as model:
            write_home(home, model.base_url)
            async with session(folder) as surface:
                await converse(surface, folder)
            assert model.violations == []
            requests[name] = [comparable(request["messages"], folder) for request in model.requests]
        transcripts[name] = await stored(home, folder)
    reference = transcripts["terminal"]
    assert [(row["role"], row.get("outcome") or row.get("finish", "")) for row in reference] == SHAPE
    assert differences(transcripts) == []
    assert differences(requests) == []


def differences(found: dict[str, list[Any]]) -> list[str]:
    """Return where another surface's rows are not those of the terminal."""
    reference = found["terminal"]
    return [
        f"{name} [{at}]: {theirs!r}, in the terminal: {ours!r}"
        for name, rows in found.items()
        for at, (ours, theirs) in enumerate(zip_longest(reference, rows))
        if ours != theirs
    ]


def prepare(folder: Path) -> None:
    """Make the folder that the conversation is about."""
    for name in ("old", "kept"):
        (folder / name).mkdir(parents=True)
    (folder / "one.txt").write_text("uno\n", encoding="utf-8")
    (folder / "two.txt").write_text("dos\n", encoding="utf-8")
