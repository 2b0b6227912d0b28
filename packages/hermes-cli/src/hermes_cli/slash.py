"""Slash commands of the terminal: their table, and the rule that tells a command from a message.

A message that begins with a path is a message (`/etc/hosts explain`), and so is everything whose first word is
not a command but could be a path. What is left (`/`, `/zzz`) is a slip: it gets a hint and nothing happens.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


class SlashCommand(NamedTuple):
    """A command people can type."""

    name: str
    about: str
    hint: str = ""
    """What comes after the name."""
    aliases: tuple[str, ...] = ()


class Called(NamedTuple):
    """A line that calls a command."""

    command: SlashCommand
    rest: str


class Said(NamedTuple):
    """A line for the model."""

    text: str


class Slip(NamedTuple):
    """A line that is neither; `hint` says what to type."""

    hint: str


COMMANDS = (
    SlashCommand("help", "list these commands"),
    SlashCommand("new", "begin a new session", "[title]", ("reset",)),
    SlashCommand("sessions", "list stored sessions"),
    SlashCommand("resume", "go on with a stored session", "[number or id]"),
    SlashCommand("title", "name this session", "[title]"),
    SlashCommand("model", "show or change the model of this session", "[name]"),
    SlashCommand("steer", "tell the running turn something", "<text>"),
    SlashCommand("queue", "send this when the turn is over", "<text>", ("q",)),
    SlashCommand("quit", "leave", "", ("exit",)),
)

_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


def exists(word: str) -> bool:
    """Say whether `word` is a path on this machine."""
    try:
        return Path(word).exists()
    except (OSError, ValueError):
        return False


def read(line: str, is_path: Callable[[str], bool] = exists) -> Called | Said | Slip:
    """Tell what a line is."""
    text = line.strip()
    if not text.startswith("/"):
        return Said(text)
    word, _, rest = text.partition(" ") if "\n" not in text.split(" ", 1)[0] else text.partition("\n")
    command = _BY_NAME.get(word[1:].lower())
    if command is not None:
        return Called(command, rest.strip())
    if word != "/" and (any(mark in word[1:] for mark in "/.:~") or is_path(word)):
        return Said(text)
    name = f"There is no command {word}" if word != "/" else "A command follows the slash directly"
    return Slip(f"{name}; /help lists the commands.")


def matching(prefix: str) -> list[SlashCommand]:
    """Return the commands whose name begins with `prefix` (a slash and letters), in the table's order."""
    if not prefix.startswith("/") or (not prefix[1:].isalpha() and prefix != "/"):
        return []
    start = prefix[1:].lower()
    return [command for command in COMMANDS if command.name.startswith(start)]
