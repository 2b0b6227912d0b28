"""What a session needs of the process it lives in. `hermes_core.runtime.Runtime` is the one there is."""

from __future__ import annotations

from typing import Protocol

from hermes_core.config.settings import Config
from hermes_core.store.protocol import Store
from hermes_core.tools.policy import Policy
from hermes_core.turn.workbench import ModelSource


class SessionHost(Protocol):
    """The runtime as a session sees it."""

    config: Config
    store: Store
    policy: Policy
    child_env: dict[str, str]

    def mask(self, text: str) -> str:
        """Return `text` with every known secret made unreadable."""
        ...

    def secret_begun(self, text: str) -> int:
        """Return how many characters at the end of `text` may be the beginning of a secret."""
        ...

    @property
    def models(self) -> ModelSource:
        """Where its turns get their models from."""
        ...
