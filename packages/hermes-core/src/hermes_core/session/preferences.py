"""What a client may set of a session: its title, its model, how edits are approved."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from hermes_core.commands import Done, SetEdits, SetModel, SettingsCommand, SetTitle
from hermes_core.events import Event, SessionTitle
from hermes_core.models.provider import Endpoint
from hermes_core.session.settings import SessionSettings, checked_title
from hermes_core.store.protocol import SessionPatch
from hermes_core.turn.workbench import ModelSource


class Preferences:
    """Carries out the commands that change settings. `changed` is called after a change that `session.info` tells.

    `endpoint` is where the model answers: that of the last turn, or the one chosen since; None before the first.
    """

    def __init__(
        self,
        settings: SessionSettings,
        models: Callable[[], ModelSource],
        publish: Callable[[Event], None],
        changed: Callable[[], None],
    ) -> None:
        self._settings = settings
        self._models = models
        self._publish = publish
        self._changed = changed
        self.endpoint: Endpoint | None = None

    async def dispatch(self, command: SettingsCommand) -> Done:
        """Change a setting: stored first, then told. Raises what the command names, and then nothing has changed."""
        match command:
            case SetTitle():
                await self._set_title(command.title)
            case SetModel():
                await self._set_model(command.model)
            case SetEdits():
                await self._settings.change(SessionPatch(edits=command.mode))
            case _:
                assert_never(command)
        return Done()

    def resolved(self, endpoint: Endpoint) -> None:
        """Take note of where a turn's model answers."""
        self.endpoint = endpoint

    async def _set_title(self, title: str) -> None:
        title = checked_title(title)
        await self._settings.ensure_stored()
        await self._settings.change(SessionPatch(title=title))
        self._publish(SessionTitle(stored_id=self._settings.record.id, title=title))

    async def _set_model(self, model: str) -> None:
        in_use = self._settings.record.provider or (self.endpoint.provider if self.endpoint else "")
        endpoint = await self._models().resolve(model, current=in_use)
        await self._settings.change(SessionPatch(model=endpoint.model, provider=endpoint.provider))
        self.endpoint = endpoint
        self._changed()
