"""From the command line to a live session: settings, runtime, and the session to talk in."""

from __future__ import annotations

from pathlib import Path

import msgspec
from hermes_core.commands import SetModel
from hermes_core.config import Config, load_config
from hermes_core.errors import InvalidInput, SessionNotFound
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.store.protocol import SessionQuery

from hermes_cli.options import ChatOptions

SOURCE = "cli"


def settings(options: ChatOptions) -> Config:
    """Return the home's settings; `--yolo` turns approvals off in this process. Raises ConfigError."""
    config = load_config()
    if not options.yolo:
        return config
    approvals = msgspec.structs.replace(config.approvals, mode="off")
    return msgspec.structs.replace(config, approvals=approvals)


async def session_for(runtime: Runtime, options: ChatOptions, *, answerable: bool) -> Session:
    """Return the session that the command line asks for: a stored one, or a new one.

    Raises SessionNotFound, InvalidInput (folder), NoModelError (a model was named that cannot be reached).
    """
    stored_id = options.resume or (await newest(runtime) if options.newest else "")
    if not stored_id:
        _check_here(runtime.config, options)
        return await runtime.create(source=SOURCE, cwd=options.cwd, model=options.model, answerable=answerable)
    session = await runtime.resume(stored_id, cwd=options.cwd, answerable=answerable)
    if options.model:
        await session.dispatch(SetModel(options.model))
    return session


def _check_here(config: Config, options: ChatOptions) -> None:
    """Raise InvalidInput where the session would work in this process's folder, and that has been removed."""
    if options.cwd or config.terminal.cwd:
        return
    try:
        Path.cwd()
    except FileNotFoundError:
        raise InvalidInput("This folder has been removed; go to another one, or name one with --cwd.", "cwd") from None


async def newest(runtime: Runtime) -> str:
    """Return the stored id of the session of this command with the newest activity. Raises SessionNotFound."""
    page = await runtime.store.list_sessions(SessionQuery(limit=1, source=SOURCE))
    if not page:
        raise SessionNotFound("newest")
    return page[0].record.id
