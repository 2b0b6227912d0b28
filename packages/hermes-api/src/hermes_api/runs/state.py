"""The state machine of a run's status. Pure: a status and what happened in, the next status out.

    queued -> running -> waiting_for_approval -> running -> completed | failed
    queued | running | waiting_for_approval -> stopping -> cancelled (or completed | failed, if that came first)
    whatever has not ended -> interrupted, when the process that ran it is gone

A status that has ended never changes again.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec
from hermes_core.events import MessageComplete
from msgspec import UNSET
from msgspec.structs import replace

from hermes_api.encode.runs import RunEvent
from hermes_api.wire.runs import RunStatus, Status, run_usage

LOST = "The server stopped before this run was finished."


def moved(status: RunStatus, to: Status, approval: bytes | None = None) -> RunStatus:
    """Return a status that is `to` now: running, waiting (for `approval`) or stopping. Stopping only ends."""
    if status.over or (status.status == "stopping" and to != "stopping"):
        return status
    return replace(
        status,
        status=to,
        approval=UNSET if approval is None else msgspec.Raw(approval),
        last_event="run.stopping" if to == "stopping" else status.last_event,
        updated_at=time.time(),
    )


def noted(status: RunStatus, event: RunEvent, approval: bytes | None) -> RunStatus:
    """Return the status after an event of the stream; `approval` is the oldest one that waits, None if none does."""
    if status.over or event.name in ("message.delta", "reasoning.delta"):
        return status
    status = replace(status, last_event=event.name, updated_at=event.time)
    if event.name not in ("approval.request", "approval.responded", "approval.expire"):
        return status
    return moved(status, "running" if approval is None else "waiting_for_approval", approval)


def ended(status: RunStatus, end: MessageComplete, error: str, *, stopped: str) -> RunStatus:
    """Return the status of a run whose turn is over.

    `error` is what a client may read of the turn's error; `stopped` says who stopped it, empty when nobody did.
    """
    status = replace(
        status,
        approval=UNSET,
        completed=False,
        partial=False,
        interrupted=False,
        pending_steer=end.pending_steer,
        updated_at=time.time(),
    )
    if end.status == "interrupted":
        reason = stopped or "interrupted_by_user"
        return _named(replace(status, status="cancelled", interrupted=True, turn_exit_reason=reason, code=end.code))
    usage = run_usage(end.usage) if end.usage.calls else UNSET
    if end.status == "complete":
        return _named(replace(status, status="completed", completed=True, output=end.text, usage=usage))
    return _named(
        replace(
            status,
            status="failed",
            partial=end.partial,
            output=end.text or UNSET,
            usage=usage,
            error=error,
            code=end.code,
            turn_exit_reason=end.code,
        )
    )


def lost(status: RunStatus) -> RunStatus:
    """Return the status of a run whose process ended before it did."""
    return _named(
        replace(
            status,
            status="interrupted",
            approval=UNSET,
            completed=False,
            partial=False,
            interrupted=True,
            error=LOST,
            code="interrupted",
            turn_exit_reason="server_stopped",
            updated_at=time.time(),
        )
    )


def last_event(status: RunStatus) -> RunEvent:
    """Return the event that tells how a run ended: `run.` and its status, with what the status says of the end."""
    fields: dict[str, Any] = {
        name: value
        for name in (
            "output",
            "usage",
            "error",
            "code",
            "pending_steer",
            "completed",
            "partial",
            "interrupted",
            "turn_exit_reason",
        )
        if (value := getattr(status, name)) is not UNSET and value != ""
    }
    return RunEvent(status.last_event, fields, status.updated_at)


def _named(status: RunStatus) -> RunStatus:
    return replace(status, last_event=f"run.{status.status}")
