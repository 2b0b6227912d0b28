"""`hermes setup`: choose a provider, give its key, choose a model; all of it in the terminal, nothing sent unasked."""

from __future__ import annotations

import getpass
import sys

import anyio
from hermes_core.config import Config, load_config, set_env, set_value
from hermes_core.errors import HermesError
from hermes_core.models.catalog import CUSTOM, LOCAL, PROVIDERS, KnownProvider, key_for
from hermes_core.models.listing import list_models
from hermes_core.models.provider import Endpoint
from hermes_core.models.resolve import Models

from hermes_cli import model
from hermes_cli.exits import Exit
from hermes_cli.printable import printable

SHOWN_MODELS = 20


def run() -> int:
    """Ask step by step and write the answers down; return the exit code. Raises HermesError."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        sys.stderr.write("hermes: setup asks questions, so it needs a terminal; `hermes config set` does not.\n")
        return Exit.USAGE
    try:
        return _steps(load_config())
    except EOFError:
        _say("\nNothing more was changed.")
        return Exit.FAILED


def _steps(config: Config) -> int:
    _say("Which provider shall answer?\n")
    for number, entry in enumerate(PROVIDERS, 1):
        known = "  (its key is there)" if key_for(entry, config.environ) else ""
        _say(f"  {number:>2}. {entry.title}{known}")
    others = len(PROVIDERS)
    _say(f"  {others + 1:>2}. Another server that speaks the OpenAI API")
    _say(f"  {others + 2:>2}. The small model on this machine")
    picked = _number("\nNumber: ", others + 2)
    if picked <= others:
        entry = PROVIDERS[picked - 1]
        _ask_key(config, entry)
        name = entry.name
    elif picked == others + 1:
        _ask_server(config)
        name = CUSTOM
    else:
        name = LOCAL
    return _finish(name)


def _ask_key(config: Config, entry: KnownProvider) -> None:
    if not entry.key_env:
        return
    kept = " (empty keeps the one that is there)" if key_for(entry, config.environ) else ""
    key = getpass.getpass(f"{entry.title} key{kept}, not shown: ").strip()
    if key:
        set_env(config.home, entry.key_env[0], key)


def _ask_server(config: Config) -> None:
    url = ""
    while not url.startswith(("http://", "https://")):
        url = input("Its address, such as http://127.0.0.1:8000/v1: ").strip()
    key = getpass.getpass("Its key (empty: none), not shown: ").strip()
    set_value(config.home, ("providers", CUSTOM, "base_url"), url)
    if key:
        set_env(config.home, "CUSTOM_API_KEY", key)
        set_value(config.home, ("providers", CUSTOM, "key_env"), "CUSTOM_API_KEY")


def _finish(provider: str) -> int:
    """Ask for the model among those the provider has, write the choice down, and show what answers now."""
    config = load_config()
    endpoint = anyio.run(_default_of, config, provider)
    names = anyio.run(list_models, endpoint) if endpoint is not None and endpoint.base_url else ()
    default = endpoint.model if endpoint else ""
    for number, name in enumerate(names[:SHOWN_MODELS], 1):
        _say(f"  {number:>2}. {printable(name)}")
    if len(names) > SHOWN_MODELS:
        _say(f"      and {len(names) - SHOWN_MODELS} more")
    typed = input(f"Model{f' (empty: {default})' if default else ''}: ").strip()
    if typed.isascii() and typed.isdigit() and 0 < int(typed) <= min(len(names), SHOWN_MODELS):
        typed = names[int(typed) - 1]
    chosen = typed or default
    if not chosen:
        _say("Without a model nothing can answer; run `hermes setup` again.")
        return Exit.FAILED
    return model.run(f"{provider}:{chosen}")


async def _default_of(config: Config, provider: str) -> Endpoint | None:
    models = Models(config)
    try:
        return await models.resolve("", provider)
    except HermesError as error:
        _say(str(error))
        return None
    finally:
        await models.aclose()


def _number(prompt: str, most: int) -> int:
    while True:
        typed = input(prompt).strip()
        if typed.isascii() and typed.isdigit() and 0 < int(typed) <= most:
            return int(typed)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
