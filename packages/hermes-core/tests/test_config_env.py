"""The file of variables, what child processes get of them, and what is masked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hermes_core.config import child_env, load_config, redact, redact_settings, secrets_of, set_env
from hermes_core.config.env import read_env
from hermes_core.config.redaction import is_secret_name
from hermes_core.errors import InvalidInput
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

WRITTEN = "# keys\nexport A_API_KEY=one\n\nB='two words'\n# C=off\nBROKEN LINE\nA_API_KEY2=x"


def test_one_variable_changes_and_every_other_line_stays(hermes_home: Path) -> None:
    hermes_home.mkdir()
    path = hermes_home / ".env"
    path.write_text(WRITTEN)
    set_env(hermes_home, "A_API_KEY", "new")
    assert path.read_text() == WRITTEN.replace("=one", "=new")
    set_env(hermes_home, "B", "three more words")
    set_env(hermes_home, "C", "on")
    assert path.read_text().splitlines() == [
        "# keys",
        "export A_API_KEY=new",
        "",
        "B='three more words'",
        "# C=off",
        "BROKEN LINE",
        "A_API_KEY2=x",
        "C=on",
    ]
    assert path.stat().st_mode & 0o777 == 0o600


def test_lines_that_hold_no_variable_are_named_by_number_and_never_shown(
    hermes_home: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    hermes_home.mkdir()
    (hermes_home / ".env").write_text("A=1\n\n\nBROKEN sk-secret\nexport B=two\nC\n# note\nD='sk-unclosed\n")
    assert read_env(hermes_home) == {"A": "1", "B": "two"}
    assert caplog.messages == [
        f"{hermes_home / '.env'}, line {number} is no NAME=value and is ignored." for number in (4, 8)
    ]
    assert capfd.readouterr() == ("", "")


def test_a_variable_is_taken_out(hermes_home: Path) -> None:
    set_env(hermes_home, "A", "1")
    set_env(hermes_home, "B", "2")
    set_env(hermes_home, "A", None)
    set_env(hermes_home, "NEVER", None)
    assert read_env(hermes_home) == {"B": "2"}


VALUES = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=40).filter(str.isprintable)


@hypothesis_settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=VALUES, second=VALUES)
def test_any_value_reads_back_as_it_was_written(hermes_home: Path, first: str, second: str) -> None:
    set_env(hermes_home, "FIRST", first)
    set_env(hermes_home, "SECOND", second)
    set_env(hermes_home, "FIRST", first)
    assert read_env(hermes_home) == {"FIRST": first, "SECOND": second}


@pytest.mark.parametrize(("name", "value"), [("A B", "x"), ("", "x"), ("A=B", "x"), ("A", "a\nB=evil"), ("A", "a\0")])
def test_what_the_file_cannot_hold_is_refused(hermes_home: Path, name: str, value: str) -> None:
    with pytest.raises(InvalidInput):
        set_env(hermes_home, name, value)
    assert not (hermes_home / ".env").exists()


@pytest.mark.parametrize(
    "name",
    [
        "OPENROUTER_API_KEY",
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "DB_PASSWORD",
        "CLIENT_SECRET",
        "API_SERVER_KEY",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "api_key",
        "Authorization",
        "X-Api-Key",
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "HOME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "SSH_AUTH_SOCK", "MONKEY"])
def test_ordinary_names_are_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


def home_with_secrets(home: Path) -> dict[str, str]:
    home.mkdir()
    (home / "config.yaml").write_text(
        "model: {api_key: model-secret-1}\nproviders: {a: {base_url: 'http://h', api_key: '${A_KEY}'}}\n"
        "fallback_providers: [{provider: a, api_key: fallback-secret}]\n"
        "mcp_servers: {x: {env: {X_TOKEN: mcp-env-secret, MODE: production}, "
        "headers: {Authorization: Bearer mcp-header-secret}}}\n"
        "terminal: {env_passthrough: [LISTED_TOKEN]}\n"
    )
    (home / ".env").write_text("OPENROUTER_API_KEY=file-secret-1\nAPI_SERVER_KEY=server-secret\nAPI_SERVER_PORT=9\n")
    return {
        "HERMES_HOME": str(home),
        "PATH": "/bin",
        "A_KEY": "named-secret-1",
        "GITHUB_TOKEN": "process-secret",
        "LISTED_TOKEN": "listed-secret",
        "SHORT_TOKEN": "none",
    }


def test_children_get_no_key_but_those_that_are_listed(hermes_home: Path) -> None:
    """HA-154."""
    env = child_env(load_config(environ=home_with_secrets(hermes_home)))
    assert env["PATH"] == "/bin"
    assert env["LISTED_TOKEN"] == "listed-secret"
    assert not {"OPENROUTER_API_KEY", "GITHUB_TOKEN", "API_SERVER_KEY", "API_SERVER_PORT"} & env.keys()


def test_every_secret_of_the_settings_is_masked_in_texts(hermes_home: Path) -> None:
    """HA-154, HA-145."""
    secrets = secrets_of(load_config(environ=home_with_secrets(hermes_home)))
    shown = redact("model-secret-1 fallback-secret mcp-env-secret Bearer mcp-header-secret production", secrets)
    assert shown == "[secret] [secret] [secret] [secret] production"
    assert {"file-secret-1", "server-secret", "named-secret-1", "process-secret", "listed-secret"} <= secrets
    assert "none" not in secrets


def test_the_longest_secret_is_masked_first() -> None:
    assert redact("abcdefgh-longer abcdefgh", {"abcdefgh", "abcdefgh-longer"}) == "[secret] [secret]"


@given(secret=st.text(min_size=8, max_size=20), before=st.text(max_size=20), after=st.text(max_size=20))
def test_no_text_holds_a_secret_after_masking(secret: str, before: str, after: str) -> None:
    shown = redact(before + secret + after, {secret})
    assert secret not in shown.replace("[secret]", "\x00")


def test_settings_are_shown_without_secrets_and_with_placeholders() -> None:
    document: dict[str, Any] = {
        "model": {"default": "m", "api_key": "sk-1"},
        "providers": {"a": {"api_key": "${A}", "note": "uses known-secret-9"}},
        "list": [{"token": 7}, "x"],
    }
    assert redact_settings(document, {"known-secret-9"}) == {
        "model": {"default": "m", "api_key": "[secret]"},
        "providers": {"a": {"api_key": "${A}", "note": "uses [secret]"}},
        "list": [{"token": "[secret]"}, "x"],
    }
