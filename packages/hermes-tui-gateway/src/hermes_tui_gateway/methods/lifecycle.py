"""Sessions come and go: create, resume, activate, close, and what they are called."""

from __future__ import annotations

from functools import partial

from hermes_core.commands import SetTitle
from hermes_core.errors import HermesError, InvalidInput, NoModelError, SessionNotFound
from hermes_core.messages import AssistantMessage, Message, NoteMessage, StoredMessage, user_text
from hermes_core.session.session import Session
from hermes_core.session.settings import MAX_TITLE
from hermes_core.store.protocol import SessionQuery

from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import (
    BAD_FOLDER,
    BAD_VALUE,
    ID_REQUIRED,
    NOT_STORED,
    TITLE_REJECTED,
    TITLE_REQUIRED,
    TOO_MANY_SESSIONS,
    WireError,
)
from hermes_tui_gateway.snapshot import snapshot_of
from hermes_tui_gateway.transcript import rows_of
from hermes_tui_gateway.wire.events import EventParams, Failure
from hermes_tui_gateway.wire.sessions import (
    CloseResult,
    CreateParams,
    CreateResult,
    LiveSnapshot,
    ResumeParams,
    SeedRow,
    TitleParams,
    TitleResult,
)
from hermes_tui_gateway.wire.shapes import UNSET, SessionParams

MAX_LIVE = 1000
"""Sessions that may be live in one process."""
TITLES_SEARCHED = 1000
"""Of so many sessions, the newest, the title is compared when a session is resumed by its title."""


async def create(call: Call, params: CreateParams) -> CreateResult:
    """Make a live session. Its durable row comes with the first prompt or title."""
    _check_room(call)
    seed = [_seeded(row, index) for index, row in enumerate(params.messages)]
    title = _checked_title(params.title) if params.title else ""
    model = provider = ""
    if params.model or params.provider:
        endpoint = await call.runtime.models.resolve(params.model, params.provider)
        model, provider = endpoint.model, endpoint.provider
    try:
        session = await call.runtime.create(
            source=params.source or "tui",
            cwd=params.cwd,
            title=title,
            model=model,
            provider=provider,
            parent_id=params.parent_session_id,
            seed=seed,
        )
    except InvalidInput as error:
        raise WireError(BAD_FOLDER if error.field == "cwd" else BAD_VALUE, error.message) from error
    call.client.attach(session)
    call.client.after_reply(partial(_introduce, call, session))
    begun = [StoredMessage(row_id=0, created_at=session.started_at, message=message) for message in seed]
    rows = rows_of(begun, call.runtime.tools)
    return CreateResult(
        session_id=session.id,
        stored_session_id=session.stored_id,
        message_count=len(rows),
        messages=rows,
        info=call.gateway.info(session),
    )


async def resume(call: Call, params: ResumeParams) -> LiveSnapshot:
    """Make a stored session live, or attach to it where it is live already."""
    wanted = params.session_id.strip()
    if not wanted:
        raise WireError(ID_REQUIRED, "session_id is required: a stored id, or the exact title of a session.")
    session = call.runtime.sessions.get(wanted)
    if session is None or session.closed:
        session = await _resumed(call, session.stored_id if session else wanted)
    call.client.attach(session)
    call.client.after_reply(partial(_introduce, call, session))
    return snapshot_of(session, call.gateway, resumed=session.stored_id)


async def activate(call: Call, params: SessionParams) -> LiveSnapshot:
    """Attach one more client to a live session."""
    session = call.session(params.session_id)
    call.client.attach(session)
    return snapshot_of(session, call.gateway)


async def close(call: Call, params: SessionParams) -> CloseResult:
    """End a live session for every client. Its history stays."""
    session = call.runtime.sessions.get(params.session_id)
    if session is None:
        return CloseResult(closed=False)
    await call.runtime.close_session(session, "tui_close")
    return CloseResult(closed=True)


async def title(call: Call, params: TitleParams) -> TitleResult:
    """Read the title, or set it."""
    session = call.session(params.session_id)
    if params.title is UNSET:
        return TitleResult(title=session.record.title, session_key=session.stored_id)
    await session.dispatch(SetTitle(_checked_title(params.title)))
    call.client.tell(call.gateway.info_event(session))
    return TitleResult(title=session.record.title, session_key=session.stored_id, pending=False)


def _checked_title(text: str) -> str:
    title = " ".join(text.split())
    if not title:
        raise WireError(TITLE_REQUIRED, "A title is required.")
    if len(title) > MAX_TITLE:
        raise WireError(TITLE_REJECTED, f"The title is longer than {MAX_TITLE} characters.")
    return title


def _seeded(row: SeedRow, index: int) -> Message:
    text = row.text if row.content is UNSET else row.content
    if text is UNSET:
        raise WireError(BAD_VALUE, f"messages[{index}] has neither content nor text.")
    match row.role:
        case "user":
            return user_text(text)
        case "assistant":
            return AssistantMessage(text=text)
        case "system":
            return NoteMessage(text=text, display_kind="system")


def _check_room(call: Call) -> None:
    if len(call.runtime.sessions) >= MAX_LIVE:
        raise WireError(TOO_MANY_SESSIONS, f"{MAX_LIVE} sessions are live in this process; close one first.")


async def _resumed(call: Call, wanted: str) -> Session:
    if call.runtime.find(wanted) is None:
        _check_room(call)
    try:
        return await call.runtime.resume(wanted)
    except SessionNotFound:
        for summary in await call.runtime.store.list_sessions(SessionQuery(limit=TITLES_SEARCHED)):
            if summary.record.title == wanted:
                return await call.runtime.resume(summary.record.id)
    raise WireError(NOT_STORED, f"There is no stored session {wanted[:200]!r}.")


async def _introduce(call: Call, session: Session) -> None:
    """Tell the client which model will answer, or that none can; then load what the first turn needs."""
    record, models = session.record, call.runtime.models
    try:
        endpoint = await models.resolve(record.model, record.provider)
    except NoModelError as error:
        # Hosts look for these words to open their set-up panel.
        failure = Failure(message=f"No inference provider configured. {error.message}", code=error.code)
        call.client.tell(EventParams(type="error", session_id=session.id, payload=failure))
        return
    except HermesError as error:
        failure = Failure(message=error.message, code=error.code)
        call.client.tell(EventParams(type="error", session_id=session.id, payload=failure))
        return
    call.client.tell(call.gateway.info_event(session, endpoint))
    await call.runtime.warm()
