"""Slash commands: the ones that exist, what each does, and how a line is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

import msgspec
from hermes_core.commands import AnswerApprovals, Interrupt, SetTitle, Steer
from hermes_core.errors import HermesError
from hermes_core.questions import Choice
from hermes_core.session.session import Session

from hermes_tui_gateway import model_choice
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import CONFIG_FAILED, MALFORMED, NO_SESSION, NOT_A_COMMAND, WireError
from hermes_tui_gateway.methods.views import status_text, usage_text
from hermes_tui_gateway.wire.settings import CommandResult

Run = Callable[[Call, Session, str], Awaitable[CommandResult]]


class Line(msgspec.Struct, frozen=True):
    """A command line, read: the command's own name and its argument."""

    name: str
    arg: str


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command. `urgent` ones are carried out at once when they are sent as a prompt."""

    name: str
    description: str
    category: str
    run: Run
    usage: str = ""
    aliases: tuple[str, ...] = ()
    sub: tuple[str, ...] = ()
    urgent: bool = False


def read(text: str) -> Line:
    """Read a command line, its slash optional. The name may be an alias. Raises WireError 4004, 4018."""
    words = text.strip().removeprefix("/").split(None, 1)
    if not words:
        raise WireError(MALFORMED, "The command is empty.")
    name = words[0].lower()
    command = _NAMES.get(name)
    if command is None:
        raise WireError(NOT_A_COMMAND, f"There is no command /{words[0][:80]}. /help lists what there is.")
    return Line(command.name, words[1].strip() if len(words) > 1 else "")


def urgent(text: str) -> Line | None:
    """Return the line that a prompt is, if it answers an open question or stops the turn; else None."""
    words = text.strip().split()
    if not words or len(words) > 2 or not words[0].startswith("/"):
        return None
    command = _NAMES.get(words[0][1:].lower())
    if command is None or not command.urgent or not set(words[1:]) <= set(command.sub):
        return None
    return Line(command.name, words[1] if len(words) > 1 else "")


async def run(call: Call, session: Session | None, line: Line) -> CommandResult:
    """Carry out a line that `read` has made. Raises WireError; 4001 where a session is needed and missing."""
    command = COMMANDS[line.name]
    if session is None:
        if command.name == "model":
            return await _switch_model(call, None, line.arg)
        raise WireError(NO_SESSION, f"/{line.name} needs a session: send its session_id.")
    return await command.run(call, session, line.arg)


def printed(text: str) -> CommandResult:
    """Return a result that only prints."""
    return CommandResult(type="exec", output=text)


async def _help(call: Call, session: Session, arg: str) -> CommandResult:
    return printed("\n".join(f"/{command.name}  {described(command)}" for command in COMMANDS.values()))


async def _switch_model(call: Call, session: Session | None, arg: str) -> CommandResult:
    if not arg:
        return printed(model_choice.described(call, session))
    wish = model_choice.read_wish(arg)
    try:
        model, provider, scope = await model_choice.switch(call, session, wish)
    except HermesError as error:
        raise WireError(CONFIG_FAILED, f"The model was not switched. {error.message}") from error
    until = "for this session" if scope == "session" else "from now on, also in new sessions"
    return printed(f"{model} ({provider}) answers {until}.")


async def _title(call: Call, session: Session, arg: str) -> CommandResult:
    if not arg:
        return printed(session.record.title or "This session has no title.")
    await session.dispatch(SetTitle(arg))
    return printed(f"The title is now: {session.record.title}")


async def _status(call: Call, session: Session, arg: str) -> CommandResult:
    return printed(status_text(call, session))


async def _usage(call: Call, session: Session, arg: str) -> CommandResult:
    return printed(usage_text(session))


async def _steer(call: Call, session: Session, arg: str) -> CommandResult:
    if not arg:
        raise WireError(MALFORMED, "Usage: /steer <text>")
    reply = await session.dispatch(Steer(arg))
    if reply.status == "queued":
        return printed("The agent will read this after its next tools.")
    return CommandResult(type="send", message=arg, notice="No turn runs, so this is sent as a message.")


async def _queue(call: Call, session: Session, arg: str) -> CommandResult:
    if not arg:
        raise WireError(MALFORMED, "Usage: /queue <prompt>")
    return CommandResult(type="send", message=arg)


async def _stop(call: Call, session: Session, arg: str) -> CommandResult:
    reply = await session.dispatch(Interrupt())
    return printed("The turn was stopped." if reply.interrupted else "No turn runs.")


async def _approve(call: Call, session: Session, arg: str) -> CommandResult:
    return await _decide(session, cast("Choice", arg or "once"), every=False)


async def _deny(call: Call, session: Session, arg: str) -> CommandResult:
    return await _decide(session, "deny", every=arg == "all")


async def _decide(session: Session, choice: Choice, *, every: bool) -> CommandResult:
    reply = await session.dispatch(AnswerApprovals(choice, all=every))
    if not reply.resolved:
        return printed("Nothing waits for an approval.")
    return printed("Denied." if choice == "deny" else "Approved.")


def described(command: Command) -> str:
    """Return the description of a command, with how its arguments are written."""
    return f"{command.description} (usage: /{command.name} {command.usage})" if command.usage else command.description


_LIST = (
    Command(
        name="model",
        description="Show the model that answers, or switch to another one",
        category="Configuration",
        usage="[provider:]<model> [--provider name] [--session|--global]",
        run=_switch_model,
    ),
    Command(
        name="title", description="Show or set the session's title", category="Session", usage="[text]", run=_title
    ),
    Command(name="status", description="Describe this session", category="Session", run=_status),
    Command(name="usage", description="Count the tokens used so far", category="Info", run=_usage),
    Command(
        name="steer",
        description="Tell the running turn something, to be read after its next tools",
        category="Session",
        usage="<text>",
        run=_steer,
    ),
    Command(
        name="queue",
        description="Send a prompt that is answered after the running turn",
        category="Session",
        usage="<prompt>",
        aliases=("q",),
        run=_queue,
    ),
    Command(
        name="stop",
        description="Stop the running turn",
        category="Session",
        aliases=("interrupt",),
        run=_stop,
        urgent=True,
    ),
    Command(
        name="approve",
        description="Allow what the agent asks to do",
        category="Session",
        usage="[once|session|always]",
        sub=("once", "session", "always"),
        run=_approve,
        urgent=True,
    ),
    Command(
        name="deny",
        description="Refuse what the agent asks to do",
        category="Session",
        usage="[all]",
        sub=("all",),
        run=_deny,
        urgent=True,
    ),
    Command(name="help", description="List the commands", category="Info", run=_help),
)

COMMANDS: dict[str, Command] = {command.name: command for command in _LIST}
_NAMES: dict[str, Command] = COMMANDS | {alias: command for command in _LIST for alias in command.aliases}
