"""The model step: one call of the model, its deltas published as they come, its answer stored when it is whole."""

from __future__ import annotations

from typing import assert_never

from hermes_core.errors import ProviderError
from hermes_core.events import MessageDelta, MessageInterim, ReasoningDelta, StatusUpdate, StepDone, ToolGenerating
from hermes_core.messages import AssistantMessage, StoredMessage
from hermes_core.models.provider import (
    CallDelta,
    Endpoint,
    ModelDelta,
    ModelRequest,
    ModelStream,
    Provider,
    TextDelta,
    ThinkingDelta,
    ToolSpec,
)
from hermes_core.turn.prompt import system_prompt
from hermes_core.turn.turn import Turn, may_retry
from hermes_core.turn.workbench import Workbench


class ModelStep:
    """Makes the model calls of one turn. `partial` is what the running call has said so far."""

    def __init__(
        self,
        bench: Workbench,
        turn: Turn,
        endpoint: Endpoint,
        provider: Provider,
        specs: tuple[ToolSpec, ...],
    ) -> None:
        self._bench = bench
        self._turn = turn
        self._endpoint = endpoint
        self._provider = provider
        self._specs = specs
        self._stream: ModelStream | None = None
        self._shown = False

    @property
    def partial(self) -> AssistantMessage | None:
        """What has been said in a call that did not end, None when there is no such call or it said nothing."""
        said = self._stream.partial if self._stream else None
        return said if said and (said.text or said.reasoning) else None

    async def run(self, number: int) -> tuple[AssistantMessage, list[StoredMessage]]:
        """Call the model and store its answer; return it with its rows, the answer's own first."""
        answer = await self._answer(self._request())
        rows = await self._bench.transcript.add_step(answer)
        self._stream = None
        self._tell(number, answer, rows[0].row_id)
        return answer, rows

    def _request(self) -> ModelRequest:
        bench, turn = self._bench, self._turn
        return ModelRequest(
            model=self._endpoint.model,
            system=system_prompt(cwd=str(bench.cwd), tools=bool(self._specs), extra=turn.command.system),
            messages=bench.transcript.messages,
            tools=self._specs,
            max_tokens=turn.command.max_tokens,
            reasoning_effort=turn.command.reasoning_effort or bench.reasoning_effort(),
            session_id=bench.stored_id,
        )

    async def _answer(self, request: ModelRequest) -> AssistantMessage:
        attempt = 0
        while True:
            self._shown = False
            try:
                async with self._provider.stream(request) as stream:
                    self._stream = stream
                    async for deltas in stream:
                        for delta in deltas:
                            self._publish(delta)
                    return stream.reply
            except ProviderError as error:
                if not may_retry(error, attempt, shown=self._shown):
                    raise
                attempt += 1
                self._bench.publish(
                    StatusUpdate(kind="retry", text=f"{error.message} Trying again.", turn_id=self._turn.id)
                )

    def _publish(self, delta: ModelDelta) -> None:
        self._shown = True
        match delta:
            case TextDelta():
                self._bench.publish(MessageDelta(text=delta.text, turn_id=self._turn.id))
            case ThinkingDelta():
                self._bench.publish(ReasoningDelta(text=delta.text, turn_id=self._turn.id))
            case CallDelta():
                self._bench.publish(ToolGenerating(name=delta.name, turn_id=self._turn.id))
            case _:
                assert_never(delta)

    def _tell(self, number: int, answer: AssistantMessage, row_id: int) -> None:
        turn = self._turn
        turn.usage = turn.usage + answer.usage
        turn.context_used = answer.usage.input + answer.usage.output
        if answer.tool_calls and answer.text:
            self._bench.publish(MessageInterim(text=answer.text, row_id=row_id, turn_id=turn.id))
        self._bench.publish(
            StepDone(
                step=number,
                row_id=row_id,
                usage=answer.usage,
                context_used=turn.context_used,
                reasoning=answer.reasoning,
                turn_id=turn.id,
            )
        )
