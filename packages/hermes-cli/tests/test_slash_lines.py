"""What is a command, what is a message, and what is a slip."""

from __future__ import annotations

import pytest
from hermes_cli.slash import COMMANDS, Called, Said, Slip, matching, read
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "line",
    ["/etc/hosts explain", "/tmp", "/usr/bin/x:45", "// note", "/home/me/résumé.txt", "/x.py is broken", "hello /help"],
)
def test_a_message_that_begins_with_a_path_is_a_message(line: str) -> None:
    """HA-132: the first word counts only where it names a command."""
    assert read(line, is_path=lambda word: word == "/tmp") == Said(line)


@pytest.mark.parametrize("line", ["/", "/ btw x", "/zzz", "/zzz and more", " / "])
def test_a_slip_gets_one_short_hint(line: str) -> None:
    """HA-141: no list of every command, and nothing is carried out."""
    slip = read(line, is_path=lambda word: False)
    assert isinstance(slip, Slip)
    assert "/help" in slip.hint
    assert "\n" not in slip.hint
    assert len(slip.hint) < 100


@pytest.mark.parametrize(("line", "name", "rest"), [("/model", "model", ""), ("/q  later ", "queue", "later")])
def test_a_command_is_found_by_its_name_and_its_alias(line: str, name: str, rest: str) -> None:
    called = read(line)
    assert isinstance(called, Called)
    assert (called.command.name, called.rest) == (name, rest)


def test_a_command_keeps_the_lines_that_follow_it() -> None:
    called = read("/steer look\nhere too")
    assert isinstance(called, Called)
    assert called.rest == "look\nhere too"


def test_what_is_typed_suggests_the_commands_it_may_become() -> None:
    assert [command.name for command in matching("/s")] == ["sessions", "steer"]
    assert len(matching("/")) == len(COMMANDS)
    assert matching("/etc/") == []
    assert matching("s") == []


@given(st.text())
def test_every_line_is_one_of_the_three(line: str) -> None:
    found = read(line, is_path=lambda word: False)
    assert isinstance(found, Said | Called | Slip)
    if not line.strip().startswith("/"):
        assert found == Said(line.strip())
