"""Which model answers, and over which provider: `Models`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes_core.config.settings import Config
from hermes_core.errors import InvalidInput, NoModelError
from hermes_core.models.catalog import (
    LOCAL,
    PROVIDERS,
    KnownProvider,
    base_url_for,
    context_length_for,
    key_for,
    known,
    model_for,
)
from hermes_core.models.choice import Choice, choose, own_provider
from hermes_core.models.discover import SERVERS, Found, find_server, find_servers
from hermes_core.models.pool import ProviderPool
from hermes_core.models.provider import Endpoint, Provider
from hermes_core.models.weights import find_weights, weights_name

if TYPE_CHECKING:
    from hermes_core.models.picker import Picker

LOCAL_CONTEXT = 8192


class Models:
    """Finds the endpoint for a choice of model, and keeps one provider for each endpoint.

    `servers` are the loopback servers to look for. `note` says in a sentence what the last `resolve` found, and why.
    """

    def __init__(self, config: Config, servers: tuple[KnownProvider, ...] = SERVERS) -> None:
        self.config = config
        self.note = ""
        self._servers = servers
        self._pool = ProviderPool(self._make)
        self._picker: Picker | None = None

    async def resolve(self, model: str = "", provider: str = "", *, current: str = "") -> Endpoint:
        """Return where a model answers. `model`: `name`, `provider:name`, `provider/name`, or empty for the default.

        `current` is the provider that a session uses: a bare name is then looked for there. The order for an empty
        choice: what is configured, a key in the environment, a server on loopback, the local engine. No network is
        used as soon as provider and model are known. Raises InvalidInput for an unknown provider, NoModelError with
        what to do about it.
        """
        await self._pool.sweep()
        choice = choose(self.config, model, provider, current)
        explicit = bool(model.strip() or provider.strip())
        if choice.provider:
            endpoint = await self._at(choice)
            self.note = f"{endpoint.model} from {endpoint.provider}, " + (
                "as chosen." if explicit else "as configured."
            )
            return endpoint
        if not choice.model:
            for entry in PROVIDERS:
                if key_for(entry, self.config.environ) or (
                    not entry.loopback and base_url_for(entry, self.config.environ) != entry.base_url
                ):
                    endpoint = await self._at(Choice(entry.name))
                    self.note = f"{endpoint.model} from {entry.title}, because its key is in the environment."
                    return endpoint
        return await self._on_this_machine(choice.model)

    @property
    def picker(self) -> Picker:
        """The list of what can be chosen; the same one until the settings change."""
        if self._picker is None:
            from hermes_core.models.picker import Picker

            self._picker = Picker(self.config)
        return self._picker

    def provider(self, endpoint: Endpoint) -> Provider:
        """Return the provider of an endpoint: the same one for the same address, key and way of speaking."""
        return self._pool.get(endpoint)

    async def reload(self, config: Config) -> None:
        """Use new settings from the next `resolve` on. Running calls end over the connections they have."""
        self.config = config
        self._picker = None
        await self._pool.retire_all()

    async def warm(self) -> None:
        """Load what the first call will need. Without a model there is nothing to load, and nothing is raised."""
        try:
            endpoint = await self.resolve()
        except (NoModelError, InvalidInput):
            return
        await self.provider(endpoint).warm()

    async def aclose(self) -> None:
        """Close all connections and child processes."""
        await self._pool.aclose()

    # -- how it is done

    def _make(self, endpoint: Endpoint) -> Provider:
        if endpoint.provider == LOCAL:
            from hermes_core.models.local import LocalProvider

            return LocalProvider(endpoint, self._weights())
        if endpoint.api_mode == "responses":
            from hermes_core.models.openai_responses import OpenAIResponsesProvider

            return OpenAIResponsesProvider(endpoint)
        from hermes_core.models.openai_chat import OpenAIChatProvider

        return OpenAIChatProvider(endpoint)

    def _weights(self) -> Path:
        weights = find_weights(self.config.environ)
        if weights is None:
            raise NoModelError(f"The local model is not installed. {WEIGHTS_ADVICE}")
        return weights

    async def _at(self, choice: Choice) -> Endpoint:
        """Return the endpoint of a provider that was chosen by name."""
        if choice.provider == LOCAL:
            return self._local()
        endpoint = self._configured(choice)
        if endpoint.model:
            return endpoint
        return await self._first_model(endpoint)

    def _configured(self, choice: Choice) -> Endpoint:
        """Return the endpoint that settings and environment describe; its model is empty if none is known."""
        config, name = self.config, choice.provider
        settings = config.providers.get(name)
        entry = known(name)
        own = name == own_provider(config)
        known_url = entry.base_url if entry else ""
        base_url = (
            (settings.base_url if settings else "")
            or (config.model.base_url if own else "")
            or (base_url_for(entry, config.environ) if entry else "")
        )
        if not base_url:
            raise NoModelError(f"The provider {name} has no address: set model.base_url in {self._config_file}.")
        api_key = (settings.api_key if settings else "") or (config.model.api_key if own else "")
        if not api_key and entry:
            api_key = key_for(entry, config.environ)
        if not api_key and entry and entry.key_env and base_url == known_url:
            raise NoModelError(f"{entry.title} needs a key: set {entry.key_env[0]} in {self._env_file}.")
        model = choice.model or (next(iter(settings.models), "") if settings else "")
        if not model and entry and base_url == known_url:
            model = entry.default_model
        api_mode = (settings.api_mode if settings else None) or (config.model.api_mode if own else None)
        return Endpoint(
            provider=name,
            model=model_for(name, model) if model else "",
            base_url=base_url,
            api_key=api_key,
            api_mode=api_mode or "chat_completions",
            context_length=self._context_length(name, model),
        )

    def _context_length(self, provider: str, model: str) -> int:
        config = self.config
        settings = config.providers.get(provider)
        if settings and settings.models.get(model):
            return settings.models[model]
        same = model_for(provider, model) == model_for(provider, config.model.default)
        if config.model.context_length and same and own_provider(config) in ("", provider):
            return config.model.context_length
        entry = known(provider)
        # A server on loopback reads as much as it was started with, not as much as the model could.
        return 0 if entry and entry.loopback else context_length_for(model)

    async def _first_model(self, endpoint: Endpoint) -> Endpoint:
        """Ask a chosen server, with its own key, which model it has."""
        from hermes_core.models.listing import list_models

        entry = known(endpoint.provider)
        if entry and entry.loopback and not endpoint.api_key:
            found = await find_server(entry, endpoint.base_url)
            answer = found.endpoint() if found else None
            if answer is not None:
                return answer
            raise NoModelError(f"{entry.title} does not answer at {endpoint.base_url}, or has no model.")
        names = await list_models(endpoint)
        if not names:
            raise NoModelError(
                f"No model is named for {endpoint.provider}, and {endpoint.base_url} does not say what it has: "
                f"set model.default in {self._config_file}."
            )
        return msgspec.structs.replace(endpoint, model=names[0], context_length=context_length_for(names[0]))

    async def _on_this_machine(self, model: str) -> Endpoint:
        """Return a model that needs no key: of a server on loopback, or the local engine's own."""
        found = await find_servers(self.config.environ, self._servers)
        for server in found:
            endpoint = server.endpoint(model)
            if endpoint is not None:
                self.note = f"{endpoint.model} from {server.title}, found running on this machine."
                return endpoint
        weights = find_weights(self.config.environ)
        if weights is not None and model in ("", LOCAL, weights_name(weights)):
            endpoint = self._local()
            self.note = f"{endpoint.model}, the small model on this machine: nothing else is configured."
            return endpoint
        raise NoModelError(self._advice(model, found))

    def _local(self) -> Endpoint:
        return Endpoint(provider=LOCAL, model=weights_name(self._weights()), context_length=LOCAL_CONTEXT)

    def _advice(self, model: str, found: tuple[Found, ...]) -> str:
        what = f"No provider is configured that has the model {model}." if model else "No model is configured."
        locked = "".join(
            f" {server.title} at {server.base_url} wants a key: set providers.{server.provider}.api_key."
            for server in found
            if server.locked
        )
        return (
            f"{what}{locked} Run `hermes setup` (or `hermes-acp --setup`), or put a key such as OPENROUTER_API_KEY, "
            f"ANTHROPIC_API_KEY or OPENAI_API_KEY into {self._env_file}, or start Ollama or LM Studio. "
            f"{WEIGHTS_ADVICE}"
        )

    @property
    def _config_file(self) -> Path:
        return self.config.home / "config.yaml"

    @property
    def _env_file(self) -> Path:
        return self.config.home / ".env"


WEIGHTS_ADVICE = (
    "For a small model on this machine, install hermes-core with its `local` extra, and name a GGUF file in "
    "HERMES_LOCAL_MODEL."
)
