"""What the slash commands of the chat do."""

from __future__ import annotations

from typing import Protocol

from hermes_core.commands import BusyMode, SetModel, SetTitle, Steer
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session

from hermes_cli import launch
from hermes_cli.chat.screen import Screen
from hermes_cli.chat.scroll import Scroll
from hermes_cli.ink import Ink
from hermes_cli.session_rows import listing, newest
from hermes_cli.slash import COMMANDS

LISTED = 10


class Conversation(Protocol):
    """What commands work on: the chat, as they see it."""

    runtime: Runtime
    screen: Screen
    scroll: Scroll
    ink: Ink
    listed: list[str]
    """The stored ids of the last `/sessions` list, by number."""

    @property
    def session(self) -> Session:
        """The session that is talked to."""
        ...

    def attach(self, session: Session) -> None:
        """Talk to `session` from now on."""
        ...

    async def leave_session(self, reason: str) -> None:
        """Close the present session."""
        ...

    async def say(self, text: str, busy: BusyMode | None = None) -> None:
        """Send a message."""
        ...

    def leave(self, code: int = 0) -> None:
        """End the chat."""
        ...


async def run_command(chat: Conversation, name: str, rest: str) -> None:
    """Carry out the command `name` with what was typed behind it. Raises HermesError."""
    match name:
        case "help":
            _help(chat)
        case "new":
            await _new(chat, rest)
        case "sessions":
            await _sessions(chat)
        case "resume":
            await _resume(chat, rest)
        case "title":
            await _title(chat, rest)
        case "model":
            await _model(chat, rest)
        case "steer":
            await _steer(chat, rest)
        case "queue":
            await _queue(chat, rest)
        case _:
            chat.leave()


def _help(chat: Conversation) -> None:
    rows = [(f"/{c.name} {c.hint}".strip(), c.about) for c in COMMANDS]
    keys = [
        ("Enter", "send; while a turn runs, it waits for the end"),
        ("Alt-Enter", "a new line"),
        ("Ctrl-C", "stop the turn; twice at an idle prompt: leave"),
        ("Ctrl-D", "leave"),
    ]
    chat.scroll.lines(*(f"  {left:<24} {chat.ink.dim(right)}" for left, right in [*rows, *keys]))


async def _new(chat: Conversation, title: str) -> None:
    record = chat.session.record
    fresh = await chat.runtime.create(
        source=launch.SOURCE, cwd=record.cwd, model=record.model, provider=record.provider, title=title
    )
    await chat.leave_session("new")
    chat.scroll.note("A new session.")
    chat.attach(fresh)


async def _sessions(chat: Conversation) -> None:
    page = await newest(chat.runtime.store, LISTED)
    chat.listed = [summary.record.id for summary in page]
    if not page:
        chat.scroll.note("No session is stored yet.")
        return
    lines = listing(page, chat.screen.width - 6, chat.ink)
    chat.scroll.lines(*(f"  {number:>2}  {line}" for number, line in enumerate(lines, 1)))
    chat.scroll.note("/resume NUMBER goes on with one.")


async def _resume(chat: Conversation, which: str) -> None:
    if not which:
        await _sessions(chat)
        return
    stored_id = which
    if which.isascii() and which.isdigit() and 0 < int(which) <= len(chat.listed):
        stored_id = chat.listed[int(which) - 1]
    if stored_id == chat.session.stored_id:
        chat.scroll.note("This is the present session.")
        return
    found = await chat.runtime.resume(stored_id)
    await chat.leave_session("switched")
    chat.attach(found)


async def _title(chat: Conversation, title: str) -> None:
    if title:
        await chat.session.dispatch(SetTitle(title))
        chat.scroll.note("The session has its title.")
    else:
        chat.scroll.note(chat.session.record.title or "This session has no title; /title TEXT gives it one.")


async def _model(chat: Conversation, name: str) -> None:
    session, models = chat.session, chat.runtime.models
    if not name:
        endpoint = await models.resolve(session.record.model, session.record.provider)
        chat.scroll.note(f"{endpoint.model} ({endpoint.provider}); /model NAME changes it for this session.")
        return
    await session.dispatch(SetModel(name))
    chat.scroll.note("The session answers with this model from the next turn on.")


async def _steer(chat: Conversation, text: str) -> None:
    if not text:
        chat.scroll.note("/steer TEXT tells the running turn something.")
        return
    reply = await chat.session.dispatch(Steer(text))
    if reply.status == "rejected":
        chat.scroll.note("Nothing is running; type it as a message.")


async def _queue(chat: Conversation, text: str) -> None:
    if not text:
        chat.scroll.note("/queue TEXT sends a message when the turn is over.")
        return
    await chat.say(text, "queue")
