"""The tool `clarify`: a question to the person, answered in words or by one of a few choices."""

from __future__ import annotations

import time
from typing import Annotated

import msgspec
from msgspec import Meta

from hermes_core import ids
from hermes_core.questions import Clarify, ClarifyAnswer, ClarifyItem
from hermes_core.tools.tool import ToolContext, ToolResult

PATIENCE = 3600.0
"""Seconds that a question waits for a person, where no other time is set."""
NOBODY = "Nobody answered. Go on with the most sensible assumption, and say which one you made."


class ClarifyArgs(msgspec.Struct, frozen=True):
    """Arguments of `clarify`."""

    question: Annotated[str, Meta(description="One question.", min_length=1, max_length=2000)]
    choices: Annotated[
        list[Annotated[str, Meta(max_length=200)]],
        Meta(description="Up to 6 answers to choose from; free text is possible all the same.", max_length=6),
    ] = []


class Clarifying:
    """The tool with its setting: `patience` is in seconds, 0 for ever; then the agent goes on without an answer."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience

    async def run(self, args: ClarifyArgs, ctx: ToolContext) -> ToolResult:
        """Run `clarify`."""
        item = ClarifyItem(id="answer", question=args.question, choices=tuple(args.choices))
        question = Clarify(
            id=ids.request_id(),
            turn_id=ctx.turn_id,
            tool_call_id=ctx.tool_call_id,
            deadline=time.time() + self._patience if self._patience else 0.0,
            items=(item,),
        )
        answer = await ctx.ask(question)
        if not isinstance(answer, ClarifyAnswer):
            return ToolResult(NOBODY)
        text = answer.answers.get(item.id, "").strip()
        return ToolResult(f"The user answered: {text}" if text else NOBODY)
