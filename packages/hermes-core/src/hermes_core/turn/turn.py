"""A turn: what was asked, how it is stopped, and how its end is told. Pure data and decisions, no I/O."""

from __future__ import annotations

import anyio

from hermes_core import ids
from hermes_core.commands import Submit
from hermes_core.errors import HermesError, ProviderError
from hermes_core.events import MessageComplete
from hermes_core.messages import AssistantMessage
from hermes_core.turn.steering import Steering
from hermes_core.usage import Usage


class Turn:
    """One turn from admission to `over`.

    `admitted` is set when its user row is stored (or `failure` says why not); `over` when `message.complete`
    was published. `interrupt` cancels its one scope; what must still be written is shielded from that.
    """

    def __init__(self, command: Submit) -> None:
        self.id = command.turn_id or ids.turn_id()
        self.command = command
        self.steering = Steering()
        self.scope = anyio.CancelScope()
        self.interrupted = False
        self.queued = False
        self.row_id = 0
        self.survivors: tuple[int, ...] | None = None
        self.failure: HermesError | None = None
        self.admitted = anyio.Event()
        self.over = anyio.Event()
        self.usage = Usage()
        self.context_used = 0

    def interrupt(self) -> None:
        """Stop the turn; harmless when it is over."""
        self.interrupted = True
        self.scope.cancel()


def completed(turn: Turn, answer: AssistantMessage, row_id: int) -> MessageComplete:
    """Return the end of a turn whose last answer is whole; one that was cut is an error that keeps its text."""
    end = MessageComplete(status="complete", text=answer.text, reasoning=answer.reasoning, finish=answer.finish)
    end.row_id = row_id
    match answer.finish:
        case "length":
            end.status, end.code, end.partial = "error", "truncated", True
            end.error = "The answer was cut off at the model's output limit."
        case "content_filter":
            end.status, end.code, end.partial = "error", "content_filter", True
            end.error = "The provider's content filter stopped the answer."
        case "stop" | "tool_calls" | "interrupted" | "error":
            pass
    return _stamped(turn, end)


def failed(turn: Turn, error: HermesError, partial: AssistantMessage | None, row_id: int) -> MessageComplete:
    """Return the end of a turn that `error` stopped."""
    text = partial.text if partial else ""
    end = MessageComplete(status="error", text=text, error=error.message, code=error.code, finish="error")
    end.partial = bool(text)
    end.row_id = row_id
    return _stamped(turn, end)


def interrupted(turn: Turn, partial: AssistantMessage | None, row_id: int) -> MessageComplete:
    """Return the end of a turn that a person or a closing session stopped."""
    text = partial.text if partial else ""
    end = MessageComplete(status="interrupted", text=text, code="interrupted", finish="interrupted")
    end.partial = bool(text)
    end.row_id = row_id
    return _stamped(turn, end)


def may_retry(error: ProviderError, attempt: int, *, shown: bool) -> bool:
    """Say whether a model call may be made again: only while nobody has seen a part of its answer.

    The provider layer has retried what fails before the first byte; here it is about streams that were empty or
    broke before they said anything, twice at the most.
    """
    return not shown and attempt < 2 and error.code in {"stream_broken", "empty_answer"}


def _stamped(turn: Turn, end: MessageComplete) -> MessageComplete:
    end.turn_id = turn.id
    end.usage = turn.usage
    end.pending_steer = turn.steering.leftover()
    return end
