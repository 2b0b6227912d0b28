"""Looking at sessions: the stored ones, the live ones, and one of them from several sides."""

from __future__ import annotations

import time

from hermes_core.content import text_of
from hermes_core.messages import AssistantMessage, UserMessage
from hermes_core.session.session import Session
from hermes_core.store.protocol import SessionQuery, SessionSummary

from hermes_tui_gateway.call import Call
from hermes_tui_gateway.info import tokens
from hermes_tui_gateway.transcript import newest, rows_of
from hermes_tui_gateway.wire.sessions import (
    ActiveListParams,
    ActiveListResult,
    ActiveSession,
    HistoryParams,
    HistoryResult,
    ListedSession,
    ListParams,
    ListResult,
    MostRecentResult,
    StatusResult,
    Tokens,
)
from hermes_tui_gateway.wire.shapes import UNSET, Nothing, SessionParams

MOST_LISTED = 1000
PREVIEW_LIMIT = 160


async def stored(call: Call, params: ListParams) -> ListResult:
    """List the stored sessions, newest activity first."""
    query = SessionQuery(limit=max(1, min(params.limit, MOST_LISTED)), after=params.after)
    found = await call.runtime.store.list_sessions(query)
    return ListResult(sessions=[_listed(summary) for summary in found])


async def most_recent(call: Call, params: Nothing) -> MostRecentResult:
    """Name the stored session with the newest activity."""
    found = await call.runtime.store.list_sessions(SessionQuery(limit=1))
    if not found:
        return MostRecentResult(session_id=None)
    record = found[0].record
    return MostRecentResult(
        session_id=record.id, title=record.title, started_at=record.created_at, source=record.source
    )


async def live(call: Call, params: ActiveListParams) -> ActiveListResult:
    """List the sessions that are open in this process."""
    sessions = call.runtime.sessions.values()
    return ActiveListResult(sessions=[_active(call, session, params.current_session_id) for session in sessions])


async def history(call: Call, params: HistoryParams) -> HistoryResult:
    """Return the conversation, or one page of it."""
    session = call.session(params.session_id)
    page, more = newest(session.rows, params.limit, params.before)
    return HistoryResult(
        count=len(session.rows),
        messages=rows_of(page, call.runtime.tools),
        before=page[0].row_id if more else UNSET,
    )


async def usage(call: Call, params: SessionParams) -> Tokens:
    """Return the session's token counts."""
    session = call.session(params.session_id)
    model = call.gateway.info(session).model
    return tokens(session.usage, model, session.context_used, session.context_max)


async def status(call: Call, params: SessionParams) -> StatusResult:
    """Describe the session in lines for a person."""
    return StatusResult(output=status_text(call, call.session(params.session_id)))


def status_text(call: Call, session: Session) -> str:
    """Return a session's facts, one a line."""
    info = call.gateway.info(session)
    model = f"{info.model} ({info.provider})" if info.provider else info.model
    facts = {
        "Session": session.stored_id,
        "Title": info.title or "(none)",
        "Model": model or "(not chosen yet)",
        "Folder": info.cwd,
        "Home": str(call.runtime.config.home),
        "Created": _moment(session.record.created_at),
        "Last active": _moment(session.last_active),
        "Messages": str(len(session.rows)),
        "Tokens": f"{session.usage.total:,} in {session.usage.calls:,} calls",
        "Running": {"idle": "no", "working": "yes", "waiting": "yes, it waits for an answer"}[session.state],
    }
    return "\n".join(f"{name}: {value}" for name, value in facts.items())


def usage_text(session: Session) -> str:
    """Return a session's token counts in one line for a person."""
    used = session.usage
    about = "about " if used.estimated else ""
    return f"{about}{used.input:,} tokens in, {used.output:,} out, {used.calls:,} model calls"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def _listed(summary: SessionSummary) -> ListedSession:
    record = summary.record
    return ListedSession(
        id=record.id,
        title=record.title,
        preview=summary.preview,
        started_at=record.created_at,
        last_active=summary.updated_at or record.created_at,
        message_count=summary.message_count,
        source=record.source,
    )


def _active(call: Call, session: Session, current: str) -> ActiveSession:
    return ActiveSession(
        id=session.id,
        session_key=session.stored_id,
        title=session.record.title,
        preview=_preview(session),
        status=session.state,
        model=call.gateway.info(session).model,
        message_count=sum(isinstance(row.message, UserMessage | AssistantMessage) for row in session.rows),
        started_at=session.started_at,
        last_active=session.last_active,
        current=session.id == current,
    )


def _preview(session: Session) -> str:
    """Return what best reminds a person of the session: what waits, else what is being said, else the last text."""
    now = session.snapshot()
    if now.queue:
        text = "\n\n".join(now.queue)
    elif now.inflight:
        text = now.inflight.text or text_of(now.inflight.user)
    else:
        said = (row.message for row in reversed(now.messages))
        text = next((m.text for m in said if isinstance(m, UserMessage | AssistantMessage) and m.text), "")
    return " ".join(text[: 4 * PREVIEW_LIMIT].split())[:PREVIEW_LIMIT]
