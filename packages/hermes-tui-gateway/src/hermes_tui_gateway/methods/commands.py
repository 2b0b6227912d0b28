"""Slash commands over the wire: the catalog, carrying one out, and completing one that is being typed."""

from __future__ import annotations

from hermes_tui_gateway import slash
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import MALFORMED, WireError
from hermes_tui_gateway.slash import COMMANDS, described
from hermes_tui_gateway.wire.settings import (
    CatalogCategory,
    CatalogResult,
    CommandResult,
    CompleteSlashParams,
    Completion,
    CompletionResult,
    DispatchParams,
    SlashParams,
)
from hermes_tui_gateway.wire.shapes import Nothing

CATEGORIES = ("Session", "Info", "Configuration")


async def catalog(call: Call, params: Nothing) -> CatalogResult:
    """List the commands that exist."""
    commands = list(COMMANDS.values())
    canon = {f"/{name}": f"/{command.name}" for command in commands for name in (command.name, *command.aliases)}
    return CatalogResult(
        pairs=[(f"/{command.name}", described(command)) for command in commands],
        sub={f"/{command.name}": list(command.sub) for command in commands if command.sub},
        canon=canon,
        categories=[
            CatalogCategory(
                name=category,
                pairs=[
                    (f"/{command.name}", described(command)) for command in commands if command.category == category
                ],
            )
            for category in CATEGORIES
        ],
        skill_count=0,
        warning="",
    )


async def dispatch(call: Call, params: DispatchParams) -> CommandResult:
    """Carry out a command: `command` is the whole line, or `name` and `arg` are its parts."""
    if params.name:
        text = f"{params.name} {params.arg}"
    elif params.command.strip():
        text = params.command
    else:
        raise WireError(MALFORMED, "A command is required: `command` with a whole line, or `name` and `arg`.")
    line = slash.read(text)
    return await slash.run(call, call.meant(params.session_id), line)


async def execute(call: Call, params: SlashParams) -> CommandResult:
    """Carry out a command line, and leave the type out where it only prints."""
    if not params.command.strip(" /"):
        raise WireError(MALFORMED, "The command is empty.")
    result = await slash.run(call, call.session(params.session_id), slash.read(params.command))
    return CommandResult(output=result.output) if result.type == "exec" else result


async def complete(call: Call, params: CompleteSlashParams) -> CompletionResult:
    """Propose how a command that is being typed may go on."""
    head, space, typed = params.text.rpartition(" ")
    if not params.text.startswith("/"):
        return CompletionResult(items=[], replace_from=len(params.text))
    if space:
        command = COMMANDS.get(head[1:].strip().lower())
        words = [word for word in (command.sub if command else ()) if word.startswith(typed.lower())]
        items = [Completion(text=word, display=word, meta="") for word in words]
        return CompletionResult(items=items, replace_from=len(head) + 1)
    typed = typed[1:].lower()
    found = [command for command in COMMANDS.values() if command.name.startswith(typed)]
    items = [
        # A name that is typed in full is completed by the space after it.
        Completion(
            text=command.name + " " * (command.name == typed), display=f"/{command.name}", meta=command.description
        )
        for command in found
    ]
    return CompletionResult(items=items, replace_from=1)
