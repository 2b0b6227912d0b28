"""`hermes sessions`: what the store holds, read and changed without a model."""

from __future__ import annotations

import json

import pytest
from hermes_cli.exits import Exit
from hermes_cli.session_rows import age
from hermes_core.testing import ScriptedModel, answer, call
from hermes_process import Hermes

pytestmark = pytest.mark.anyio


async def talked(hermes: Hermes) -> list[str]:
    """Have two short conversations; return their ids, the newest first."""
    async with ScriptedModel(
        [answer("Red is a colour."), answer(call("terminal", command="echo hi")), answer("It said hi.")]
    ) as model:
        hermes.answered_by(model)
        await hermes.run("-z", "Name a colour.")
        await hermes.run("-z", "Run the echo.")
    listed = await hermes.run("sessions", "list")
    return [line.split()[0] for line in listed.stdout.decode().splitlines()]


async def test_sessions_are_listed_shown_searched_and_exported(hermes: Hermes) -> None:
    newest, oldest = await talked(hermes)
    shown = (await hermes.run("sessions", "show", newest)).stdout.decode()
    assert "❯ Run the echo." in shown
    assert "✓ terminal echo hi\n  hi\n" in shown
    assert shown.rstrip().endswith("It said hi.")
    found = await hermes.run("sessions", "search", "colour", "red")
    assert oldest in found.stdout.decode()
    assert newest not in found.stdout.decode()
    exported = (await hermes.run("sessions", "export", newest)).stdout.decode().splitlines()
    rows = [json.loads(line)["message"] for line in exported]
    assert [row["role"] for row in rows] == ["user", "assistant", "tool", "assistant"]
    as_json = (await hermes.run("sessions", "list", "--json", "-n", "1")).stdout.decode().splitlines()
    assert json.loads(as_json[0])["record"]["id"] == newest


async def test_sessions_are_deleted_only_when_somebody_meant_it(hermes: Hermes) -> None:
    """HA-054: no question hangs where nobody can answer it."""
    newest, oldest = await talked(hermes)
    refused = await hermes.run("sessions", "delete", newest)
    assert refused.returncode == Exit.USAGE
    assert b"--yes" in refused.stderr
    async with hermes.terminal("sessions", "delete", newest) as terminal:
        await terminal.until("[y/N]")
        terminal.type("n\r")
        assert await terminal.ended() == Exit.FAILED
    assert (await hermes.run("sessions", "delete", newest, "--yes")).returncode == Exit.OK
    assert (await hermes.run("sessions", "show", newest)).returncode == Exit.USAGE
    assert (await hermes.run("sessions", "show", oldest)).returncode == Exit.OK


async def test_nothing_is_deleted_when_one_id_is_wrong(hermes: Hermes) -> None:
    newest, _ = await talked(hermes)
    wrong = await hermes.run("sessions", "delete", newest, "20200101_000000_abcdef", "--yes")
    assert wrong.returncode == Exit.USAGE
    assert (await hermes.run("sessions", "show", newest)).returncode == Exit.OK


async def test_an_empty_home_has_no_sessions_and_stays_empty(hermes: Hermes) -> None:
    listed = await hermes.run("sessions")
    assert (listed.returncode, listed.stdout) == (Exit.OK, b"")
    assert (await hermes.run("sessions", "show", "x")).returncode == Exit.USAGE
    assert not hermes.home.exists()


def test_an_age_is_told_in_one_unit() -> None:
    assert [age(1000, 1000 + span) for span in (0, 59, 60, 7200, 3 * 86400)] == ["now", "now", "1 min", "2 h", "3 d"]
