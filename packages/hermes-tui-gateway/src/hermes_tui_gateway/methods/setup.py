"""What a host asks beside the conversation: can anything answer, how wide is the terminal, was a file dropped."""

from __future__ import annotations

from hermes_core.errors import InvalidInput, NoModelError

from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import BAD_VALUE, WireError
from hermes_tui_gateway.wire.settings import DropParams, DropResult, ResizeParams, ResizeResult, SetupStatusResult
from hermes_tui_gateway.wire.shapes import Nothing

MOST_COLUMNS = 10_000


async def status(call: Call, params: Nothing) -> SetupStatusResult:
    """Say whether a model can answer, and if not, what to do about it."""
    try:
        await call.runtime.models.resolve()
    except (NoModelError, InvalidInput) as error:
        return SetupStatusResult(provider_configured=False, message=error.message)
    return SetupStatusResult(provider_configured=True)


async def resize(call: Call, params: ResizeParams) -> ResizeResult:
    """Take note of the terminal's width. Frames hold no text that was laid out for a width, so nothing changes."""
    call.session(params.session_id)
    if not 1 <= params.cols <= MOST_COLUMNS:
        raise WireError(BAD_VALUE, f"cols must be between 1 and {MOST_COLUMNS}.", {"field": "cols"})
    return ResizeResult(cols=params.cols)


async def detect_drop(call: Call, params: DropParams) -> DropResult:
    """Say whether a text is a dropped file. Files cannot be attached yet, so every text is one to be sent."""
    call.session(params.session_id)
    return DropResult(matched=False)
