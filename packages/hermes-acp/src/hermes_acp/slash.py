"""Commands that are typed as prompts and answered without the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from hermes_core.commands import SetModel
from hermes_core.errors import InvalidInput, NoModelError

from hermes_acp.settings import Settings
from hermes_acp.wire.updates import AvailableCommand, CommandInput

if TYPE_CHECKING:
    from hermes_core.session.session import Session

Answer = Callable[["Session", Settings, str], Awaitable[str]]


class Command(msgspec.Struct, frozen=True):
    """One command. `answer` carries it out and returns what is said about it, as Markdown."""

    name: str
    description: str
    hint: str
    answer: Answer


async def _help(session: Session, settings: Settings, argument: str) -> str:
    lines = [f"- `/{one.name}{f' {one.hint}' if one.hint else ''}`: {one.description}" for one in COMMANDS.values()]
    return "\n".join([*lines, "", "Everything else goes to the model."])


async def _model(session: Session, settings: Settings, argument: str) -> str:
    if not argument:
        others = "".join(f"\n- `{name}`" for name in settings.models if name != settings.model)
        return f"This session uses `{settings.model}`." + (f" Others that are set up:{others}" if others else "")
    try:
        await session.dispatch(SetModel(argument))
    except (InvalidInput, NoModelError) as error:
        return f"{error} The model stays `{settings.model}`."
    return f"From the next turn on this session uses `{session.record.model}` from {session.record.provider}."


COMMANDS: dict[str, Command] = {
    command.name: command
    for command in (
        Command("help", "List the commands.", "", _help),
        Command("model", "Show the model of this session, or use another one.", "provider:name", _model),
    )
}


def available() -> tuple[AvailableCommand, ...]:
    """Return the commands as clients list them."""
    return tuple(
        AvailableCommand(
            name=command.name,
            description=command.description,
            input=CommandInput(hint=command.hint) if command.hint else None,
        )
        for command in COMMANDS.values()
    )
