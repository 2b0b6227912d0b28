"""The registry: what is declared is what is served, and nothing else."""

from __future__ import annotations

import re
import typing
from pathlib import Path
from typing import Any, get_args

import hermes_tui_gateway
import msgspec
import pytest
from hermes_core.errors import CutProblem
from hermes_tui_gateway import codes
from hermes_tui_gateway.registry import METHODS, Method
from hermes_tui_gateway.registry import _table as table

SPINE = [
    "session.create",
    "session.list",
    "session.active_list",
    "session.resume",
    "session.activate",
    "session.close",
    "session.history",
    "session.interrupt",
    "session.steer",
    "session.title",
    "session.usage",
    "session.status",
    "session.most_recent",
    "prompt.submit",
    "approval.respond",
    "clarify.respond",
    "sudo.respond",
    "secret.respond",
    "config.get",
    "config.set",
    "command.dispatch",
    "slash.exec",
    "commands.catalog",
    "setup.status",
    "terminal.resize",
    "input.detect_drop",
    "complete.slash",
]


def test_every_promised_method_is_served() -> None:
    assert sorted(METHODS) == sorted(SPINE)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_and_gives_what_its_row_says(name: str) -> None:
    method = METHODS[name]
    hints = typing.get_type_hints(method.handler)
    assert (hints["params"], hints["return"]) == (method.params, method.result)


@pytest.mark.parametrize("name", METHODS)
def test_every_param_but_the_text_of_a_prompt_may_be_left_out(name: str) -> None:
    required = {field.name for field in msgspec.structs.fields(METHODS[name].params) if field.required}
    assert required == ({"text"} if name == "prompt.submit" else set())


def test_a_name_that_stands_twice_fails_at_import() -> None:
    row: Method[Any, Any] = METHODS["session.list"]
    with pytest.raises(ValueError, match=r"session\.list stands in the registry twice"):
        table([row, row])


def test_codes_are_written_as_names_everywhere_but_in_their_table() -> None:
    root = Path(hermes_tui_gateway.__file__).parent
    found = [
        f"{path.name}: {number}"
        for path in root.rglob("*.py")
        if path.name != "codes.py"
        for number in re.findall(r"\b[45]0\d\d\b", re.sub(r'""".*?"""', "", path.read_text(), flags=re.DOTALL))
    ]
    assert found == []


def test_every_error_of_the_core_has_a_code() -> None:
    from hermes_core import errors

    def below(kind: type[errors.HermesError]) -> list[type[errors.HermesError]]:
        return [kind, *(deeper for child in kind.__subclasses__() for deeper in below(child))]

    for kind in below(errors.HermesError):
        error = kind.__new__(kind)
        Exception.__init__(error, "A sentence.")
        if isinstance(error, errors.CutRefused):
            error.problem = "empty"
        assert 4000 < codes.code_of(error) < 5100, kind


def test_every_reason_to_refuse_a_rewind_has_a_code() -> None:
    assert set(codes.CUT_CODES) == set(get_args(CutProblem))
