"""The tool step: every call of one answer is reviewed, perhaps asked about, run, and its result stored.

Calls that change nothing run side by side; the others one after the other, in call order. Each call that was
announced ends with exactly one `tool.complete` and a settled row, whatever happens to it.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterator, Sequence
from typing import Any

import anyio
import msgspec

from hermes_core import ids
from hermes_core.errors import HermesError, StoreError, ToolFailed
from hermes_core.events import SteerDelivered, ToolComplete, ToolStart
from hermes_core.messages import ToolMessage
from hermes_core.questions import Approval, ApprovalAnswer, FileChange
from hermes_core.session.transcript import INTERRUPTED_RESULT, NOT_BEGUN_RESULT
from hermes_core.tools.tool import Tool, ToolResult, Verdict
from hermes_core.turn.call import Call, bounded_result
from hermes_core.turn.progress import ProgressFeed
from hermes_core.turn.steering import steered
from hermes_core.turn.tool_context import TurnToolContext
from hermes_core.turn.turn import Turn
from hermes_core.turn.workbench import Workbench

SIDE_BY_SIDE = 8
log = logging.getLogger(__name__)


class ToolStep:
    """Runs the calls of one answer."""

    def __init__(self, bench: Workbench, turn: Turn, calls: Sequence[Call]) -> None:
        self._bench = bench
        self._turn = turn
        self._calls = calls
        self._results: dict[str, ToolMessage] = {}
        self._settled: set[str] = set()
        self._limiter = anyio.CapacityLimiter(SIDE_BY_SIDE)
        self._failure: HermesError | None = None

    async def run(self) -> None:
        """Run every call, then hand over the steering text that waits. Raises what the store raised."""
        for group in _groups(self._calls):
            # Reviewed one after the other, so that the calls are announced in their order.
            reviewed = [(call, await self._verdict(call)) for call in group]
            if len(reviewed) == 1:
                await self._one(*reviewed[0])
            else:
                async with anyio.create_task_group() as side_by_side:
                    for call, verdict in reviewed:
                        side_by_side.start_soon(self._one, call, verdict)
            if self._failure is not None:
                raise self._failure
        await self.deliver_steering()

    async def deliver_steering(self) -> None:
        """Add the steering text that waits to the last result of the batch: it is then read once, by this request."""
        taken = self._turn.steering.take()
        if not taken.text:
            return
        call = self._calls[-1]
        before = self._results[call.id]
        result = ToolMessage(
            tool_call_id=before.tool_call_id,
            name=before.name,
            text=steered(before.text, taken.text),
            outcome=before.outcome,
            duration=before.duration,
        )
        with anyio.CancelScope(shield=True):
            try:
                await self._bench.transcript.settle(call.row_id, result)
            except BaseException:
                self._turn.steering.put_back(taken)
                raise
        self._bench.publish(SteerDelivered(text=taken.text, tool_call_id=call.id, turn_id=self._turn.id))

    async def stop(self) -> None:
        """Settle the calls that were never begun, and those whose result could not be stored, after an early end."""
        for call in self._calls:
            if call.id not in self._settled:
                never = ToolMessage(tool_call_id=call.id, name=call.name, text=NOT_BEGUN_RESULT, outcome="interrupted")
                await self._bench.transcript.settle(call.row_id, self._results.get(call.id, never))

    async def _one(self, call: Call, verdict: Verdict) -> None:
        async with self._limiter:
            begun = time.monotonic()
            path = self._path(call)
            self._bench.publish(
                ToolStart(
                    tool_call_id=call.id,
                    name=call.name,
                    args=call.arguments,
                    label=call.label,
                    path=path,
                    asks=verdict.decision == "ask" and self._bench.answerable(),
                    turn_id=self._turn.id,
                )
            )
            result = ToolResult(INTERRUPTED_RESULT, outcome="interrupted")
            try:
                result = await self._result(call, verdict)
            finally:
                # Also when cancelled: what was announced is ended, and what was begun has an outcome.
                with anyio.CancelScope(shield=True):
                    await self._end(call, result, path, time.monotonic() - begun)

    async def _verdict(self, call: Call) -> Verdict:
        """Review a call before it is announced; one that cannot be reviewed is refused."""
        if call.args is None:
            return Verdict("allow")  # nothing will run: its problem is its result
        try:
            return self._bench.policy.review(
                call.name,
                call.args,
                cwd=self._bench.cwd,
                edits=self._bench.edits(),
                granted=await self._bench.grants.known(),
                home=self._bench.home,
            )
        except StoreError as error:
            self._failure = error
            return Verdict("deny", reason=error.message)
        except Exception as error:
            log.exception("the call of %s could not be reviewed", call.name)
            return Verdict("deny", reason=f"it could not be reviewed ({type(error).__name__}).")

    async def _result(self, call: Call, verdict: Verdict) -> ToolResult:
        if call.tool is None or call.args is None:
            return ToolResult(call.problem, outcome="error")
        feed = ProgressFeed(self._bench, self._turn.id, call)
        context = TurnToolContext(self._bench, self._turn.id, call, feed)
        try:
            return await self._refused(call, verdict, context) or await self._run(call.tool, call.args, context, feed)
        except StoreError as error:
            self._failure = error  # not raised: the calls beside this one come to their own ends
            return ToolResult(error.message, outcome="error")
        except HermesError as error:
            return ToolResult(error.message, outcome="error")
        except Exception as error:
            log.exception("the tool %s failed", call.name)
            return ToolResult(f"{call.name} failed: {type(error).__name__}.", outcome="error")

    async def _run(
        self, tool: Tool[Any], args: msgspec.Struct, context: TurnToolContext, feed: ProgressFeed
    ) -> ToolResult:
        """Run the tool while its output is shown; its error leaves the task group as it is, not in a group."""
        result: ToolResult | Exception = ToolResult(INTERRUPTED_RESULT, outcome="interrupted")
        async with anyio.create_task_group() as beside:
            beside.start_soon(feed.run)
            try:
                result = await tool.run(args, context)
            except Exception as error:  # noqa: BLE001 - raised again below
                result = error
            except (SystemExit, anyio.get_cancelled_exc_class()) as error:
                await anyio.lowlevel.checkpoint_if_cancelled()  # raises where the turn is being stopped
                # The tool's own doing: let out, either would end the whole runtime.
                log.exception("the tool %s failed", tool.name)
                result = ToolFailed(f"{tool.name} failed: {type(error).__name__}.")
            finally:
                feed.flush()
                beside.cancel_scope.cancel()
        if isinstance(result, Exception):
            raise result
        return result

    async def _refused(self, call: Call, verdict: Verdict, context: TurnToolContext) -> ToolResult | None:
        """Return the result of a call that may not run, None when it may."""
        if verdict.decision == "allow":
            return None
        if verdict.decision == "deny":
            return ToolResult(f"Refused: {verdict.reason}", outcome="denied")
        if not self._bench.answerable():
            return ToolResult(
                f"Not run: it needs a person's approval ({verdict.reason}), and nobody can answer here.",
                outcome="denied",
            )
        return await self._asked(call, verdict, context)

    async def _asked(self, call: Call, verdict: Verdict, context: TurnToolContext) -> ToolResult | None:
        question = self._approval(call, verdict, await self._changes(call, context))
        answer = await self._bench.ask(question)
        if answer is None:
            return ToolResult("Not run: nobody approved it in time.", outcome="denied")
        assert isinstance(answer, ApprovalAnswer)
        match answer.choice:
            case "once":
                pass
            case "session":
                await self._bench.grants.add(verdict.patterns, always=False)
            case "always":
                await self._bench.grants.add(verdict.patterns, always=True)
            case "deny":
                return ToolResult(f"Not run: {answer.reason or 'the user refused it'}.", outcome="denied")
        return None

    async def _changes(self, call: Call, context: TurnToolContext) -> tuple[FileChange, ...]:
        if call.tool is None or call.tool.preview is None:
            return ()
        return await call.tool.preview(call.args, context)

    def _approval(self, call: Call, verdict: Verdict, changes: tuple[FileChange, ...]) -> Approval:
        timeout = self._bench.approval_timeout
        return Approval(
            id=ids.request_id(),
            turn_id=self._turn.id,
            tool_call_id=call.id,
            deadline=time.time() + timeout if timeout else 0.0,
            tool=call.name,
            command=self._bench.mask(verdict.command or call.label),
            description=verdict.reason,
            patterns=verdict.patterns,
            choices=verdict.choices,
            changes=changes,
        )

    async def _end(self, call: Call, result: ToolResult, path: str, duration: float) -> None:
        message = ToolMessage(
            tool_call_id=call.id,
            name=call.name,
            text=bounded_result(self._bench.mask(result.text)),
            outcome=result.outcome,
            duration=round(duration, 4),
        )
        self._results[call.id] = message
        try:
            await self._bench.transcript.settle(call.row_id, message)
            self._settled.add(call.id)
        except HermesError as error:
            self._failure = error
        finally:
            self._tell(call, message, result, path)

    def _tell(self, call: Call, message: ToolMessage, result: ToolResult, path: str) -> None:
        self._bench.publish(
            ToolComplete(
                tool_call_id=call.id,
                name=call.name,
                args=call.arguments,
                result=message.text,
                outcome=message.outcome,
                duration=message.duration,
                label=call.label,
                path=path,
                changes=result.changes,
                todos=result.todos,
                exit_code=result.exit_code,
                turn_id=self._turn.id,
            )
        )

    def _path(self, call: Call) -> str:
        if call.tool is None or call.tool.path is None or call.args is None:
            return ""
        given = call.tool.path(call.args)
        return str(self._bench.cwd / given) if given else ""


def _groups(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Yield runs of calls that may go side by side, and the others alone."""
    for parallel, run in itertools.groupby(calls, key=lambda call: call.parallel):
        if parallel:
            yield list(run)
        else:
            for call in run:
                yield [call]
