"""The server's key: what a real one is, how one is made, and the name under which its holder owns things."""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

from hermes_core.errors import ConfigError

SHORTEST = 16
_PLACEHOLDER = re.compile(r"(?:changeme|changethis|replaceme|placeholder|(?:your|my)?api(?:server)?key(?:here)?)+\d*")


def new_key() -> str:
    """Return a new key of 43 URL-safe characters, 256 random bits."""
    return secrets.token_urlsafe(32)


def checked_key(key: str) -> str:
    """Return `key`, stripped, if it can protect a server. Raises ConfigError that says what is wrong and what to do.

    A key has at least 16 characters, is no well-known placeholder, and holds neither blanks nor control
    characters, which no header carries faithfully.
    """
    key = key.strip()
    if not key:
        raise ConfigError(f"The API server has no key. {_HOW}")
    if len(key) < SHORTEST:
        raise ConfigError(f"The API server's key is shorter than {SHORTEST} characters. {_HOW}")
    if any(character.isspace() or not character.isprintable() for character in key):
        raise ConfigError(f"The API server's key holds blanks or control characters. {_HOW}")
    letters = re.sub(r"[^a-z0-9]", "", key.lower())
    if len(set(letters)) <= 1 or _PLACEHOLDER.fullmatch(letters):
        raise ConfigError(f"The API server's key is a placeholder. {_HOW}")
    return key


_HOW = (
    "Make one with `hermes-api --generate-key` and set it as API_SERVER_KEY, "
    "in the environment or in the home's .env file."
)


def owner_of(key: str) -> str:
    """Return the name under which sessions and runs made with `key` are kept: `key:` and 32 hex digits.

    It cannot be turned back into the key.
    """
    return "key:" + sha256(b"hermes-api\0" + key.encode("utf-8", "surrogateescape")).hexdigest()[:32]
