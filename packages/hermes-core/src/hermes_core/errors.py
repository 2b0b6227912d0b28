"""Every error that the core raises, one tree, each with a code that is the same on every surface.

    HermesError                     (code)
    ├── ConfigError                 config
    ├── NoModelError                no_model
    ├── InvalidInput                invalid_input        names the field
    ├── SessionError
    │   ├── SessionNotFound         session_not_found
    │   ├── SessionBusy             session_busy
    │   ├── SessionHeld             session_held         another process writes it
    │   ├── SessionClosed           session_closed
    │   └── CutRefused              cut_refused          names why: not_found, mismatch, empty
    ├── QuestionError
    │   ├── QuestionNotOpen         question_not_open    unknown, answered, expired or withdrawn
    │   └── AnswerNotOffered        answer_not_offered   decides nothing
    ├── StoreError                  store
    │   ├── StoreBusy               store_busy
    │   └── StoreConflict           store_conflict       the rows are not those that the caller knew
    ├── BudgetExceeded              budget
    ├── TurnFailed                  (the turn's own code)
    ├── ToolFailed                  tool_failed          the model reads the message
    └── ProviderError               provider_error       retryable?, status?, retry_after?
        ├── AuthFailed              auth
        ├── RateLimited             rate_limited
        ├── ProviderUnreachable     provider_unreachable
        ├── StreamBroken            stream_broken        the stream ended before it was finished
        ├── EmptyAnswer             empty_answer
        ├── ContextOverflow         context_overflow
        ├── ContentFiltered         content_filter
        └── Unsupported             unsupported          what the model cannot do (images, tools)

Each transport has one table from these classes to its own codes. Messages are sentences for people; they
never hold a secret.
"""

from __future__ import annotations

from typing import ClassVar, Literal


class HermesError(Exception):
    """Base of every error the core raises. `code` is stable, `str(error)` is a sentence for a person."""

    code: str = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConfigError(HermesError):
    """The configuration cannot be read or is wrong; the message names file, line or key."""

    code = "config"


class NoModelError(HermesError):
    """No model can answer; the message says what to do."""

    code = "no_model"


class InvalidInput(HermesError):
    """A value given by a client is missing or of the wrong kind.

    `field` names it (dotted path), or is empty where no single field is at fault.
    """

    code = "invalid_input"

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class SessionError(HermesError):
    """Base of the errors about one session."""


class SessionNotFound(SessionError):
    """No session has this id, live or stored."""

    code = "session_not_found"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"There is no session {session_id!r}.")
        self.session_id = session_id


class SessionBusy(SessionError):
    """The command needs an idle session and a turn is running."""

    code = "session_busy"


class SessionHeld(SessionError):
    """Another process writes this session; `holder` says which, for people."""

    code = "session_held"

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(f"The session {session_id!r} is in use by {holder}.")
        self.session_id = session_id
        self.holder = holder


CutProblem = Literal["not_found", "mismatch", "empty"]


class CutRefused(SessionError):
    """A rewind was refused and changed nothing.

    `not_found`: no such user row or turn. `mismatch`: row id and ordinal mean different turns. `empty`: nothing
    would be left, and that was not agreed to.
    """

    code = "cut_refused"

    def __init__(self, message: str, problem: CutProblem) -> None:
        super().__init__(message)
        self.problem: CutProblem = problem


class SessionClosed(SessionError):
    """The live session was closed; its history can still be resumed."""

    code = "session_closed"


class QuestionError(HermesError):
    """Base of the errors about answering a question."""


class QuestionNotOpen(QuestionError):
    """The question is unknown, or was answered, expired or withdrawn before."""

    code = "question_not_open"


class AnswerNotOffered(QuestionError):
    """The answer is not among those offered; the question stays open."""

    code = "answer_not_offered"


class StoreError(HermesError):
    """The session store failed; what was acknowledged before is safe."""

    code = "store"


class StoreBusy(StoreError):
    """Another process held the store's write lock for longer than we wait."""

    code = "store_busy"


class StoreConflict(StoreError):
    """The rows of a session are not those that the caller knew; nothing was written."""

    code = "store_conflict"


class BudgetExceeded(HermesError):
    """A limit of the turn was reached; `limit` names it (`steps`, `tokens`, `time`)."""

    code = "budget"

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class ToolFailed(HermesError):
    """A tool could not do what it was asked; the message tells the model what is wrong and what would help."""

    code = "tool_failed"


class TurnFailed(HermesError):
    """A turn ended without an answer; raised only by the embedding face, everywhere else it is an event.

    `code` is the turn's code (`auth`, `rate_limited`, `truncated`, ...), `text` what the model had said before.
    """

    def __init__(self, message: str, code: str, text: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.text = text


class ProviderError(HermesError):
    """The model provider failed.

    `retryable` says whether the same request may succeed later; `status` is the HTTP status where there was
    one; `retry_after` is the provider's own wish in seconds.
    """

    code = "provider_error"
    retryable_by_default: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.retryable = self.retryable_by_default if retryable is None else retryable


class AuthFailed(ProviderError):
    """The provider refused the key."""

    code = "auth"


class RateLimited(ProviderError):
    """The provider asks us to slow down, or the account has no credit left."""

    code = "rate_limited"
    retryable_by_default = True


class ProviderUnreachable(ProviderError):
    """No connection, or no byte within the time allowed."""

    code = "provider_unreachable"
    retryable_by_default = True


class StreamBroken(ProviderError):
    """The answer stopped before the provider said that it was finished."""

    code = "stream_broken"
    retryable_by_default = True


class EmptyAnswer(ProviderError):
    """The provider finished with neither text nor a tool call."""

    code = "empty_answer"
    retryable_by_default = True


class ContextOverflow(ProviderError):
    """The conversation is longer than the model can read."""

    code = "context_overflow"


class ContentFiltered(ProviderError):
    """The provider's content filter refused the request or cut the answer."""

    code = "content_filter"


class Unsupported(ProviderError):
    """The model cannot do what the request needs, such as reading images."""

    code = "unsupported"
