"""What a tool is: a name and arguments on the wire, a function behind it, and what it may ask of its turn."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from hermes_core.events import TodoItem
from hermes_core.messages import Outcome
from hermes_core.models.provider import ToolSpec
from hermes_core.questions import Answer, Choice, FileChange, Question

Args = TypeVar("Args", bound=msgspec.Struct)


class RawArgs(msgspec.Struct, frozen=True):
    """Arguments as plain data, for tools whose schema is not ours."""

    values: dict[str, Any]


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a call ended. `text` is what the model reads; the rest is for the people who watch."""

    text: str
    outcome: Outcome = "ok"
    changes: tuple[FileChange, ...] = ()
    todos: tuple[TodoItem, ...] | None = None
    exit_code: int | None = None


class SessionFiles(Protocol):
    """What the session knows of the files its tools have read and written, to notice edits made outside."""

    def seen(self, path: Path) -> None:
        """Note the present state of a file that was just read or written."""
        ...

    def changed_outside(self, path: Path) -> bool:
        """Say whether a file that was seen before is different now."""
        ...


class ToolContext(Protocol):
    """The turn, as a tool sees it."""

    session_id: str
    """The stored id."""
    turn_id: str
    tool_call_id: str
    cwd: Path
    """The session's folder; relative paths of arguments start here."""
    env: dict[str, str]
    """The environment for child processes: the host's, without provider keys and other secrets."""
    files: SessionFiles
    processes: Processes
    todos: list[TodoItem]
    """The session's plan; the `todo` tool replaces its content."""
    data: dict[str, Any]
    """A place for tools to keep what they need for the life of the session."""

    def progress(self, text: str) -> None:
        """Show new output of the running tool to those who watch. Cheap, never blocks, coalesced and bounded."""
        ...

    def resolve(self, path: str) -> Path:
        """Return the absolute path that an argument means: `~` expanded, relative to `cwd`, not resolving links."""
        ...

    async def ask(self, question: Question) -> Answer | None:
        """Ask a person, and wait. None when it expired, was withdrawn, or nobody is there to answer."""
        ...


class Processes(Protocol):
    """The background processes of one session. All of them end when the session is closed."""

    async def start(self, command: str, *, cwd: Path, env: dict[str, str]) -> str:
        """Start a shell command in the background in a process group of its own; return its id (`proc_` + 8 hex)."""
        ...

    def folder(self) -> Path:
        """Return a private folder for outputs too long to be shown; it is removed with the session."""
        ...

    def listing(self) -> str:
        """Describe them, a line each, for the model."""
        ...

    async def poll(self, process_id: str) -> str:
        """Return the state and the output that was not shown yet. Unknown ids raise ToolFailed, here and below."""
        ...

    async def wait(self, process_id: str, timeout: float) -> str:
        """Wait until the process ends, `timeout` seconds at most; return as `poll` does."""
        ...

    def log(self, process_id: str, offset: int, limit: int) -> str:
        """Return up to `limit` lines of the kept output from line `offset` (from 1), the last ones with 0."""
        ...

    async def kill(self, process_id: str) -> str:
        """End the process with its whole group; return as `poll` does."""
        ...

    async def write(self, process_id: str, data: str) -> None:
        """Write to the input of the process. Raises ToolFailed when it does not read it."""
        ...

    async def aclose(self) -> None:
        """Kill every process group and reap it."""
        ...


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the policy says of a call: run it, ask first, or refuse it.

    With `ask`, `command`, `reason`, `patterns` and `choices` go into the question; with `deny`, `reason` is what
    the model is told.
    """

    decision: str  # "allow" | "ask" | "deny"
    reason: str = ""
    command: str = ""
    patterns: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ("once", "session", "always", "deny")


class Tool(msgspec.Struct, Generic[Args], frozen=True, kw_only=True):
    """One tool. `args` is the struct its arguments are decoded into; fields carry their descriptions as Meta."""

    name: str
    description: str
    args: type[Args]
    run: Callable[[Args, ToolContext], Awaitable[ToolResult]]
    toolset: str
    parallel: bool = False
    """Whether calls may run beside others of the same answer: only for tools that change nothing."""
    label: Callable[[Args], str] | None = None
    """One line for people; the name alone without it."""
    path: Callable[[Args], str] | None = None
    """The path argument, for tools that work on one file."""
    preview: Callable[[Args, ToolContext], Awaitable[tuple[FileChange, ...]]] | None = None
    """The edits a call would make; raises HermesError where it would fail."""
    schema: dict[str, Any] | None = None
    """The JSON Schema of the arguments, for tools that bring one (MCP, plugins): `args` is then `RawArgs`."""

    def spec(self) -> ToolSpec:
        """Return what the model is told: name, description, and the schema of the arguments, inlined."""
        parameters = parameters_of(self.args) if self.schema is None else self.schema
        return ToolSpec(name=self.name, description=self.description, parameters=parameters)

    def decode(self, arguments: str) -> Args:
        """Read the arguments that the model wrote. Raises msgspec.DecodeError and what else JSON can raise."""
        text = arguments.strip() or "{}"
        if self.schema is None:
            return msgspec.json.decode(text, type=self.args, strict=False)
        return self.args(msgspec.json.decode(text, type=dict[str, Any]))


@functools.cache
def parameters_of(args: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a struct of arguments: one object, references inlined, titles left out.

    Made once for each struct, since every turn asks for it; do not change it.
    """
    schemas, components = msgspec.json.schema_components([args], ref_template="#/$defs/{name}")
    return _inlined(schemas[0], components, top=True)


def _inlined(node: Any, components: dict[str, Any], *, top: bool = False) -> Any:
    if isinstance(node, list):
        return [_inlined(item, components) for item in node]  # pyright: ignore[reportUnknownVariableType]
    if not isinstance(node, dict):
        return node
    source: dict[str, Any] = node  # pyright: ignore[reportUnknownVariableType]
    if "$ref" in source:
        target = components[source["$ref"].rsplit("/", 1)[1]]
        return _inlined(target, components, top=top)
    kept = {key: value for key, value in source.items() if key != "title" and not (top and key == "description")}
    if "anyOf" in kept and {"type": "null"} in kept["anyOf"] and len(kept["anyOf"]) == 2:
        other = next(option for option in kept["anyOf"] if option != {"type": "null"})
        del kept["anyOf"]
        kept = {**other, **kept}
    if kept.get("default", ...) in (None, "", [], {}):
        kept.pop("default")
    if "properties" in kept:
        return {
            **{key: _inlined(value, components) for key, value in kept.items() if key != "properties"},
            "properties": {name: _inlined(value, components) for name, value in kept["properties"].items()},
        }
    return {key: _inlined(value, components) for key, value in kept.items()}
