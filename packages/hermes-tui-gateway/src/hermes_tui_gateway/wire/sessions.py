"""`session.*`: params, results and the rows of a transcript."""

from __future__ import annotations

from typing import Any, Literal

from hermes_tui_gateway.wire.shapes import UNSET, Maybe, Params, Result

LiveStatus = Literal["idle", "working", "waiting"]


class Tokens(Result, frozen=True, kw_only=True):
    """Token counts as status bars read them. `prompt` and `completion` are other names of `input` and `output`."""

    model: str
    input: int
    output: int
    reasoning: int
    prompt: int
    completion: int
    total: int
    calls: int
    cached: int
    estimated: bool
    context_used: Maybe[int] = UNSET
    context_max: Maybe[int] = UNSET
    context_percent: Maybe[int] = UNSET


class TranscriptRow(Result, frozen=True, kw_only=True):
    """One row of a conversation as a host shows it. Tool rows have `name` and `context` and no `row_id`."""

    role: Literal["user", "assistant", "system", "tool"]
    text: Maybe[str] = UNSET
    row_id: Maybe[int] = UNSET
    timestamp: float
    reasoning: Maybe[str] = UNSET
    images: Maybe[int] = UNSET
    """How many images came with the text."""
    name: Maybe[str] = UNSET
    context: Maybe[str] = UNSET
    """One line that says what the call does, at most 80 characters."""
    args: Maybe[dict[str, Any]] = UNSET
    tool_call_id: Maybe[str] = UNSET
    outcome: Maybe[str] = UNSET
    display_kind: Maybe[str] = UNSET


class InfoPayload(Result, frozen=True, kw_only=True):
    """A session's settings and totals: `info` of a result, and the payload of `session.info`."""

    model: str
    provider: str
    reasoning_effort: str
    fast: bool
    yolo: bool
    approval_mode: str
    tools: dict[str, list[str]]
    skills: dict[str, list[str]]
    cwd: str
    branch: str
    project: None = None
    personality: str
    running: bool
    status: LiveStatus
    title: str
    stored_session_id: str
    desktop_contract: int
    version: str
    usage: Tokens
    profile_name: str
    mcp_servers: list[dict[str, Any]]


class SeedRow(Params, frozen=True, kw_only=True):
    """One message of the history that a new session begins with. `content` goes before `text`.

    System rows are kept for the reader's eye; the model does not get them.
    """

    role: Literal["user", "assistant", "system"]
    content: Maybe[str] = UNSET
    text: Maybe[str] = UNSET


class CreateParams(Params, frozen=True, kw_only=True):
    """`session.create`. `model` may be `provider:name`."""

    cols: int = 80
    cwd: str = ""
    title: str = ""
    messages: tuple[SeedRow, ...] = ()
    parent_session_id: str = ""
    model: str = ""
    provider: str = ""
    source: str = ""
    close_on_disconnect: bool = False


class CreateResult(Result, frozen=True, kw_only=True):
    """`session.create`."""

    session_id: str
    stored_session_id: str
    message_count: int
    messages: list[TranscriptRow]
    info: InfoPayload


class ListParams(Params, frozen=True, kw_only=True):
    """`session.list`. `limit` is bounded to 1..1000; `after` is the id of the last row of the page before."""

    limit: int = 200
    after: str = ""


class ListedSession(Result, frozen=True, kw_only=True):
    """A stored session."""

    id: str
    title: str
    preview: str
    started_at: float
    last_active: float
    message_count: int
    source: str


class ListResult(Result, frozen=True, kw_only=True):
    """`session.list`: newest activity first."""

    sessions: list[ListedSession]


class ActiveListParams(Params, frozen=True, kw_only=True):
    """`session.active_list`."""

    current_session_id: str = ""


class ActiveSession(Result, frozen=True, kw_only=True):
    """A live session of this process."""

    id: str
    session_key: str
    title: str
    preview: str
    status: LiveStatus
    model: str
    message_count: int
    started_at: float
    last_active: float
    current: bool


class ActiveListResult(Result, frozen=True, kw_only=True):
    """`session.active_list`: in the order in which the sessions were opened."""

    sessions: list[ActiveSession]


class ResumeParams(Params, frozen=True, kw_only=True):
    """`session.resume`: a stored id, an exact title, or the runtime id of a session that is live."""

    session_id: str = ""
    cols: int = 80
    close_on_disconnect: bool = False


class InflightTurn(Result, frozen=True, kw_only=True):
    """The running turn: the prompt, and what the answer's current step has said so far."""

    user: str
    assistant: str
    reasoning: str
    streaming: bool


class QueuedPrompt(Result, frozen=True, kw_only=True):
    """Prompts that wait for the running turn, joined by blank lines."""

    user: str


class LiveSnapshot(Result, frozen=True, kw_only=True):
    """A session as it is now: what `session.activate` and `session.resume` answer."""

    session_id: str
    session_key: str
    resumed: Maybe[str] = UNSET
    """The stored id, only in the answer of `session.resume`."""
    message_count: int
    messages: list[TranscriptRow]
    messages_omitted: bool
    """Whether there are earlier rows than these; `session.history` has them all."""
    info: InfoPayload
    running: bool
    status: LiveStatus
    started_at: float
    cursor: str
    inflight: InflightTurn | None = None
    queued: Maybe[QueuedPrompt] = UNSET
    open_questions: list[dict[str, Any]]
    """The question events that wait for an answer, each as `{type, payload}`."""


class CloseResult(Result, frozen=True, kw_only=True):
    """`session.close`: false when it was gone already."""

    closed: bool


class HistoryParams(Params, frozen=True, kw_only=True):
    """`session.history`: the newest `limit` stored rows, of those with row ids below `before` (0: of all)."""

    session_id: str = ""
    limit: int = 10_000
    before: int = 0


class HistoryResult(Result, frozen=True, kw_only=True):
    """`session.history`. `count` is the number of stored rows, which may be more than are shown.

    `before` is there while there are earlier rows: the param that gets them.
    """

    count: int
    messages: list[TranscriptRow]
    before: Maybe[int] = UNSET


class TitleParams(Params, frozen=True, kw_only=True):
    """`session.title`: reads without `title`, sets with it."""

    session_id: str = ""
    title: Maybe[str] = UNSET


class TitleResult(Result, frozen=True, kw_only=True):
    """`session.title`."""

    title: str
    session_key: str
    pending: Maybe[bool] = UNSET


class StatusResult(Result, frozen=True, kw_only=True):
    """`session.status`: lines for a person."""

    output: str


class MostRecentResult(Result, frozen=True, kw_only=True):
    """`session.most_recent`: null where nothing is stored."""

    session_id: str | None
    title: Maybe[str] = UNSET
    started_at: Maybe[float] = UNSET
    source: Maybe[str] = UNSET
