"""`hermes config`, `hermes model`, `hermes setup` and `hermes doctor`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hermes_cli.exits import Exit
from hermes_cli.settings import value_of
from hermes_core.config import load_config
from hermes_core.testing import ScriptedModel
from hermes_process import Hermes

pytestmark = pytest.mark.anyio

SECRET = "sk-or-verysecretvalue"


def config_of(hermes: Hermes) -> str:
    return (hermes.home / "config.yaml").read_text()


# -- config


async def test_a_setting_is_written_read_and_typed(hermes: Hermes) -> None:
    assert (await hermes.run("config", "set", "agent.max_turns", "12")).returncode == Exit.OK
    assert (await hermes.run("config", "set", "display.show_reasoning", "true")).returncode == Exit.OK
    assert (await hermes.run("config", "get", "agent.max_turns")).stdout == b"12\n"
    assert (await hermes.run("config", "get", "display.show_reasoning")).stdout == b"true\n"
    config = load_config(hermes.home, {})
    assert (config.agent.max_turns, config.display.show_reasoning) == (12, True)


async def test_a_secret_is_never_printed(hermes: Hermes) -> None:
    await hermes.run("config", "set", "model.api_key", SECRET)
    assert SECRET in config_of(hermes)
    for words in (("get",), ("get", "model.api_key"), ("get", "model")):
        told = await hermes.run("config", *words)
        assert SECRET.encode() not in told.stdout + told.stderr
        assert b"[secret]" in told.stdout


async def test_a_change_that_would_break_the_settings_is_taken_back(hermes: Hermes) -> None:
    await hermes.run("config", "set", "agent.max_turns", "12")
    before = config_of(hermes)
    failed = await hermes.run("config", "set", "agent.max_turns", "many")
    assert failed.returncode == Exit.FAILED
    assert b"agent.max_turns" in failed.stderr
    assert config_of(hermes) == before


async def test_a_refused_first_change_leaves_no_file(hermes: Hermes) -> None:
    failed = await hermes.run("config", "set", "agent.max_turns", "many")
    assert failed.returncode == Exit.FAILED
    assert not (hermes.home / "config.yaml").exists()


async def test_a_key_by_the_name_of_its_variable_is_kept_where_it_counts(hermes: Hermes) -> None:
    done = await hermes.run("config", "set", "OPENROUTER_API_KEY", SECRET)
    assert done.returncode == Exit.OK
    assert str(hermes.home / ".env") in done.stderr.decode()
    assert SECRET not in done.stderr.decode()
    assert not (hermes.home / "config.yaml").exists()
    assert load_config(hermes.home, {}).environ["OPENROUTER_API_KEY"] == SECRET
    assert (await hermes.run("config", "get", "OPENROUTER_API_KEY")).stdout == b"[secret]\n"


async def test_broken_settings_can_be_mended(hermes: Hermes) -> None:
    hermes.home.mkdir()
    (hermes.home / "config.yaml").write_text("agent: {max_turns: many}\n")
    assert (await hermes.run("config", "set", "agent.max_turns", "7")).returncode == Exit.OK
    assert load_config(hermes.home, {}).agent.max_turns == 7


async def test_what_is_not_set_is_no_value(hermes: Hermes) -> None:
    missing = await hermes.run("config", "get", "no.such.key")
    assert (missing.returncode, missing.stdout) == (Exit.FAILED, b"")


async def test_the_path_of_the_file_is_told_before_there_is_one(hermes: Hermes) -> None:
    assert (await hermes.run("config")).stdout.decode().strip() == str(hermes.home / "config.yaml")
    assert not hermes.home.exists()


def test_words_of_the_command_line_get_the_type_they_look_like() -> None:
    meant = [value_of(text, "a.b") for text in ("true", "null", "3", "-2.5", "007", "text", "")]
    assert meant == [True, None, 3, -2.5, "007", "text", ""]
    assert value_of("12345678", "model.api_key") == "12345678"


# -- model


async def test_the_model_that_answers_is_shown_with_the_reason(hermes: Hermes) -> None:
    async with ScriptedModel() as model:
        hermes.answered_by(model)
        shown = await hermes.run("model")
    assert shown.stdout == b"custom:m\n"
    assert b"configured" in shown.stderr


async def test_a_new_default_is_kept(hermes: Hermes) -> None:
    async with ScriptedModel() as model:
        hermes.answered_by(model)
        assert (await hermes.run("model", "better")).stdout == b"custom:better\n"
        assert (await hermes.run("model")).stdout == b"custom:better\n"
    assert load_config(hermes.home, {}).model.base_url == model.base_url


async def test_another_provider_never_gets_the_address_or_key_of_the_old_one(hermes: Hermes) -> None:
    """HA-137: the old endpoint moves under its own name, where the old choice still finds it."""
    key = {"OPENROUTER_API_KEY": SECRET}
    async with ScriptedModel() as model:
        hermes.answered_by(model)
        chosen = await hermes.run("model", "openrouter:some/model", env=key)
        assert chosen.stdout == b"openrouter:some/model\n"
        config = load_config(hermes.home, key)
        assert (config.model.base_url, config.model.api_key) == ("", "")
        assert config.providers["custom"].base_url == model.base_url
        assert config.providers["custom"].api_key == "k"
        back = await hermes.run("model", "custom:m", env=key)
        assert back.stdout == b"custom:m\n"
        assert model.base_url in back.stderr.decode()


async def test_a_model_that_cannot_be_had_changes_nothing(hermes: Hermes) -> None:
    async with ScriptedModel() as model:
        hermes.answered_by(model)
        before = config_of(hermes)
        wrong = await hermes.run("model", "openrouter:some/model")
        assert wrong.returncode == Exit.NO_MODEL
    assert config_of(hermes) == before


# -- setup


async def test_setup_without_a_terminal_does_not_wait(hermes: Hermes) -> None:
    """HA-054"""
    refused = await hermes.run("setup")
    assert refused.returncode == Exit.USAGE
    assert b"terminal" in refused.stderr


async def test_setup_asks_for_a_server_and_its_key_and_keeps_them(hermes: Hermes) -> None:
    async with ScriptedModel() as model, hermes.terminal("setup", rows=60) as terminal:
        await terminal.until("by its number:")
        another = next(line for line in terminal.lines if "Another server" in line)
        terminal.type(another.split(".")[0].strip() + "\r")
        await terminal.until("Its address")
        terminal.type(model.base_url + "\r")
        await terminal.until("Its key")
        terminal.type(SECRET + "\r")
        await terminal.until("Model:")
        terminal.type("mine\r")
        assert await terminal.ended() == Exit.OK
        assert SECRET not in terminal.text
        assert "mine from custom answers" in terminal.text
    config = load_config(hermes.home, {})
    assert (config.model.provider, config.model.default) == ("custom", "mine")
    assert config.providers["custom"].api_key == SECRET
    assert SECRET not in config_of(hermes)


# -- doctor


async def test_the_doctor_finds_a_healthy_home(hermes: Hermes) -> None:
    async with ScriptedModel() as model:
        hermes.answered_by(model)
        hermes.home.chmod(0o700)
        found = await hermes.run("doctor")
    told = found.stdout.decode()
    assert found.returncode == Exit.OK, told
    assert "✗" not in told
    for name in ("hermes-core", "hermes-cli", "home", "sessions", "model", "provider"):
        assert name in told


async def test_the_doctor_names_what_is_wrong_and_the_mend(hermes: Hermes) -> None:
    hermes.home.mkdir()
    hermes.home.chmod(0o755)
    (hermes.home / "config.yaml").write_text(
        "model: {provider: custom, base_url: 'http://127.0.0.1:9/v1', default: m}\n"
    )
    (hermes.home / "config.yaml").chmod(0o644)
    (hermes.home / "sessions.sqlite3").write_text("this is no database, whatever its name says\n" * 100)
    found = await hermes.run("doctor")
    told = found.stdout.decode()
    assert found.returncode == Exit.FAILED
    assert f"chmod 700 {hermes.home}" in told
    assert f"chmod 600 {hermes.home / 'config.yaml'}" in told
    assert "✗ sessions" in told
    assert "✗ provider" in told
    assert b"Traceback" not in found.stderr


async def test_the_doctor_reads_on_after_broken_settings(hermes: Hermes, tmp_path: Path) -> None:
    hermes.home.mkdir(mode=0o700)
    (hermes.home / "config.yaml").write_text("model: [\n")
    (hermes.home / "config.yaml").chmod(0o600)
    found = await hermes.run("doctor")
    assert found.returncode == Exit.FAILED
    assert "✗ settings" in found.stdout.decode()
    assert "line" in found.stdout.decode()


@pytest.mark.parametrize("below", ["", "deep/er"])
async def test_the_doctor_sees_a_home_that_can_never_be(hermes: Hermes, tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("")
    found = await hermes.run("doctor", env={"HERMES_HOME": str(file / below)})
    told = found.stdout.decode()
    assert found.returncode == Exit.FAILED
    assert "✗ home" in told
    assert "Set HERMES_HOME to a folder" in told
    assert "chown" not in told


async def test_the_doctor_stands_what_it_found_in_one_column(hermes: Hermes) -> None:
    (hermes.home / "config.yaml").mkdir(parents=True)
    hermes.home.chmod(0o700)
    told = (await hermes.run("doctor")).stdout.decode()
    assert f"Move it away: {hermes.home / 'config.yaml'}" in told
    assert "chmod" not in told
    rows = [line for line in told.splitlines() if line[0] in "✓✗"]
    assert {(row[20], row[21] == " ") for row in rows} == {(" ", False)}
