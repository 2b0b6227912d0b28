"""Which settings are secrets, and how a text is freed of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from hermes_core.config.settings import Config

MASK = "[secret]"
SHORTEST = 8
"""Shorter values are words such as `none` or `test`; hiding them would spoil texts and protect nothing."""

_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:(?:API|ACCESS|SECRET|PRIVATE|MASTER|SERVER)[_-]?KEY(?:S|_ID)?|TOKEN|SECRET"
    r"|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|AUTHORIZATION|COOKIE)$|^KEY$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Say whether a variable, header or setting of this name holds a secret: `X_API_KEY`, `X_TOKEN`, `PASSWORD`, ..."""
    return _SECRET_NAME.search(name) is not None


def secrets_of(config: Config) -> frozenset[str]:
    """Return the secret values that the configuration knows: keys, tokens, passwords, of at least 8 characters."""
    found: set[str] = {config.model.api_key, config.api_server.key}
    found.update(provider.api_key for provider in config.providers.values())
    found.update(fallback.api_key for fallback in config.fallback_providers)
    found.update(_secret_values(config.environ))
    found.update(_secret_values(config.raw))
    found.update(_secret_values(config.mcp_servers))
    for server in config.mcp_servers.values():
        if isinstance(server, dict):
            found.update(_header_values(cast("dict[str, Any]", server).get("headers")))
    return frozenset(value for value in found if len(value) >= SHORTEST and "${" not in value)


def _secret_values(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _secret_values(cast("dict[str, Any]", value))
        elif isinstance(value, str) and is_secret_name(str(name)):
            yield value


def _header_values(headers: Any) -> Iterator[str]:
    """Yield each header's value, and the bare token of a `Bearer` one."""
    if isinstance(headers, dict):
        for name, value in cast("dict[str, Any]", headers).items():
            if isinstance(value, str) and is_secret_name(str(name)):
                yield value
                yield value.rsplit(" ", 1)[-1]


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with every known secret replaced by `[secret]`, the longest first."""
    for secret in sorted(secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, MASK)
    return text


def begun(text: str, secrets: Iterable[str]) -> int:
    """Return how many characters at the end of `text` may be the beginning of a known secret."""
    found = 0
    for secret in secrets:
        longest = range(min(len(secret) - 1, len(text)), found, -1)
        found = next((length for length in longest if text.endswith(secret[:length])), found)
    return found


def redact_settings(value: Any, secrets: Iterable[str]) -> Any:
    """Return a copy of a settings document in which secret keys and known secrets are masked; for people's eyes.

    A secret that is written as a placeholder (`${NAME}`) is shown as it is.
    """
    return _shown(value, tuple(secrets), hide=False)


def _shown(value: Any, secrets: tuple[str, ...], *, hide: bool) -> Any:
    match value:
        case dict():
            items = cast("dict[Any, Any]", value).items()
            return {key: _shown(item, secrets, hide=is_secret_name(str(key))) for key, item in items}
        case list():
            return [_shown(item, secrets, hide=hide) for item in cast("list[Any]", value)]
        case str():
            hidden = hide and value and not value.startswith("${")
            return MASK if hidden else redact(value, secrets)
        case _:
            return MASK if hide and value is not None else value
