"""A live session as one result: what a client that attaches has to know before the first event."""

from __future__ import annotations

from hermes_core.content import text_of
from hermes_core.session.session import Session
from hermes_core.session.snapshot import Inflight

from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.questions import open_questions
from hermes_tui_gateway.transcript import newest, rows_of
from hermes_tui_gateway.wire.sessions import InflightTurn, LiveSnapshot, QueuedPrompt
from hermes_tui_gateway.wire.shapes import UNSET, Maybe


def snapshot_of(session: Session, gateway: Gateway, resumed: Maybe[str] = UNSET) -> LiveSnapshot:
    """Return `session` as it is now. The events after its `cursor` are the ones still to come."""
    now = session.snapshot()
    page, more = newest(now.messages)
    rows = rows_of(page, gateway.runtime.tools)
    return LiveSnapshot(
        session_id=session.id,
        session_key=session.stored_id,
        resumed=resumed,
        message_count=len(rows),
        messages=rows,
        messages_omitted=more,
        info=gateway.info(session),
        running=now.state != "idle",
        status=now.state,
        started_at=now.started_at,
        cursor=now.cursor,
        inflight=_inflight(now.inflight) if now.inflight else None,
        queued=QueuedPrompt(user="\n\n".join(now.queue)) if now.queue else UNSET,
        open_questions=open_questions(now.questions),
    )


def _inflight(turn: Inflight) -> InflightTurn:
    return InflightTurn(user=text_of(turn.user), assistant=turn.text, reasoning=turn.reasoning, streaming=True)
