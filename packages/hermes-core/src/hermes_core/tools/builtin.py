"""The tools that come with the core."""

from __future__ import annotations

from typing import Any

from hermes_core.tools.clarify import PATIENCE, ClarifyArgs, Clarifying
from hermes_core.tools.edits import PatchArgs, WriteFileArgs, edited_paths, patch, preview, write_file
from hermes_core.tools.process import ProcessArgs, process
from hermes_core.tools.reading import ReadFileArgs, read_file
from hermes_core.tools.search import SearchFilesArgs, search_files
from hermes_core.tools.terminal import DEFAULT_TIMEOUT, Terminal, TerminalArgs
from hermes_core.tools.todo import TodoArgs, todo
from hermes_core.tools.tool import Tool


def builtin_tools(*, timeout: float = DEFAULT_TIMEOUT, patience: float = PATIENCE) -> tuple[Tool[Any], ...]:
    """Return the built-in tools.

    `timeout`: seconds for terminal commands that give none of their own. `patience`: seconds that a clarification
    waits for its answer, 0 for ever.
    """
    return (*_terminal_tools(timeout), *_file_tools(), *_planning_tools(patience))


def _terminal_tools(timeout: float) -> tuple[Tool[Any], ...]:
    return (
        Tool(
            name="terminal",
            description=(
                "Run a bash command and return its output and exit code. Every call is a new shell in the session's "
                "folder: cd and variables do not last. No input can be typed. Processes left with & are stopped when "
                "the command ends; start servers with background. For files, prefer read_file, patch and search_files."
            ),
            args=TerminalArgs,
            run=Terminal(timeout).run,
            toolset="terminal",
            label=lambda args: args.command,
        ),
        Tool(
            name="process",
            description="List, read, await, feed or kill processes started by terminal with background.",
            args=ProcessArgs,
            run=process,
            toolset="terminal",
            label=lambda args: f"{args.action} {args.session_id}".strip(),
        ),
    )


def _file_tools() -> tuple[Tool[Any], ...]:
    return (
        Tool(
            name="read_file",
            description="Read lines of a text file, each as 'number|text'. The number is not part of the file.",
            args=ReadFileArgs,
            run=read_file,
            toolset="file",
            parallel=True,
            label=lambda args: args.path,
            path=lambda args: args.path,
        ),
        Tool(
            name="write_file",
            description="Create a file or replace its whole text. To change a part, use patch.",
            args=WriteFileArgs,
            run=write_file,
            toolset="file",
            label=lambda args: args.path,
            path=lambda args: args.path,
            preview=preview,
        ),
        Tool(
            name="patch",
            description="Change parts of files: one exact replacement, or a V4A patch over several files.",
            args=PatchArgs,
            run=patch,
            toolset="file",
            label=lambda args: ", ".join(edited_paths(args)),
            path=lambda args: next(iter(edited_paths(args)), ""),
            preview=preview,
        ),
        Tool(
            name="search_files",
            description="Search file contents by regular expression, or find files by name; ignored files are skipped.",
            args=SearchFilesArgs,
            run=search_files,
            toolset="file",
            parallel=True,
            label=lambda args: args.pattern,
        ),
    )


def _planning_tools(patience: float) -> tuple[Tool[Any], ...]:
    return (
        Tool(
            name="todo",
            description="Keep the plan of work with several steps: give todos to set it, nothing to read it.",
            args=TodoArgs,
            run=todo,
            toolset="todo",
        ),
        Tool(
            name="clarify",
            description="Ask the user when the task cannot be done well without an answer.",
            args=ClarifyArgs,
            run=Clarifying(patience).run,
            toolset="clarify",
            label=lambda args: args.question,
        ),
    )
