"""The loop of a turn: model step, tool step, until the answer has no calls; and what is written when it stops early."""

from __future__ import annotations

import logging

import anyio

from hermes_core.errors import BudgetExceeded, HermesError
from hermes_core.events import MessageComplete
from hermes_core.messages import AssistantMessage, Finish
from hermes_core.shield import shielded
from hermes_core.turn.call import read_call
from hermes_core.turn.model_step import ModelStep
from hermes_core.turn.tool_step import ToolStep
from hermes_core.turn.turn import Turn, completed, failed, interrupted
from hermes_core.turn.workbench import Workbench

log = logging.getLogger(__name__)


class TurnLoop:
    """Drives one admitted turn to its end."""

    def __init__(self, bench: Workbench, turn: Turn) -> None:
        self._bench = bench
        self._turn = turn
        self._model_step: ModelStep | None = None
        self._tool_step: ToolStep | None = None

    @property
    def partial(self) -> AssistantMessage | None:
        """What the running model call has said so far."""
        return self._model_step.partial if self._model_step else None

    async def run(self) -> MessageComplete:
        """Return the end of the turn: an answer, or an error with what came before it. Cancelled when interrupted."""
        try:
            return await self._steps()
        except HermesError as error:
            return await shielded(self._failed(error))
        except Exception as error:
            log.exception("turn %s failed", self._turn.id)
            return await shielded(self._failed(_internal(error)))
        except anyio.get_cancelled_exc_class() as error:
            await anyio.lowlevel.checkpoint_if_cancelled()  # raises again where the turn is being stopped
            # Nobody stops it: something inside was cancelled by itself. Let out, that would end the whole runtime.
            log.exception("turn %s failed", self._turn.id)
            return await shielded(self._failed(_internal(error)))

    async def stop(self) -> MessageComplete:
        """Write down what an interrupted turn leaves behind and return its end. Call it shielded, once."""
        said, row_id, error = await self._wind_down("interrupted")
        return failed(self._turn, error, said, row_id) if error else interrupted(self._turn, said, row_id)

    async def _steps(self) -> MessageComplete:
        bench, turn = self._bench, self._turn
        model, provider = bench.model()
        if turn.command.model:
            endpoint = await bench.models.resolve(turn.command.model, current=provider)
        else:
            endpoint = await bench.models.resolve(model, provider)
        bench.resolved(endpoint)
        tools = bench.tools()
        specs = tuple(tool.spec() for tool in tools.values()) if turn.command.tools else ()
        self._model_step = ModelStep(bench, turn, endpoint, bench.models.provider(endpoint), specs)
        for number in range(1, bench.max_steps + 1):
            answer, rows = await self._model_step.run(number)
            if not answer.tool_calls:
                return completed(turn, answer, rows[0].row_id)
            calls = [
                read_call(call, row.row_id, tools, answer.finish)
                for call, row in zip(answer.tool_calls, rows[1:], strict=True)
            ]
            self._tool_step = ToolStep(bench, turn, calls)
            await self._tool_step.run()
            self._tool_step = None
        raise BudgetExceeded(f"The turn was stopped after {bench.max_steps} steps, its limit.", "steps")

    async def _failed(self, error: HermesError) -> MessageComplete:
        said, row_id, _ = await self._wind_down("error")
        return failed(self._turn, error, said, row_id)

    async def _wind_down(self, finish: Finish) -> tuple[AssistantMessage | None, int, HermesError | None]:
        """Write down what is unfinished. Return what was said, its row, and what kept it from being stored."""
        said, row_id = self.partial, 0
        try:
            if self._tool_step is not None:
                await self._tool_step.stop()
            if said is not None:
                row_id = await self._keep(said, finish)
        except HermesError as error:
            log.error("turn %s could not be written down: %s", self._turn.id, error)
            return said, 0, error
        except Exception as error:
            log.exception("turn %s could not be written down", self._turn.id)
            return said, 0, _internal(error)
        return said, row_id, None

    async def _keep(self, said: AssistantMessage, finish: Finish) -> int:
        """Store what an unfinished answer has said, marked with how it ended: what was shown is kept."""
        kept = AssistantMessage(
            text=said.text, reasoning=said.reasoning, finish=finish, model=said.model, usage=said.usage
        )
        self._turn.usage = self._turn.usage + kept.usage
        return (await self._bench.transcript.add_step(kept))[0].row_id


def _internal(error: BaseException) -> HermesError:
    return HermesError(f"An internal error ended the turn ({type(error).__name__}).")
