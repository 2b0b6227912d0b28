"""A tool call, read: which tool it means and with what arguments, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_core.content import bounded, clean
from hermes_core.messages import Finish, ToolCall
from hermes_core.tools.tool import Tool

LABEL_LIMIT = 80
UNREADABLE = (msgspec.DecodeError, UnicodeEncodeError, RecursionError)
"""What reading arguments raises: they do not fit or are no JSON, have a lone surrogate, or are nested too deeply."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of an answer, with the row that waits for its result. `problem` says why it cannot run."""

    id: str
    name: str
    row_id: int
    tool: Tool[Any] | None
    args: msgspec.Struct | None
    arguments: dict[str, Any]
    """The arguments as plain data, for those who watch; empty when they cannot be read."""
    label: str
    problem: str = ""

    @property
    def parallel(self) -> bool:
        return self.tool is not None and self.tool.parallel


def read_call(call: ToolCall, row_id: int, tools: Mapping[str, Tool[Any]], finish: Finish) -> Call:
    """Return `call`, read. Nothing is ever guessed: arguments that were cut off or do not fit are a problem."""
    tool = tools.get(call.name)
    arguments = _plain(call.arguments)
    args: msgspec.Struct | None = None
    problem = ""
    if finish == "length":
        problem = "The call was cut off by the output limit and did not run. Write it again, shorter or in parts."
    elif tool is None:
        problem = f"There is no tool {call.name!r}. There are: {', '.join(tools)}."
    else:
        try:
            args = tool.decode(call.arguments)
        except UNREADABLE as error:
            problem = f"The arguments of {call.name} are not right: {error}. Nothing was run."
    return Call(
        id=call.id,
        name=call.name,
        row_id=row_id,
        tool=tool,
        args=args,
        arguments=arguments,
        label=_label(call.name, tool, args),
        problem=problem,
    )


def _plain(arguments: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(arguments.strip() or "{}")
    except UNREADABLE:
        return {}
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def _label(name: str, tool: Tool[Any] | None, args: msgspec.Struct | None) -> str:
    text = tool.label(args) if tool and tool.label and args is not None else name
    line = " ".join(clean(text).split())
    return line if len(line) <= LABEL_LIMIT else line[: LABEL_LIMIT - 1] + "…"


def bounded_result(text: str) -> str:
    """Return a tool's text as it is stored and sent to the model: clean UTF-8 of at most 50,000 characters."""
    return bounded(clean(text), 50_000)
