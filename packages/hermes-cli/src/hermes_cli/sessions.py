"""`hermes sessions`: list, show, search, export and delete what the store holds. Works without any model."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, assert_never

import anyio
import msgspec
from hermes_core.config import load_config
from hermes_core.errors import SessionNotFound
from hermes_core.messages import AssistantMessage, NoteMessage, StoredMessage, ToolMessage, UserMessage
from hermes_core.store.protocol import SessionQuery
from hermes_core.store.sqlite import SqliteStore

from hermes_cli.exits import Exit
from hermes_cli.ink import Ink, wants_colour
from hermes_cli.printable import one_line, printable
from hermes_cli.session_rows import age, listing
from hermes_cli.toollines import stored_heads

if TYPE_CHECKING:
    import argparse

STORE_NAME = "sessions.sqlite3"
WIDTH = 100


def run(found: argparse.Namespace) -> int:
    """Carry out one action on the store of the home; return the exit code. Raises HermesError."""
    path = load_config().home / STORE_NAME
    if not path.exists():
        if found.action in (None, "list", "search"):
            sys.stderr.write("No session is stored yet.\n")
            return Exit.OK
        raise SessionNotFound(found.ids[0] if found.action == "delete" else found.id)
    return anyio.run(_with_store, SqliteStore(path), found)


async def _with_store(store: SqliteStore, found: argparse.Namespace) -> int:
    await store.open()
    try:
        return await _act(store, found)
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


async def _act(store: SqliteStore, found: argparse.Namespace) -> int:
    match found.action:
        case "show":
            return await _show(store, found.id)
        case "search":
            return await _search(store, " ".join(found.words), found.limit)
        case "export":
            return await _export(store, found.id)
        case "delete":
            return await _delete(store, found.ids, sure=found.yes)
        case "list":
            return await _list(store, found.limit, as_json=found.json)
        case _:
            return await _list(store, 20, as_json=False)


async def _list(store: SqliteStore, limit: int, *, as_json: bool) -> int:
    page = await store.list_sessions(SessionQuery(limit=limit))
    if as_json:
        for summary in page:
            sys.stdout.write(msgspec.json.encode(summary).decode() + "\n")
        return Exit.OK
    for line in listing(page, WIDTH, _ink()):
        sys.stdout.write(line + "\n")
    return Exit.OK


async def _show(store: SqliteStore, session_id: str) -> int:
    summary = await store.summary(session_id)
    if summary is None:
        raise SessionNotFound(session_id)
    ink, record = _ink(), summary.record
    title = one_line(record.title or summary.preview, WIDTH)
    sys.stdout.write(f"{ink.bold(title)}\n")
    about = (record.id, record.source, record.cwd, record.model, f"{summary.message_count} messages")
    sys.stdout.write(ink.dim(" · ".join(part for part in about if part)) + "\n")
    rows = await store.messages(session_id)
    heads = stored_heads(rows, ink, WIDTH)
    for row in rows:
        sys.stdout.write(_shown(row, heads, ink))
    return Exit.OK


def _shown(row: StoredMessage, heads: dict[int, str], ink: Ink) -> str:
    match row.message:
        case UserMessage() as message:
            return f"\n{ink.cyan('❯')} {ink.bold(printable(message.text))}\n"
        case AssistantMessage() as message:
            return f"\n{printable(message.text)}\n" if message.text.strip() else ""
        case ToolMessage() as message:
            return f"{heads[row.row_id]}\n  {ink.dim(one_line(message.text, WIDTH))}\n"
        case NoteMessage() as message:
            return ink.dim(printable(message.text)) + "\n"
        case _:
            assert_never(row.message)


async def _search(store: SqliteStore, query: str, limit: int) -> int:
    hits = await store.search(query, limit=limit)
    ink = _ink()
    for hit in hits:
        aside = f"{hit.session_id}  {age(hit.created_at):>8}  {hit.role:<9}"
        sys.stdout.write(f"{ink.dim(aside)}  {one_line(hit.snippet, 160)}\n")
    if not hits:
        sys.stderr.write("Nothing was found.\n")
        return Exit.FAILED
    return Exit.OK


async def _export(store: SqliteStore, session_id: str) -> int:
    if await store.session(session_id) is None:
        raise SessionNotFound(session_id)
    after = 0
    while rows := await store.messages(session_id, after=after, limit=200):
        for row in rows:
            sys.stdout.write(msgspec.json.encode(row).decode() + "\n")
        after = rows[-1].row_id
    return Exit.OK


async def _delete(store: SqliteStore, ids: list[str], *, sure: bool) -> int:
    """Delete after a question on the terminal, or with `--yes`; all ids are looked up before any is deleted."""
    for session_id in ids:
        if await store.session(session_id) is None:
            raise SessionNotFound(session_id)
    if not sure:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            sys.stderr.write("hermes: nobody can be asked here; --yes deletes without asking.\n")
            return Exit.USAGE
        sys.stderr.write(f"Delete {len(ids)} session{'s' if len(ids) > 1 else ''} for good? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            return Exit.FAILED
    for session_id in ids:
        await store.delete_session(session_id)
    return Exit.OK


def _ink() -> Ink:
    return Ink(coloured=wants_colour(terminal=sys.stdout.isatty()))
