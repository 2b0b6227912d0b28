"""`/model` and its kin: reading which model is wanted and for how long, and switching to it."""

from __future__ import annotations

from typing import Literal

import anyio.to_thread
import msgspec
from hermes_core.commands import SetModel
from hermes_core.config.edit import set_value
from hermes_core.session.session import Session

from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import BAD_VALUE, WireError

Scope = Literal["session", "global"]


class Wish(msgspec.Struct, frozen=True):
    """A wanted model, as `name` or `provider:name`, and whether for the session or for all to come.

    `provider` is the one that was named on its own, if one was.
    """

    model: str
    provider: str = ""
    scope: Scope = "session"


def read_wish(text: str) -> Wish:
    """Read `<model> [--provider name] [--session | --global] [--refresh]`. Raises WireError 4002."""
    words = text.split()
    models: list[str] = []
    provider = ""
    scope: Scope = "session"
    while words:
        word = words.pop(0)
        match word:
            case "--global":
                scope = "global"
            case "--session" | "--refresh":
                pass  # the session is the default; nothing is cached that had to be refreshed
            case "--provider" if words:
                provider = words.pop(0)
            case _ if word.startswith("-"):
                raise WireError(
                    BAD_VALUE, f"{word} is not understood. Usage: /model <model> [--provider name] [--global]"
                )
            case _:
                models.append(word)
    if len(models) != 1:
        what = "One model is wanted, not several." if models else "The name of a model is required."
        raise WireError(BAD_VALUE, f"{what} Usage: /model <model> [--provider name] [--global]")
    return Wish(models[0], provider, scope)


async def switch(call: Call, session: Session | None, wish: Wish) -> tuple[str, str, Scope]:
    """Switch, and return the model's name, its provider and the scope that it holds for.

    A running turn ends with the model it began with. Without a session the switch is global. Raises HermesError.
    """
    scope: Scope = "global" if session is None else wish.scope
    model, provider = wish.model, wish.provider
    if provider or session is None:
        endpoint = await call.runtime.models.resolve(model, provider)
        model, provider = endpoint.model, endpoint.provider
    if session is not None:
        await session.dispatch(SetModel(f"{provider}:{model}" if provider else model))
        model, provider = session.record.model, session.record.provider
    if scope == "global":
        home = call.runtime.config.home
        await anyio.to_thread.run_sync(set_value, home, "model.default", model)
        await anyio.to_thread.run_sync(set_value, home, "model.provider", provider)
        await call.gateway.reload_config()
    return model, provider, scope


def described(call: Call, session: Session | None) -> str:
    """Return the present model in words."""
    if session is None:
        settings = call.runtime.config.model
        model, provider = settings.default, settings.provider
    else:
        info = call.gateway.info(session)
        model, provider = info.model, info.provider
    if not model:
        return "No model is chosen; the first one that is found answers."
    return f"Current model: {model} ({provider})" if provider else f"Current model: {model}"
