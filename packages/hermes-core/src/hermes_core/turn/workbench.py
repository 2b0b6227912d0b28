"""The workbench: everything a turn works with. The session lays it out; the turn's rooms take what they need."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hermes_core.commands import EditMode
from hermes_core.events import Event, TodoItem
from hermes_core.models.provider import Endpoint, Provider
from hermes_core.questions import Answer, Question
from hermes_core.session.transcript import Transcript
from hermes_core.tools.policy import Policy
from hermes_core.tools.tool import Processes, SessionFiles, Tool


class ModelSource(Protocol):
    """Where a turn gets its model from."""

    async def resolve(self, model: str = "", provider: str = "", *, current: str = "") -> Endpoint:
        """Find the endpoint; raises NoModelError or InvalidInput. A bare name is looked for at `current` first."""
        ...

    def provider(self, endpoint: Endpoint) -> Provider:
        """Return the pooled provider of an endpoint."""
        ...


class Grants(Protocol):
    """What a person has allowed: for this session, and for ever."""

    async def known(self) -> frozenset[str]:
        """Return every granted pattern."""
        ...

    async def add(self, patterns: tuple[str, ...], *, always: bool) -> None:
        """Keep granted patterns for the session, or for ever."""
        ...


class Workbench(msgspec.Struct, frozen=True, kw_only=True):
    """What one session's turns work with. The callables read the session's present settings."""

    stored_id: str
    cwd: Path
    home: Path
    transcript: Transcript
    publish: Callable[[Event], None]
    ask: Callable[[Question], Awaitable[Answer | None]]
    answerable: Callable[[], bool]
    models: ModelSource
    model: Callable[[], tuple[str, str]]
    """The session's model and provider name; empty = the default."""
    reasoning_effort: Callable[[], str]
    edits: Callable[[], EditMode]
    resolved: Callable[[Endpoint], None]
    """Told which endpoint answers."""
    tools: Callable[[], Mapping[str, Tool[Any]]]
    """The tools that a turn which begins now offers."""
    policy: Policy
    grants: Grants
    env: dict[str, str]
    mask: Callable[[str], str]
    """Makes known secrets unreadable in what tools print: it goes to the model, to clients and into the store."""
    secret_begun: Callable[[str], int]
    """How many characters at the end of a text may be the beginning of a secret."""
    files: SessionFiles
    processes: Processes
    todos: list[TodoItem]
    data: dict[str, Any]
    max_steps: int
    approval_timeout: float
    """Seconds; 0 = for ever."""
