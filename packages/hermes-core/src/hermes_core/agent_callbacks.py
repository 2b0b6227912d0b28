"""Callbacks of the embedding face: thin adapters over the event stream, which is the real interface."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import anyio.to_thread
import msgspec

from hermes_core.commands import AnswerQuestion
from hermes_core.errors import QuestionNotOpen, SessionClosed
from hermes_core.events import (
    ApprovalRequest,
    ClarifyRequest,
    Event,
    MessageDelta,
    ReasoningDelta,
    SecretRequest,
    StatusUpdate,
    StepDone,
    SudoRequest,
    ToolComplete,
    ToolProgress,
    ToolStart,
)
from hermes_core.questions import Answer, ApprovalAnswer, Clarify, ClarifyAnswer, SecretAnswer, SudoAnswer
from hermes_core.session.session import Session


class Callbacks(msgspec.Struct, frozen=True, kw_only=True):
    """What the embedding program wants to be called with; None = not at all.

    A question that no callback can answer is answered with its harmless answer at once, unless the program said
    that it answers by itself (`approve`).
    """

    delta: Callable[[str], Any] | None = None
    tool_start: Callable[[str, str, dict[str, Any]], Any] | None = None
    tool_complete: Callable[[str, str, dict[str, Any], str], Any] | None = None
    tool_progress: Callable[[str, str], Any] | None = None
    reasoning: Callable[[str], Any] | None = None
    clarify: Callable[[str, list[str]], str] | None = None
    step: Callable[[int], Any] | None = None
    status: Callable[[str, str], Any] | None = None
    approve: bool = False

    async def call(self, event: Event, session: Session) -> None:
        """Call what wants to know of `event`."""
        match event:
            case MessageDelta() if self.delta:
                self.delta(event.text)
            case ReasoningDelta() if self.reasoning:
                self.reasoning(event.text)
            case ToolStart() if self.tool_start:
                self.tool_start(event.tool_call_id, event.name, event.args)
            case ToolComplete() if self.tool_complete:
                self.tool_complete(event.tool_call_id, event.name, event.args, event.result)
            case ToolProgress() if self.tool_progress:
                self.tool_progress(event.name, event.text)
            case StepDone() if self.step:
                self.step(event.step)
            case StatusUpdate() if self.status:
                self.status(event.kind, event.text)
            case ClarifyRequest() if self.clarify:
                await self._answer(session, event.question.id, await self._clarified(event.question))
            case ApprovalRequest() if not self.approve:
                await self._answer(session, event.question.id, ApprovalAnswer("deny"))
            case SudoRequest() if not self.approve:
                await self._answer(session, event.question.id, SudoAnswer(""))
            case SecretRequest() if not self.approve:
                await self._answer(session, event.question.id, SecretAnswer(""))
            case _:
                pass

    async def _clarified(self, question: Clarify) -> ClarifyAnswer:
        assert self.clarify is not None
        answers: dict[str, str] = {}
        for item in question.items:
            answers[item.id] = await anyio.to_thread.run_sync(self.clarify, item.question, list(item.choices))
        return ClarifyAnswer(answers)

    async def _answer(self, session: Session, request_id: str, answer: Answer) -> None:
        # Late where the turn was stopped, or the time was over, while the program thought about it.
        with contextlib.suppress(QuestionNotOpen, SessionClosed):
            await session.dispatch(AnswerQuestion(request_id, answer))
