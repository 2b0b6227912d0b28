"""The runtime behind a connection: begun with the first session, ended with the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from hermes_core.errors import NoModelError

if TYPE_CHECKING:
    from hermes_core.config.settings import Config
    from hermes_core.models.provider import Endpoint
    from hermes_core.runtime import Runtime


class Hosting:
    """Owns the runtime. What it takes to begin one is loaded in a thread, so that the connection lives meanwhile."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._lock = anyio.Lock()
        self._runtime: Runtime | None = None
        self._warmed = False
        self._ending = anyio.Event()
        self._ended: anyio.Event | None = None

    async def runtime(self) -> Runtime:
        """Return the runtime, beginning it at the first call. Raises ConfigError; the next call tries again."""
        async with self._lock:
            runtime = self._runtime
            if runtime is None:
                runtime = self._runtime = await self._tasks.start(self._run)
            return runtime

    async def endpoint(self) -> Endpoint:
        """Return where the default model answers.

        Without one the settings are read anew, so that a set-up in a terminal is found without a restart. Raises
        NoModelError.
        """
        runtime = await self.runtime()
        try:
            return await runtime.models.resolve()
        except NoModelError:
            runtime.config = await anyio.to_thread.run_sync(_load)
            await runtime.models.reload(runtime.config)
            return await runtime.models.resolve()

    async def warm(self) -> None:
        """Load what the first turn needs, once, so that its first word is not late."""
        if self._runtime is not None and not self._warmed:
            self._warmed = True
            await self._runtime.warm()

    async def end(self) -> None:
        """Close every session, with what its turn has done written down, and end the runtime."""
        self._ending.set()
        if self._ended is not None:
            await self._ended.wait()

    async def _run(self, *, task_status: TaskStatus[Runtime]) -> None:
        config = await anyio.to_thread.run_sync(_load)
        from hermes_core.runtime import Runtime

        ended = self._ended = anyio.Event()  # one for each try: a start that failed is not the end of what came later
        try:
            async with Runtime(config) as runtime:
                task_status.started(runtime)
                await self._ending.wait()
        finally:
            ended.set()


def _load() -> Config:
    """Import what a runtime is made of, and read the settings."""
    from importlib import import_module

    from hermes_core.config import load_config

    for module in ("runtime", "store.sqlite", "tools.builtin"):
        import_module(f"hermes_core.{module}")
    return load_config()
