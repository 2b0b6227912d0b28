"""Set-up in a terminal: ask for a provider, its key and a model, try them once, and write them down."""

from __future__ import annotations

import sys
from collections.abc import Callable

import anyio
import msgspec

from hermes_core.config.config import load_config
from hermes_core.config.edit import set_value
from hermes_core.config.env import set_env
from hermes_core.config.settings import Config
from hermes_core.errors import HermesError
from hermes_core.models.catalog import CUSTOM, PROVIDERS, KnownProvider, key_for
from hermes_core.models.provider import Endpoint

Ask = Callable[[str], str]

CUSTOM_KEY_ENV = "CUSTOM_API_KEY"
SERVER_PROMPT = "Its address, such as http://127.0.0.1:8000/v1: "


class Chosen(msgspec.Struct, frozen=True):
    """What a person chose. `repr` does not show the key."""

    provider: str
    model: str
    base_url: str = ""
    api_key: str = ""
    key_env: str = ""

    def __repr__(self) -> str:
        return f"Chosen({self.provider}:{self.model})"


def setup(ask: Ask = input, ask_secret: Ask | None = None, say: Callable[[str], None] | None = None) -> int:
    """Ask, try the answers with one request, and write them to the home; return the exit code.

    `ask` and `ask_secret` show a prompt and return what was typed (default: the terminal). Nothing is written
    before the end, so leaving in between changes nothing. Raises ConfigError when the settings cannot be read.
    """
    say = say or _say
    if ask_secret is None:
        from getpass import getpass

        ask_secret = getpass
    try:
        return _steps(load_config(), ask, ask_secret, say)
    except (EOFError, KeyboardInterrupt):
        say("\nNothing was changed.")
        return 1


def _steps(config: Config, ask: Ask, ask_secret: Ask, say: Callable[[str], None]) -> int:
    chosen = _choose(config, ask, ask_secret, say)
    problem = anyio.run(_tried, chosen, config)
    if problem:
        say(f"It did not answer: {problem}")
        if ask("Write it down all the same? [y/N] ").strip().lower() not in ("y", "yes"):
            say("Nothing was changed.")
            return 1
    _write(config, chosen)
    say(f"From now on {chosen.model} from {chosen.provider} answers.")
    return 0


def _choose(config: Config, ask: Ask, ask_secret: Ask, say: Callable[[str], None]) -> Chosen:
    for number, entry in enumerate(PROVIDERS, 1):
        say(f"  {number:>2}. {entry.title}{'  (its key is there)' if key_for(entry, config.environ) else ''}")
    say(f"  {len(PROVIDERS) + 1:>2}. Another server that speaks the OpenAI API")
    number = _number(ask, say, "Provider, by its number: ", len(PROVIDERS) + 1)
    if number > len(PROVIDERS):
        return _choose_server(ask, ask_secret, say)
    return _choose_known(config, PROVIDERS[number - 1], ask, ask_secret)


def _choose_known(config: Config, entry: KnownProvider, ask: Ask, ask_secret: Ask) -> Chosen:
    kept = key_for(entry, config.environ)
    key = ""
    if entry.key_env:
        key = _required(ask_secret, f"Its key{' (empty: the one that is there)' if kept else ''}: ", kept)
    model = _required(
        ask, f"Model{f' (empty: {entry.default_model})' if entry.default_model else ''}: ", entry.default_model
    )
    env = entry.key_env[0] if entry.key_env else ""
    return Chosen(entry.name, model, entry.base_url, key, env if key != kept else "")


def _choose_server(ask: Ask, ask_secret: Ask, say: Callable[[str], None]) -> Chosen:
    base_url = ask(SERVER_PROMPT).strip()
    while not base_url.startswith(("http://", "https://")):
        say("An address begins with http:// or https://.")
        base_url = ask(SERVER_PROMPT).strip()
    key = ask_secret("Its key (empty: none): ").strip()
    return Chosen(CUSTOM, _required(ask, "Model: ", ""), base_url, key, CUSTOM_KEY_ENV if key else "")


async def _tried(chosen: Chosen, config: Config) -> str:
    """Ask the model for one word; return what is wrong, empty when it answers."""
    from hermes_core.messages import user_text
    from hermes_core.models.provider import ModelRequest
    from hermes_core.models.resolve import Models

    models = Models(config)
    endpoint = Endpoint(provider=chosen.provider, model=chosen.model, base_url=chosen.base_url, api_key=chosen.api_key)
    request = ModelRequest(model=chosen.model, messages=(user_text("Say ok."),), max_tokens=16)
    try:
        async with models.provider(endpoint).stream(request) as stream:
            async for _ in stream:
                return ""
    except HermesError as error:
        return str(error)
    finally:
        await models.aclose()
    return ""


def _write(config: Config, chosen: Chosen) -> None:
    home = config.home
    if chosen.key_env:
        set_env(home, chosen.key_env, chosen.api_key)
    if chosen.provider == CUSTOM:
        set_value(home, ("providers", CUSTOM, "base_url"), chosen.base_url)
        if chosen.key_env:
            set_value(home, ("providers", CUSTOM, "key_env"), chosen.key_env)
    # An address or key in the section `model` belongs to the provider of before, and must not be used for this one.
    for name, value in (("base_url", config.model.base_url), ("api_key", config.model.api_key)):
        if value:
            set_value(home, ("model", name), "")
    set_value(home, "model.provider", chosen.provider)
    set_value(home, "model.default", chosen.model)


def _required(ask: Ask, prompt: str, default: str) -> str:
    typed = ""
    while not typed:
        typed = ask(prompt).strip() or default
    return typed


def _number(ask: Ask, say: Callable[[str], None], prompt: str, most: int) -> int:
    while True:
        typed = ask(prompt).strip()
        if typed.isascii() and typed.isdigit() and len(typed) < 4 and 0 < int(typed) <= most:
            return int(typed)
        say(f"A number from 1 to {most} is expected.")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
