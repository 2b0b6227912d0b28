"""The context that a running tool is given: its session's folder, files and processes, and a way to ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hermes_core.events import TodoItem
from hermes_core.questions import Answer, Question
from hermes_core.tools.tool import Processes, SessionFiles
from hermes_core.turn.call import Call
from hermes_core.turn.progress import ProgressFeed
from hermes_core.turn.workbench import Workbench


class TurnToolContext:
    """Implements `ToolContext` (hermes_core.tools.tool) for one call of a turn."""

    def __init__(self, bench: Workbench, turn_id: str, call: Call, feed: ProgressFeed) -> None:
        self._bench = bench
        self._feed = feed
        self.session_id: str = bench.stored_id
        self.turn_id: str = turn_id
        self.tool_call_id: str = call.id
        self.cwd: Path = bench.cwd
        self.env: dict[str, str] = bench.env
        self.files: SessionFiles = bench.files
        self.processes: Processes = bench.processes
        self.todos: list[TodoItem] = bench.todos
        self.data: dict[str, Any] = bench.data

    def progress(self, text: str) -> None:
        """See `ToolContext.progress`."""
        self._feed.add(text)

    def resolve(self, path: str) -> Path:
        """See `ToolContext.resolve`."""
        given = Path(path).expanduser()
        return given if given.is_absolute() else self.cwd / given

    async def ask(self, question: Question) -> Answer | None:
        """See `ToolContext.ask`."""
        return await self._bench.ask(question)
