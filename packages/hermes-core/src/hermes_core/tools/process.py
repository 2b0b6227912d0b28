"""The tool `process`: looks after what `terminal` started in the background."""

from __future__ import annotations

from typing import Annotated, Literal, assert_never

import msgspec
from msgspec import Meta

from hermes_core.errors import ToolFailed
from hermes_core.tools.tool import ToolContext, ToolResult

MAX_WAIT = 600


class ProcessArgs(msgspec.Struct, frozen=True):
    """Arguments of `process`."""

    action: Annotated[
        Literal["list", "poll", "log", "wait", "kill", "write", "submit"],
        Meta(description="poll: new output; log: lines kept; write: raw input; submit: input and a line end."),
    ]
    session_id: Annotated[str, Meta(description="Process id, proc_...; for all but list.")] = ""
    data: Annotated[str, Meta(description="Input (write, submit).")] = ""
    timeout: Annotated[int, Meta(description="Seconds (wait).", ge=1, le=MAX_WAIT)] = 60
    offset: Annotated[int, Meta(description="First line (log); 0: the last ones.", ge=0)] = 0
    limit: Annotated[int, Meta(description="Most lines (log).", ge=1, le=1000)] = 200


async def process(args: ProcessArgs, ctx: ToolContext) -> ToolResult:
    """Run `process`."""
    from hermes_core.content import bounded

    try:
        return ToolResult(bounded(await _answer(args, ctx), 20_000))
    except ToolFailed as error:
        return ToolResult(error.message, outcome="error")


async def _answer(args: ProcessArgs, ctx: ToolContext) -> str:
    if args.action != "list" and not args.session_id:
        raise ToolFailed(f"session_id is missing: which process?\n{ctx.processes.listing()}")
    match args.action:
        case "list":
            return ctx.processes.listing()
        case "poll":
            return await ctx.processes.poll(args.session_id)
        case "log":
            return ctx.processes.log(args.session_id, args.offset, args.limit)
        case "wait":
            return await ctx.processes.wait(args.session_id, args.timeout)
        case "kill":
            return await ctx.processes.kill(args.session_id)
        case "write" | "submit":
            end = "\n" if args.action == "submit" else ""
            await ctx.processes.write(args.session_id, args.data + end)
            return "Sent."
        case _:
            assert_never(args.action)
