"""Settings, commands, set-up and the terminal: everything beside the conversation itself."""

from __future__ import annotations

from typing import Any, Literal

from hermes_tui_gateway.wire.shapes import UNSET, Maybe, Params, Result


class ConfigGetParams(Params, frozen=True, kw_only=True):
    """`config.get`."""

    key: str = ""
    session_id: str = ""


class ConfigGetResult(Result, frozen=True, kw_only=True):
    """`config.get`: which field is there depends on the key; `value` for most."""

    value: Maybe[Any] = UNSET
    config: Maybe[dict[str, Any]] = UNSET
    mtime: Maybe[float] = UNSET
    home: Maybe[str] = UNSET
    display: Maybe[str] = UNSET
    cwd: Maybe[str] = UNSET
    branch: Maybe[str] = UNSET


class ConfigSetParams(Params, frozen=True, kw_only=True):
    """`config.set`."""

    key: str = ""
    value: str = ""
    session_id: str = ""
    scope: Literal["", "session", "global"] = ""
    confirm_expensive_model: bool = False


class ConfigSetResult(Result, frozen=True, kw_only=True):
    """`config.set`: `value` is what holds now. The last four come with `model`."""

    key: str
    value: str
    scope: Maybe[str] = UNSET
    warning: Maybe[str] = UNSET
    confirm_required: Maybe[bool] = UNSET
    confirm_message: Maybe[str] = UNSET


class DispatchParams(Params, frozen=True, kw_only=True):
    """`command.dispatch`: `command` is a whole line such as `/model X`; or `name` and `arg`."""

    name: str = ""
    arg: str = ""
    command: str = ""
    session_id: str = ""


class SlashParams(Params, frozen=True, kw_only=True):
    """`slash.exec`: a command line, with or without its slash."""

    command: str = ""
    session_id: str = ""


class CommandResult(Result, frozen=True, kw_only=True):
    """What a command did: print `output`, submit `message`, or put it into the composer.

    `slash.exec` leaves `type` out where it only prints.
    """

    type: Maybe[Literal["exec", "send", "prefill"]] = UNSET
    output: Maybe[str] = UNSET
    message: Maybe[str] = UNSET
    notice: Maybe[str] = UNSET
    warning: Maybe[str] = UNSET


class CatalogCategory(Result, frozen=True, kw_only=True):
    """The commands of one category."""

    name: str
    pairs: list[tuple[str, str]]


class CatalogResult(Result, frozen=True, kw_only=True):
    """`commands.catalog`: `pairs` of `/name` and description; `canon` from every name and alias to its command."""

    pairs: list[tuple[str, str]]
    sub: dict[str, list[str]]
    canon: dict[str, str]
    categories: list[CatalogCategory]
    skill_count: int
    warning: str


class CompleteSlashParams(Params, frozen=True, kw_only=True):
    """`complete.slash`: what stands in the composer."""

    text: str = ""


class Completion(Result, frozen=True, kw_only=True):
    """One proposal."""

    text: str
    display: str
    meta: str


class CompletionResult(Result, frozen=True, kw_only=True):
    """`complete.slash`: each item's text replaces what was typed from `replace_from` on."""

    items: list[Completion]
    replace_from: int


class SetupStatusResult(Result, frozen=True, kw_only=True):
    """`setup.status`: whether a model can answer; `message` says what to do when none can."""

    provider_configured: bool
    message: Maybe[str] = UNSET


class ResizeParams(Params, frozen=True, kw_only=True):
    """`terminal.resize`."""

    session_id: str = ""
    cols: int = 80


class ResizeResult(Result, frozen=True, kw_only=True):
    """`terminal.resize`."""

    cols: int


class DropParams(Params, frozen=True, kw_only=True):
    """`input.detect_drop`."""

    session_id: str = ""
    text: str = ""


class DropResult(Result, frozen=True, kw_only=True):
    """`input.detect_drop`: whether the text was taken as a dropped file."""

    matched: bool
