"""The gateway: what all connections of one process share."""

from __future__ import annotations

import anyio.to_thread
from hermes_core.config.config import load_config
from hermes_core.config.home import CONFIG_NAME
from hermes_core.config.settings import Config
from hermes_core.models.provider import Endpoint
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session

from hermes_tui_gateway.clarifications import Clarifications
from hermes_tui_gateway.info import Surroundings, info_of
from hermes_tui_gateway.wire.events import EventParams
from hermes_tui_gateway.wire.sessions import InfoPayload


class Gateway:
    """One per process, over one runtime."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.clarifications = Clarifications()
        self._around: tuple[Config, Surroundings] | None = None
        self._seen_mtime = self.config_mtime()

    @property
    def around(self) -> Surroundings:
        """What frames say of this process's settings and tools, as they are now."""
        config = self.runtime.config
        if self._around is None or self._around[0] is not config:
            self._around = config, self._look_around(config)
        return self._around[1]

    def info(self, session: Session, endpoint: Endpoint | None = None) -> InfoPayload:
        """Return the `info` of a live session; `endpoint` is where its next turn will be answered, if known."""
        if endpoint is not None:
            return info_of(session, self.around, endpoint.model, endpoint.provider)
        settings = self.runtime.config.model
        return info_of(session, self.around, settings.default, settings.provider)

    def info_event(self, session: Session, endpoint: Endpoint | None = None) -> EventParams:
        """Return the `session.info` that tells one client what holds now."""
        return EventParams(type="session.info", session_id=session.id, payload=self.info(session, endpoint))

    # -- settings

    def config_mtime(self) -> float:
        """Return when `config.yaml` was changed last, in UNIX seconds; 0 without the file."""
        try:
            return (self.runtime.config.home / CONFIG_NAME).stat().st_mtime
        except OSError:
            return 0.0

    async def refresh_config(self) -> Config:
        """Take over the settings if their file has changed, and return them. Raises ConfigError."""
        if self.config_mtime() != self._seen_mtime:
            await self.reload_config()
        return self.runtime.config

    async def reload_config(self) -> None:
        """Take over the settings files as they are now. Raises ConfigError, and then nothing is changed."""
        changed = self.config_mtime()
        config = await anyio.to_thread.run_sync(load_config, self.runtime.config.home)
        self._seen_mtime = changed
        self.runtime.config = config
        self.runtime.policy.mode = config.approvals.mode
        await self.runtime.models.reload(config)

    def _look_around(self, config: Config) -> Surroundings:
        tools: dict[str, list[str]] = {}
        for tool in self.runtime.tools.values():
            tools.setdefault(tool.toolset, []).append(tool.name)
        return Surroundings(
            tools=tools,
            approval_mode=config.approvals.mode,
            interim=config.display.interim_assistant_messages,
        )
