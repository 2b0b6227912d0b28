"""The built-in tools as the model sees them, and the two that plan and ask."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hermes_core.questions import Clarify, ClarifyAnswer
from hermes_core.testing.tool_context import ToolBench, tool_bench
from hermes_core.tools.builtin import builtin_tools
from hermes_core.tools.clarify import NOBODY, ClarifyArgs, Clarifying
from hermes_core.tools.todo import TodoArgs, TodoEntry, todo
from hermes_core.tools.tool import Tool

TOOLS: dict[str, Tool[Any]] = {tool.name: tool for tool in builtin_tools()}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "terminal": {"command": "ls"},
    "process": {"action": "list"},
    "read_file": {"path": "a"},
    "write_file": {"path": "a", "content": "x"},
    "patch": {"path": "a", "old_string": "x", "new_string": "y"},
    "search_files": {"pattern": "x"},
    "todo": {},
    "clarify": {"question": "why?"},
}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ToolBench]:
    async with tool_bench(tmp_path) as bench:
        yield bench


def test_the_names_are_those_of_the_wire() -> None:
    assert set(TOOLS) == set(ARGUMENTS)


def test_all_specifications_together_stay_small() -> None:
    assert len(msgspec.json.encode([tool.spec() for tool in TOOLS.values()])) < 6000


@pytest.mark.parametrize("name", TOOLS)
def test_each_schema_is_one_plain_object(name: str) -> None:
    import jsonschema

    schema = TOOLS[name].spec().parameters
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(ARGUMENTS[name], schema)
    assert schema["type"] == "object"
    assert "$ref" not in msgspec.json.encode(schema).decode()


@pytest.mark.parametrize("name", TOOLS)
def test_each_tool_has_a_label_and_reads_its_arguments(name: str) -> None:
    tool = TOOLS[name]
    args = msgspec.json.decode(msgspec.json.encode(ARGUMENTS[name]), type=tool.args, strict=False)
    assert tool.label is None or isinstance(tool.label(args), str)
    assert tool.path is None or tool.path(args) == "a"


def test_only_tools_that_change_nothing_run_side_by_side() -> None:
    assert {name for name, tool in TOOLS.items() if tool.parallel} == {"read_file", "search_files"}


def test_listing_the_tools_loads_no_parser_and_no_matcher() -> None:
    code = (
        "import sys; from hermes_core.tools.builtin import builtin_tools; from hermes_core.tools.policy import Policy;"
        "builtin_tools(); Policy(); print([n for n in ('tree_sitter', 'pathspec', 'openai') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.anyio
async def test_a_plan_is_set_read_and_merged(bench: ToolBench) -> None:
    result = await todo(TodoArgs([TodoEntry("one"), TodoEntry("two", "in_progress"), TodoEntry("x", id="k")]), bench)
    assert result.text == "[ ] 1: one\n[>] 2: two\n[ ] k: x"
    assert result.todos == tuple(bench.todos)
    merged = await todo(TodoArgs([TodoEntry(status="completed", id="1"), TodoEntry("new", id="n")], merge=True), bench)
    assert merged.text == "[x] 1: one\n[>] 2: two\n[ ] k: x\n[ ] n: new"
    read = await todo(TodoArgs(), bench)
    assert (read.text, read.todos) == (merged.text, None)
    cleared = await todo(TodoArgs([]), bench)
    assert (cleared.text, cleared.todos) == ("The plan is empty.", ())


@pytest.mark.anyio
async def test_a_step_without_content_changes_nothing(bench: ToolBench) -> None:
    await todo(TodoArgs([TodoEntry("one")]), bench)
    before = list(bench.todos)
    result = await todo(TodoArgs([TodoEntry(id="unknown", status="completed")], merge=True), bench)
    assert result.outcome == "error"
    assert bench.todos == before


@pytest.mark.anyio
async def test_a_question_reaches_a_person_and_comes_back(bench: ToolBench) -> None:
    bench.answer = ClarifyAnswer({"answer": " blue "})
    result = await Clarifying().run(ClarifyArgs("Which colour?", ["red", "blue"]), bench)
    assert result.text == "The user answered: blue"
    (question,) = bench.asked
    assert isinstance(question, Clarify)
    assert question.tool_call_id == bench.tool_call_id
    assert question.turn_id == bench.turn_id
    assert question.items[0].choices == ("red", "blue")


@pytest.mark.anyio
@pytest.mark.parametrize("answer", [None, ClarifyAnswer({}), ClarifyAnswer({"answer": "  "})])
async def test_no_answer_lets_the_agent_go_on(bench: ToolBench, answer: ClarifyAnswer | None) -> None:
    bench.answer = answer
    result = await Clarifying().run(ClarifyArgs("Which colour?"), bench)
    assert (result.text, result.outcome) == (NOBODY, "ok")


@pytest.mark.anyio
@pytest.mark.parametrize(("patience", "expected"), [(90.0, 1090.0), (0.0, 0.0)])
async def test_a_clarification_waits_as_long_as_the_configuration_says(
    bench: ToolBench, monkeypatch: pytest.MonkeyPatch, patience: float, expected: float
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    await Clarifying(patience).run(ClarifyArgs("Which colour?"), bench)
    assert [question.deadline for question in bench.asked] == [expected]
