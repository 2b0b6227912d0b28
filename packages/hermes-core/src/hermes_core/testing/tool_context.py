"""A turn for tools under test: a folder, real files and processes, and a person who answers as told."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from hermes_core.events import TodoItem
from hermes_core.questions import Answer, Question
from hermes_core.tools.processes import BackgroundProcesses
from hermes_core.tools.seen import SeenFiles
from hermes_core.tools.tool import Processes, SessionFiles


class ToolBench:
    """Implements `ToolContext`. `asked` holds the questions, `shown` the progress; `answer` is given to each ask."""

    def __init__(self, cwd: Path, processes: Processes, env: dict[str, str]) -> None:
        self.session_id = "20260101_000000_000001"
        self.turn_id = "turn_000000000001"
        self.tool_call_id = "call_1"
        self.cwd = cwd
        self.env = env
        self.files: SessionFiles = SeenFiles()
        self.processes: Processes = processes
        self.todos: list[TodoItem] = []
        self.data: dict[str, Any] = {}
        self.asked: list[Question] = []
        self.shown: list[str] = []
        self.answer: Answer | None = None
        self.printed = anyio.Event()
        """Set with the first progress."""

    def progress(self, text: str) -> None:
        """See `ToolContext.progress`."""
        self.shown.append(text)
        self.printed.set()

    def resolve(self, path: str) -> Path:
        """See `ToolContext.resolve`."""
        given = Path(path).expanduser()
        return given if given.is_absolute() else self.cwd / given

    async def ask(self, question: Question) -> Answer | None:
        """See `ToolContext.ask`."""
        self.asked.append(question)
        return self.answer


@asynccontextmanager
async def tool_bench(cwd: Path) -> AsyncGenerator[ToolBench]:
    """Lay out a bench; every process that was started on it ends with the block."""
    import os

    async with anyio.create_task_group() as tasks:
        processes = BackgroundProcesses(tasks)
        try:
            yield ToolBench(cwd, processes, {"PATH": os.environ["PATH"], "HOME": str(cwd)})
        finally:
            await processes.aclose()
