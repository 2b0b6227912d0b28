"""Turns: submit a prompt, steer the running one, stop it."""

from __future__ import annotations

from typing import Literal

from hermes_core.commands import Interrupt, Steer, Submit

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
    if cut is not None:
        raise WireError(
            REWIND_FAILED,
            f"This server cannot rewind yet. Nothing was cut before row {cut.row_id}, and no turn was started.",
        )
    parts = parts_of(params.text)
    if not parts:
        raise WireError(BAD_VALUE, "text is empty.")
    if isinstance(params.text, str) and (line := slash.urgent(params.text)) is not None:
        # A prompt waits for the running turn; an answer that the turn waits for must not.
        done = await slash.run(call, session, line)
        return SubmitResult(status="command", output=done.output)
    reply = await session.dispatch(Submit(parts=parts, busy="queue" if params.queued else None))
    return SubmitResult(
        status=_STATUS[reply.status],
        turn_id=reply.turn_id or UNSET,
        user_row_id=UNSET if reply.row_id is None else reply.row_id,
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
