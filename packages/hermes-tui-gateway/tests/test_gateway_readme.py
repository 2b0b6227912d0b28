"""The page for host authors says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hermes_core import jsonrpc
from hermes_tui_gateway import codes
from hermes_tui_gateway.registry import METHODS

SOURCE = Path(codes.__file__).parent
README = (Path(__file__).parents[1] / "README.md").read_text()
ROWS = [line for line in README.split("## Events")[0].splitlines() if line.startswith("| `")]


def row_of(name: str) -> str:
    (row,) = [row for row in ROWS if row.split(" |")[0].startswith(f"| `{name}`")]
    return row


ANSWERS = [name for name in METHODS if name.endswith(".respond")]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ANSWERS])
def test_every_method_has_its_row_with_its_params(name: str) -> None:
    method = METHODS[name]
    row = row_of(name)
    assert ("†" in row) == method.concurrent
    for field in msgspec.structs.fields(method.params):
        if not field.name.startswith(("truncate_", "confirm_", "close_on_disconnect")) and field.name != "cols":
            assert f"`{field.name}`" in row or f"`{field.name}?`" in row, field.name


@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_stands_beside_its_question(name: str) -> None:
    assert f"`{name} {{" in README


def test_every_event_that_is_sent_is_told_of() -> None:
    source = "\n".join(
        (SOURCE / name).read_text()
        for name in ("encode.py", "agents.py", "questions.py", "connection.py", "gateway.py")
    )
    sent = set(re.findall(r'"([a-z]+\.[a-z_]+)"', source))
    assert len(sent) > 15
    for kind in sent:
        assert f"`{kind}`" in README, kind


def test_every_code_is_told_of_and_no_other() -> None:
    known = {value for name, value in vars(codes).items() if name.isupper() and isinstance(value, int)}
    known |= {value for name, value in vars(jsonrpc).items() if name.isupper() and isinstance(value, int) and value < 0}
    known.discard(jsonrpc.INTERNAL_ERROR)  # a fault of the server is INTERNAL here
    table = README.split("## Error codes")[1]
    assert {int(code) for code in re.findall(r"-32\d{3}|\b[45]0\d\d\b", table)} == known
