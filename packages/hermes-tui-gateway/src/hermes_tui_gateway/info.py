"""What a session's status bar shows: its settings, tools and token counts."""

from __future__ import annotations

import msgspec
from hermes_core.events import SessionInfo
from hermes_core.session.session import Session
from hermes_core.usage import Usage

from hermes_tui_gateway import __version__
from hermes_tui_gateway.wire.sessions import InfoPayload, Tokens
from hermes_tui_gateway.wire.shapes import UNSET, Maybe

DESKTOP_CONTRACT = 4


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a session's frames say and its events do not know."""

    tools: dict[str, list[str]] = {}
    """Toolset -> names of its tools."""
    approval_mode: str = "manual"
    interim: bool = True
    """Whether `message.interim` is sent (`display.interim_assistant_messages`)."""


def tokens(usage: Usage, model: str = "", context_used: int = 0, context_max: int = 0) -> Tokens:
    """Return token counts for a status bar; what is not known of the context is left out."""
    percent: Maybe[int] = min(100, round(100 * context_used / context_max)) if context_max else UNSET
    return Tokens(
        model=model,
        input=usage.input,
        output=usage.output,
        reasoning=usage.reasoning,
        prompt=usage.input,
        completion=usage.output,
        total=usage.total,
        calls=usage.calls,
        cached=usage.cached,
        estimated=usage.estimated,
        context_used=context_used or UNSET,
        context_max=context_max or UNSET,
        context_percent=percent,
    )


def info_payload(info: SessionInfo, around: Surroundings, reasoning_effort: str = "") -> InfoPayload:
    """Return what `session.info` and the `info` of results say."""
    return InfoPayload(
        model=info.model,
        provider=info.provider,
        reasoning_effort=reasoning_effort,
        fast=False,
        yolo=around.approval_mode == "off",
        approval_mode=around.approval_mode,
        tools=around.tools,
        skills={},
        cwd=info.cwd,
        branch="",
        personality="",
        running=info.state != "idle",
        status=info.state,
        title=info.title,
        stored_session_id=info.stored_id,
        desktop_contract=DESKTOP_CONTRACT,
        version=__version__,
        usage=tokens(info.usage, info.model, info.context_used, info.context_max),
        profile_name="default",
        mcp_servers=[],
    )


def info_of(session: Session, around: Surroundings, model: str = "", provider: str = "") -> InfoPayload:
    """Return the `info` of a live session. `model` and `provider` stand in for what it has not chosen itself."""
    record, endpoint = session.record, session.endpoint
    info = SessionInfo(
        stored_id=record.id,
        title=record.title,
        model=record.model or (endpoint.model if endpoint else model),
        provider=record.provider or (endpoint.provider if endpoint else provider),
        cwd=record.cwd,
        state=session.state,
        usage=session.usage,
        context_used=session.context_used,
        context_max=session.context_max,
    )
    return info_payload(info, around, record.reasoning_effort)
