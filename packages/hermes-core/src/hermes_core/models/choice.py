"""What a person means by a model: `name`, `provider:name` or `provider/name`, seen from the provider in use."""

from __future__ import annotations

import re

import msgspec

from hermes_core.config.home import CONFIG_NAME
from hermes_core.config.settings import Config
from hermes_core.errors import ConfigError, InvalidInput
from hermes_core.models.catalog import CUSTOM, LOCAL, PROVIDERS, key_for, known, known_at, maker_of

MAX_NAME = 512
_TAG = re.compile(r"(?:latest|[\d.]+[bmk]\b.*|q\d.*)", re.IGNORECASE)


class Choice(msgspec.Struct, frozen=True):
    """A provider and a model; an empty provider means any that has it, an empty model the provider's default."""

    provider: str = ""
    model: str = ""


def canonical(config: Config, name: str) -> str:
    """Return the one name of a provider: `Google` -> `gemini`, `custom:mine` -> `mine`. Raises InvalidInput."""
    word = name.strip()
    word = word.removeprefix("custom:") if word.removeprefix("custom:") in config.providers else word
    if word in config.providers:
        return word
    word = word.lower()
    entry = known(word)
    if entry is not None:
        return entry.name
    if word in config.providers or word in (LOCAL, CUSTOM):
        return word
    names = sorted({*config.providers, *(provider.name for provider in PROVIDERS), CUSTOM, LOCAL})
    raise InvalidInput(f"There is no provider {name[:80]!r}. Known are: {', '.join(names)}.", "provider")


def _named(config: Config, name: str) -> str:
    try:
        return canonical(config, name) if name else ""
    except InvalidInput:
        return ""


def own_provider(config: Config) -> str:
    """Return the provider that the section `model` is about: its address and key are for this one only."""
    if not config.model.provider:
        return _implied(config)
    try:
        return canonical(config, config.model.provider)
    except InvalidInput as error:
        raise ConfigError(f"{config.home / CONFIG_NAME}: model.provider: {error}") from error


def default_choice(config: Config) -> Choice:
    """Return what is configured: the environment over `model` over the first of `providers`; empty where nothing is.

    Raises ConfigError for a provider that does not exist.
    """
    environ = config.environ
    own = own_provider(config)
    wanted = environ.get("HERMES_MODEL", "").strip() or environ.get("HERMES_INFERENCE_MODEL", "").strip()
    given = environ.get("HERMES_TUI_PROVIDER", "").strip() or environ.get("HERMES_INFERENCE_PROVIDER", "").strip()
    if not given or given.lower() == "auto":
        return Choice(own, wanted or config.model.default)
    try:
        provider = canonical(config, given)
    except InvalidInput as error:
        raise ConfigError(f"HERMES_INFERENCE_PROVIDER: {error}") from error
    # The model of the file was chosen for the provider of the file.
    return Choice(provider, wanted or (config.model.default if own in ("", provider) else ""))


def _implied(config: Config) -> str:
    """Return the provider that the other settings speak of where none is named."""
    model = config.model
    if model.base_url:
        entry = known_at(model.base_url)
        return entry.name if entry else CUSTOM
    if model.api_key:
        entry = next((p for p in PROVIDERS if p.key_prefix and model.api_key.startswith(p.key_prefix)), None)
        return entry.name if entry else "openrouter" if "/" in model.default else "openai"
    if model.default:
        return _listing(config, model.default)
    return next((name for name, settings in config.providers.items() if settings.base_url), "")


def has_key(config: Config, name: str) -> bool:
    """Say whether a provider can be asked: its key is known, or it needs none and is named in the settings."""
    settings = config.providers.get(name)
    if settings is not None and (settings.base_url or settings.api_key):
        return True
    entry = known(name)
    return entry is not None and bool(key_for(entry, config.environ))


def choose(config: Config, model: str, provider: str = "", current: str = "") -> Choice:
    """Read a choice. `provider` is meant as it is; `current` is the provider in use, which keeps a bare name.

    Raises InvalidInput for an unknown provider and for a name that cannot be one.
    """
    model = model.strip()
    if len(model) > MAX_NAME or not model.isprintable():
        raise InvalidInput("This cannot be the name of a model.", "model")
    default = default_choice(config)
    if provider.strip() and provider.strip().lower() != "auto":
        name = canonical(config, provider)
        model = model or (default.model if name == default.provider else "")
        return Choice(name, _stripped(config, model, name))
    if not model:
        if default.model:
            return _read(config, default.model, default.provider, sure=True)
        return default
    choice = _read(config, model, _named(config, current) or default.provider, sure=False)
    return choice if choice.model else choose(config, "", choice.provider)


def _stripped(config: Config, model: str, provider: str) -> str:
    """Return the model without a prefix that names the provider itself."""
    before, colon, rest = model.partition(":")
    return rest if colon and rest and _named(config, before) == provider and not _TAG.match(rest) else model


def _read(config: Config, model: str, current: str, *, sure: bool) -> Choice:
    """Split a model's text. `sure`: `current` was configured together with this model, so a bare name is its."""
    before, colon, rest = model.partition(":")
    if before.lower() == CUSTOM and ":" in rest and rest.partition(":")[0] in config.providers:
        named, _, name = rest.partition(":")
        return Choice(named, name)
    named = _named(config, before) if colon and rest else ""
    current_entry = known(current)
    on_loopback = current_entry is not None and current_entry.loopback
    if named and not (on_loopback and _TAG.match(rest)):
        return Choice(named, rest)
    if not sure and not on_loopback and (whole := _named(config, model)):
        return Choice(whole, "")
    if "/" in model:
        return _slashed(config, model, current)
    listing = _listing(config, model)
    if listing and not sure and model not in _models_of(config, current):
        return Choice(listing, model)
    return Choice(current or _owner(config, model), model)


def _models_of(config: Config, provider: str) -> dict[str, int]:
    settings = config.providers.get(provider)
    return settings.models if settings else {}


def _listing(config: Config, model: str) -> str:
    """Return the first provider of the settings that lists a model."""
    return next((name for name, settings in config.providers.items() if model in settings.models), "")


def _slashed(config: Config, model: str, current: str) -> Choice:
    """Read `a/b`: a name that holds a slash where such names are in use, else provider and name."""
    before, _, rest = model.partition("/")
    named = _named(config, before)
    entry = known(named)
    if named and named == current and not (entry and entry.vendors and "/" not in rest):
        return Choice(named, rest)
    if named and (entry is None or entry.slashes):
        return Choice(named, rest)  # nobody's vendor name: openrouter/..., ollama/..., a provider of the settings
    current_entry = known(current)
    keeps_slashes = current_entry.slashes if current_entry else bool(current)
    if keeps_slashes:
        return Choice(current, model)
    if named:
        return Choice(named if has_key(config, named) else _aggregator(config) or named, model)
    return Choice(current or _owner(config, model), model)


def _owner(config: Config, model: str) -> str:
    """Return who serves a bare name: a provider that lists it, its maker, an aggregator, anyone with a key."""
    if listing := _listing(config, model):
        return listing
    maker = maker_of(model)
    if maker and has_key(config, maker):
        return maker
    if aggregator := _aggregator(config):
        return aggregator
    return "" if maker else next((entry.name for entry in PROVIDERS if has_key(config, entry.name)), "")


def _aggregator(config: Config) -> str:
    return next((entry.name for entry in PROVIDERS if entry.vendors and has_key(config, entry.name)), "")
