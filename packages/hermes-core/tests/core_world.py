"""The world of the core's own tests: a runtime on a scripted model, with tools that do what a test says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import msgspec
from hermes_core.config.settings import AgentSettings, Config, ModelSettings
from hermes_core.runtime import Runtime
from hermes_core.store.protocol import Store
from hermes_core.testing import ScriptedModel
from hermes_core.tools.tool import Tool, ToolContext, ToolResult


class SayArgs(msgspec.Struct):
    """What to say."""

    text: str = ""


class HoldArgs(msgspec.Struct):
    """Which gate to wait at."""

    gate: str = "gate"


def _label(args: SayArgs) -> str:
    return f"say {args.text}"


class Bench:
    """The world of one test: the model, the runtime, and the gates that `hold` calls wait at."""

    def __init__(self, model: ScriptedModel, home: Path, store: Store) -> None:
        self.model = model
        self.store = store
        self.gates: dict[str, anyio.Event] = {}
        self.holding: dict[str, anyio.Event] = {}
        self.config = Config(
            home=home,
            model=ModelSettings(default="m", provider="custom", base_url=model.base_url, api_key="key-of-the-test"),
            agent=AgentSettings(max_turns=20),
        )

    def runtime(self, **changes: Any) -> Runtime:
        """Return a runtime on the same home and store; the caller enters it."""
        return Runtime(msgspec.structs.replace(self.config, **changes), self.store, tools=self.tools)

    @property
    def tools(self) -> list[Tool[Any]]:
        def tool(name: str, args: type[msgspec.Struct], run: Any, **options: Any) -> Tool[Any]:
            return Tool(name=name, description=name, args=args, run=run, toolset="test", **options)

        return [
            tool("say", SayArgs, self._say, parallel=True, label=_label),
            tool("hold", HoldArgs, self._hold),
            tool("hold_too", HoldArgs, self._hold, parallel=True),
            tool("fail", SayArgs, self._fail),
        ]

    async def held(self, gate: str = "gate") -> None:
        """Wait until a call waits at `gate`."""
        await self.holding.setdefault(gate, anyio.Event()).wait()

    def open(self, gate: str = "gate") -> None:
        """Let the call at `gate` go on."""
        self.gates.setdefault(gate, anyio.Event()).set()

    async def _say(self, args: SayArgs, context: ToolContext) -> ToolResult:
        context.progress(args.text)
        return ToolResult(f"said {args.text}")

    async def _hold(self, args: HoldArgs, context: ToolContext) -> ToolResult:
        self.holding.setdefault(args.gate, anyio.Event()).set()
        await self.gates.setdefault(args.gate, anyio.Event()).wait()
        return ToolResult(f"passed {args.gate}")

    async def _fail(self, args: SayArgs, context: ToolContext) -> ToolResult:
        raise ValueError(f"secret detail {args.text}")


MakeBench = Callable[..., AbstractAsyncContextManager[Bench]]
