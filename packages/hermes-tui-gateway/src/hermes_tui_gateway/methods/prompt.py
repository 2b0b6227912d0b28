"""Turns: submit a prompt, steer the running one, stop it."""

from __future__ import annotations

from typing import Literal

from hermes_core.commands import Interrupt, Steer, Submit
from hermes_core.errors import StoreError

from hermes_tui_gateway import slash
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import BAD_VALUE, REWIND_FAILED, WireError
from hermes_tui_gateway.decode import parts_of
from hermes_tui_gateway.rewind import wanted_cut
from hermes_tui_gateway.wire.shapes import UNSET, SessionParams
from hermes_tui_gateway.wire.turns import InterruptResult, SteerParams, SteerResult, SubmitParams, SubmitResult

_STATUS: dict[str, Literal["streaming", "queued", "steered"]] = {
    "started": "streaming",
    "queued": "queued",
    "steered": "steered",
}


async def submit(call: Call, params: SubmitParams) -> SubmitResult:
    """Begin a turn; while one runs, do what the busy mode says. The sender sees the session's events from now on."""
    session = call.session(params.session_id)
    call.client.attach(session)
    cut = wanted_cut(params, session.rows, running=bool(session.turn_id))
    parts = parts_of(params.text)
    if not parts:
        raise WireError(BAD_VALUE, "text is empty.")
    if isinstance(params.text, str) and (line := slash.urgent(params.text)) is not None:
        # A prompt waits for the running turn; an answer that the turn waits for must not.
        done = await slash.run(call, session, line)
        return SubmitResult(status="command", output=done.output)
    try:
        reply = await session.dispatch(Submit(parts=parts, busy="queue" if params.queued else None, cut=cut))
    except StoreError as error:
        if cut is None:
            raise
        raise WireError(REWIND_FAILED, f"Nothing was cut, and no turn was started. {error.message}") from error
    return SubmitResult(
        status=_STATUS[reply.status],
        turn_id=reply.turn_id or UNSET,
        user_row_id=UNSET if reply.row_id is None else reply.row_id,
        survivor_user_row_ids=UNSET if reply.survivors is None else list(reply.survivors),
    )


async def steer(call: Call, params: SteerParams) -> SteerResult:
    """Give the running turn a text to read after its next tools."""
    text = params.text.strip()
    if not text:
        raise WireError(BAD_VALUE, "text is empty.")
    reply = await call.session(params.session_id).dispatch(Steer(text))
    return SteerResult(status=reply.status, text=text)


async def interrupt(call: Call, params: SessionParams) -> InterruptResult:
    """Stop the running turn and drop the prompts that wait; answered when it is over."""
    reply = await call.session(params.session_id).dispatch(Interrupt())
    return InterruptResult(interrupted=reply.interrupted)
