"""The settings that an editor offers for a session: modes and models, in both ways that the protocol has for them."""

from __future__ import annotations

import msgspec
from hermes_core.commands import EditMode
from hermes_core.config.settings import Config

from hermes_acp.errors import InvalidParams
from hermes_acp.wire.results import Mode, Model, ModelList, Modes, SelectOption, SelectValue

MODE_OPTION = "mode"
MODEL_OPTION = "model"
MAX_MODELS = 50

_MODES: dict[EditMode, Mode] = {
    "ask": Mode(id="default", name="Ask", description="Ask before each edit of a file."),
    "workspace": Mode(id="accept_edits", name="Accept edits", description="Edit files of the project without asking."),
    "allow": Mode(id="dont_ask", name="Don't ask", description="Edit files anywhere without asking."),
    "plan": Mode(id="plan", name="Plan", description="Read and think only; edit nothing."),
}
_EDITS: dict[str, EditMode] = {mode.id: edits for edits, mode in _MODES.items()}


class Settings(msgspec.Struct, frozen=True):
    """The current values of one session. Models are named `provider:model`; `models` holds the current one too."""

    edits: EditMode
    model: str
    models: tuple[str, ...]

    def modes(self) -> Modes:
        """Return the modes as clients read them that know no options."""
        return Modes(current_mode_id=_MODES[self.edits].id, available_modes=tuple(_MODES.values()))

    def model_list(self) -> ModelList:
        """Return the models as clients read them that know no options."""
        models = tuple(Model(model_id=name, name=_model_name(name)) for name in self.models)
        return ModelList(current_model_id=self.model, available_models=models)

    def options(self) -> tuple[SelectOption, ...]:
        """Return all options with their current values; clients replace what they had by this list."""
        modes = tuple(
            SelectValue(value=mode.id, name=mode.name, description=mode.description) for mode in _MODES.values()
        )
        models = tuple(SelectValue(value=name, name=_model_name(name)) for name in self.models)
        return (
            SelectOption(
                id=MODE_OPTION, name="Mode", category="mode", current_value=_MODES[self.edits].id, options=modes
            ),
            SelectOption(id=MODEL_OPTION, name="Model", category="model", current_value=self.model, options=models),
        )


def edits_of(mode_id: str, field: str) -> EditMode:
    """Return how edits are approved in a mode. Raises InvalidParams."""
    edits = _EDITS.get(mode_id)
    if edits is None:
        raise InvalidParams(field, f"there is no mode {mode_id[:100]!r}; there are {', '.join(_EDITS)}")
    return edits


def model_id(provider: str, model: str) -> str:
    """Return the name of a model that means the same whatever provider is in use."""
    return f"{provider}:{model}" if provider else model


def offered_models(config: Config, default: str) -> tuple[str, ...]:
    """Return the models that are configured, the default one first; nothing is asked over the network."""
    named = [model_id(name, model) for name, settings in config.providers.items() for model in settings.models]
    fallbacks = [model_id(one.provider, one.model) for one in config.fallback_providers if one.model]
    return tuple(dict.fromkeys(name for name in (default, *named, *fallbacks) if name))[:MAX_MODELS]


def _model_name(model: str) -> str:
    return model.partition(":")[2] or model
