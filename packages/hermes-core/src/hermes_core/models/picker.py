"""What a person can choose from: the providers, each with its models, without waiting for endpoints that are dead.

The plain list asks the endpoint in use and nobody else; the others show what is configured or was found before.
`refresh` forgets what was found and asks all that are configured, side by side.
"""

from __future__ import annotations

import anyio
import msgspec

from hermes_core.config.settings import Config
from hermes_core.errors import HermesError
from hermes_core.models.catalog import CUSTOM, LOCAL, PROVIDERS, base_url_for, key_for, known
from hermes_core.models.choice import has_key, own_provider
from hermes_core.models.listing import list_models
from hermes_core.models.provider import Endpoint
from hermes_core.models.weights import find_weights, weights_name

PLAIN_TIMEOUT = 0.7
REFRESH_TIMEOUT = 3.0
MAX_ASKED = 16
"""Endpoints that are asked at the same time."""


class PickerRow(msgspec.Struct, frozen=True, kw_only=True):
    """A provider in the list. No row holds a key; `key_env` names the variable that is missing."""

    slug: str
    name: str
    models: tuple[str, ...] = ()
    is_current: bool = False
    is_user_defined: bool = False
    authenticated: bool = False
    source: str = "canonical"
    """`canonical` (known), `user-config` (named in the settings), `model-config` (the settings' one endpoint)."""
    api_url: str = ""
    key_env: str = ""
    warning: str = ""


class Picker:
    """Makes the rows. Keeps what endpoints have said until it is made anew or asked to refresh."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._found: dict[str, tuple[str, ...]] = {}

    async def rows(
        self, *, provider: str = "", model: str = "", refresh: bool = False, unconfigured: bool = False
    ) -> tuple[PickerRow, ...]:
        """Return the providers: known ones in a fixed order, then those of the settings.

        `provider` and `model` are those in use; `unconfigured` adds the known providers that have no key. An endpoint
        has 0.7 s to answer, with `refresh` 3 s; one that does not keeps the models it is known for.
        """
        if refresh:
            self._found.clear()
        provider = provider or _own(self._config)
        rows = [row for row in self._known(provider) if unconfigured or row.authenticated]
        rows += self._named(provider)
        asked = [row for row in rows if self._is_asked(row, refresh=refresh)]
        await self._ask(asked, REFRESH_TIMEOUT if refresh else PLAIN_TIMEOUT)
        return tuple(self._filled(row, model) for row in rows)

    def _known(self, current: str) -> list[PickerRow]:
        rows: list[PickerRow] = []
        for entry in PROVIDERS:
            if entry.name in self._config.providers:
                continue
            is_current = entry.name == current
            ready = bool(key_for(entry, self._config.environ)) or (is_current and bool(self._config.model.api_key))
            ready = ready or (entry.loopback and is_current)
            key = entry.key_env[0] if entry.key_env and not ready else ""
            rows.append(
                PickerRow(
                    slug=entry.name,
                    name=entry.title,
                    models=(entry.default_model,) if ready and entry.default_model else (),
                    is_current=is_current,
                    authenticated=ready,
                    key_env=key,
                    warning=f"Set {key} to use {entry.title}." if key else "",
                )
            )
        weights = find_weights(self._config.environ)
        if weights is not None:
            names = (weights_name(weights),)
            local = current in ("", LOCAL)
            rows.append(PickerRow(slug=LOCAL, name="This machine", models=names, is_current=local, authenticated=True))
        return rows

    def _named(self, current: str) -> list[PickerRow]:
        config = self._config
        rows = [
            PickerRow(
                slug=name,
                name=name,
                models=tuple(settings.models),
                is_current=name == current,
                is_user_defined=True,
                authenticated=has_key(config, name),
                source="user-config",
                api_url=settings.base_url,
            )
            for name, settings in config.providers.items()
        ]
        if _own(config) == CUSTOM and config.model.base_url:
            rows.append(
                PickerRow(
                    slug=CUSTOM,
                    name="Own endpoint",
                    models=(config.model.default,) if config.model.default else (),
                    is_current=current == CUSTOM,
                    is_user_defined=True,
                    authenticated=True,
                    source="model-config",
                    api_url=config.model.base_url,
                )
            )
        return rows

    def _is_asked(self, row: PickerRow, *, refresh: bool) -> bool:
        """Say whether to ask an endpoint: all on refresh, else the one in use if it is a person's own, once."""
        if row.slug == LOCAL or not row.authenticated or row.slug in self._found:
            return False
        entry = known(row.slug)
        return refresh or (row.is_current and (row.is_user_defined or (entry is not None and entry.loopback)))

    async def _ask(self, rows: list[PickerRow], timeout: float) -> None:
        """Ask endpoints side by side. One that is silent is not asked again by every look at the list."""
        limiter = anyio.CapacityLimiter(MAX_ASKED)

        async def ask(slug: str) -> None:
            async with limiter:
                self._found[slug] = await list_models(self._endpoint(slug), timeout)

        async with anyio.create_task_group() as asking:
            for row in rows:
                asking.start_soon(ask, row.slug)

    def _endpoint(self, slug: str) -> Endpoint:
        config = self._config
        settings, entry = config.providers.get(slug), known(slug)
        own = slug == _own(config)
        base_url = (settings.base_url if settings else "") or (config.model.base_url if own else "")
        key = (settings.api_key if settings else "") or (config.model.api_key if own else "")
        if entry is not None:
            base_url = base_url or base_url_for(entry, config.environ)
            key = key or key_for(entry, config.environ)
        return Endpoint(provider=slug, model="", base_url=base_url, api_key=key)

    def _filled(self, row: PickerRow, model: str) -> PickerRow:
        names = [*row.models, *self._found.get(row.slug, ())]
        if row.is_current and model:
            names.insert(0, model)
        return msgspec.structs.replace(row, models=tuple(dict.fromkeys(names)))


def _own(config: Config) -> str:
    try:
        return own_provider(config)
    except HermesError:
        return ""  # the list is there to choose another
