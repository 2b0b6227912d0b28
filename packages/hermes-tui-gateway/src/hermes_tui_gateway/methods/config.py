"""Settings: reading them, without their secrets, and changing those that work here."""

from __future__ import annotations

from typing import Any, cast, get_args

import anyio.to_thread
from hermes_core.commands import BusyMode
from hermes_core.config.edit import set_value
from hermes_core.config.redaction import redact_settings, secrets_of
from hermes_core.config.settings import ApprovalMode, Config
from hermes_core.runtime import checked_cwd
from hermes_core.session.session import Session

from hermes_tui_gateway import model_choice
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import BAD_FOLDER, BAD_VALUE, WireError
from hermes_tui_gateway.wire.settings import ConfigGetParams, ConfigGetResult, ConfigSetParams, ConfigSetResult

BUSY_MODES: tuple[str, ...] = get_args(BusyMode)
APPROVAL_MODES: tuple[str, ...] = get_args(ApprovalMode)


async def get(call: Call, params: ConfigGetParams) -> ConfigGetResult:
    """Read one setting, or with `full` all of them, secrets masked."""
    session = _session(call, params.session_id)
    if params.key == "mtime":
        return ConfigGetResult(mtime=call.gateway.config_mtime())
    config = await call.gateway.refresh_config()
    match params.key:
        case "full":
            return ConfigGetResult(config=cast("dict[str, Any]", redact_settings(config.raw, secrets_of(config))))
        case "model":
            return ConfigGetResult(value=call.gateway.info(session).model if session else config.model.default)
        case "busy":
            return ConfigGetResult(value=config.display.busy_input_mode)
        case "approval_mode" | "approvals.mode":
            return ConfigGetResult(value=config.approvals.mode)
        case "cwd" | "terminal.cwd" | "workdir":
            return ConfigGetResult(value=session.record.cwd if session else config.terminal.cwd)
        case "profile":
            return ConfigGetResult(home=str(config.home), display="default")
        case _:
            raise _unknown(params.key)


async def set_(call: Call, params: ConfigSetParams) -> ConfigSetResult:
    """Change one setting."""
    session = _session(call, params.session_id)
    config = await call.gateway.refresh_config()
    value = params.value.strip()
    match params.key:
        case "model":
            return await _set_model(call, session, params)
        case "busy":
            if value in ("", "status"):
                return ConfigSetResult(key="busy", value=config.display.busy_input_mode)
            await _write(call, config, "display.busy_input_mode", _one_of(value, BUSY_MODES))
            return ConfigSetResult(key="busy", value=value)
        case "approval_mode" | "approvals.mode":
            await _write(call, config, "approvals.mode", _one_of(value, APPROVAL_MODES))
            for live in call.runtime.sessions.values():
                call.client.tell(call.gateway.info_event(live))
            return ConfigSetResult(key="approvals.mode", value=value)
        case "cwd" | "terminal.cwd" | "workdir":
            folder = _folder(value)
            await _write(call, config, "terminal.cwd", folder)
            return ConfigSetResult(key="terminal.cwd", value=folder)
        case _:
            raise _unknown(params.key)


async def _set_model(call: Call, session: Session | None, params: ConfigSetParams) -> ConfigSetResult:
    wish = model_choice.read_wish(params.value + (" --global" if params.scope == "global" else ""))
    model, _, scope = await model_choice.switch(call, session, wish)
    return ConfigSetResult(
        key="model", value=model, scope=scope, warning="", confirm_required=False, confirm_message=""
    )


async def _write(call: Call, config: Config, key: str, value: str) -> None:
    await anyio.to_thread.run_sync(set_value, config.home, key, value)
    await call.gateway.reload_config()


def _session(call: Call, session_id: str) -> Session | None:
    return call.session(session_id) if session_id else None


def _one_of(value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise WireError(BAD_VALUE, f"value must be one of {', '.join(allowed)}.", {"field": "value"})
    return value


def _folder(value: str) -> str:
    from hermes_core.errors import InvalidInput

    try:
        return checked_cwd(value)
    except InvalidInput as error:
        raise WireError(BAD_FOLDER, error.message, {"field": "value"}) from error


def _unknown(key: str) -> WireError:
    return WireError(BAD_VALUE, f"There is no setting {key[:80]!r} here.", {"field": "key"})
