"""Reading the settings of a home."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hermes_core.config import load_config, set_value
from hermes_core.errors import ConfigError


def settings(home: Path, text: str, name: str = "config.yaml") -> None:
    home.mkdir(exist_ok=True, parents=True)
    (home / name).write_text(text, encoding="utf-8")


def test_a_home_that_does_not_exist_gives_the_defaults_and_is_not_created(hermes_home: Path) -> None:
    config = load_config()
    assert config.home == hermes_home
    assert not hermes_home.exists()
    assert (config.agent.max_turns, config.approvals.mode, config.approvals.timeout) == (90, "manual", 300)
    assert (config.display.busy_input_mode, config.terminal.timeout) == ("queue", 180)
    server = config.api_server
    assert (server.enabled, server.host, server.port, server.model_name) == (False, "127.0.0.1", 8642, "hermes-agent")
    assert server.max_concurrent_runs == 10
    assert config.browser_extension_control is False


def test_the_home_is_below_the_person_where_no_variable_names_it() -> None:
    assert load_config(environ={}).home == Path.home() / ".hermes"


@pytest.mark.parametrize("text", ["", "null", "# only a comment\n", "---\n", "{}"])
def test_an_empty_file_means_defaults(hermes_home: Path, text: str) -> None:
    """HA-140."""
    settings(hermes_home, text)
    assert load_config().agent.max_turns == 90


@pytest.mark.parametrize(("text", "kind"), [("[]", "a list"), ("'text'", "a text"), ("7", "a number")])
def test_a_root_that_is_no_mapping_is_an_error_that_names_the_file(hermes_home: Path, text: str, kind: str) -> None:
    """HA-140."""
    settings(hermes_home, text)
    with pytest.raises(ConfigError) as caught:
        load_config()
    assert str(hermes_home / "config.yaml") in str(caught.value)
    assert kind in str(caught.value)
    assert (hermes_home / "config.yaml").read_text() == text


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: 1\nb: [1,\nc: 2\n", "line 4"), ("a: 1\nb:\n\tc: 2\n", "line 3"), ("a: 1\na: 2\n", "line 2")],
)
def test_broken_yaml_is_an_error_that_names_the_line(hermes_home: Path, text: str, line: str) -> None:
    """HA-131."""
    settings(hermes_home, text)
    with pytest.raises(ConfigError, match=line):
        load_config()


def test_the_error_about_a_key_that_stands_twice_shows_no_value(hermes_home: Path) -> None:
    settings(hermes_home, "api_key: sk-first-secret\napi_key: sk-second-secret\n")
    with pytest.raises(ConfigError) as caught:
        load_config()
    assert "secret" not in str(caught.value)


def test_text_that_is_not_utf8_is_an_error_that_names_the_line(hermes_home: Path) -> None:
    hermes_home.mkdir()
    (hermes_home / "config.yaml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(ConfigError, match="line 2"):
        load_config()


def test_a_folder_in_the_place_of_the_file_is_an_error(hermes_home: Path) -> None:
    (hermes_home / "config.yaml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="not a file"):
        load_config()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("agent: {max_turns: many}", "agent.max_turns"),
        ("agent: {max_turns: 0}", "agent.max_turns"),
        ("agent: {max_turns: true}", "agent.max_turns"),
        ("agent: {max_turns: 1.5}", "agent.max_turns"),
        ("agent: []", "agent"),
        ("approvals: {mode: sometimes}", "approvals.mode"),
        ("approvals: {timeout: .nan}", "approvals.timeout"),
        ("display: {busy_input_mode: 3}", "display.busy_input_mode"),
        ("display: {show_reasoning: maybe}", "display.show_reasoning"),
        ("model: [a]", "model"),
        ("model: {api_mode: smoke}", "model.api_mode"),
        ("model: {default: {}}", "model.default"),
        ("providers: {mine: text}", "providers.mine"),
        ("providers: {mine: {models: {m: {context_length: x}}}}", "providers.mine.models.m.context_length"),
        ("fallback_providers: {a: b}", "fallback_providers"),
        ("fallback_providers: [{provider: a}, 3]", "fallback_providers[1]"),
        ("toolsets: {a: b}", "toolsets"),
        ("toolsets: [1]", "toolsets"),
        ("compression: {threshold: 2}", "compression.threshold"),
        ("mcp_servers: text", "mcp_servers"),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_that_names_file_and_key(hermes_home: Path, text: str, key: str) -> None:
    """HA-140."""
    settings(hermes_home, text)
    with pytest.raises(ConfigError) as caught:
        load_config()
    assert f"config.yaml: {key} " in str(caught.value)


def test_every_setting_is_read_from_its_key(hermes_home: Path) -> None:
    settings(
        hermes_home,
        """
model: {default: m, provider: Custom, base_url: "http://h/v1", api_key: k, context_length: 9, api_mode: codex_responses}
providers:
  alpha: {base_url: "http://a/v1", key_env: ALPHA_KEY, models: [one, two]}
  beta: {base_url: "http://b/v1", api_mode: responses, models: {big: {context_length: 1000}, small: }}
fallback_providers: [{provider: alpha, model: one}, "openrouter:x/y"]
agent: {max_turns: 5, clarify_timeout: 0}
approvals: {mode: off, timeout: 7.5}
display: {busy_input_mode: steer, show_reasoning: yes, interim_assistant_messages: false}
terminal: {cwd: /srv/here, timeout: 20, env_passthrough: [GITHUB_TOKEN]}
toolsets: [web, terminal]
compression: {enabled: false, threshold: 0.8}
delegation: {max_iterations: 4, max_concurrent_children: 2, max_spawn_depth: 0, model: tiny}
mcp_servers: {files: {command: npx, args: [-y]}}
browser: {extension_control: {enabled: true}}
""",
    )
    config = load_config(environ={"HERMES_HOME": str(hermes_home), "ALPHA_KEY": "alpha-secret"})
    model = config.model
    assert (model.default, model.provider, model.base_url, model.api_key) == ("m", "custom", "http://h/v1", "k")
    assert (model.context_length, model.api_mode) == (9, "responses")
    assert config.providers["alpha"].api_key == "alpha-secret"
    assert config.providers["alpha"].models == {"one": 0, "two": 0}
    assert config.providers["beta"].models == {"big": 1000, "small": 0}
    assert config.providers["beta"].api_mode == "responses"
    assert [(item.provider, item.model) for item in config.fallback_providers] == [
        ("alpha", "one"),
        ("", "openrouter:x/y"),
    ]
    assert (config.agent.max_turns, config.approvals.mode, config.approvals.timeout) == (5, "off", 7.5)
    assert (config.agent.clarify_timeout, load_config(hermes_home / "none", {}).agent.clarify_timeout) == (0, 3600)
    assert config.display.busy_input_mode == "steer"
    assert config.display.show_reasoning
    assert not config.display.interim_assistant_messages
    assert (config.terminal.cwd, config.terminal.timeout) == ("/srv/here", 20)
    assert config.terminal.env_passthrough == ("GITHUB_TOKEN",)
    assert config.toolsets == ("web", "terminal")
    assert (config.compression.enabled, config.compression.threshold) == (False, 0.8)
    assert (config.delegation.max_iterations, config.delegation.max_spawn_depth) == (4, 0)
    assert config.mcp_servers == {"files": {"command": "npx", "args": ["-y"]}}
    assert config.browser_extension_control


@pytest.mark.parametrize("word", ["off", "'off'", "false", "OFF"])
def test_approvals_that_are_off_are_read_whatever_yaml_makes_of_the_word(hermes_home: Path, word: str) -> None:
    settings(hermes_home, f"approvals: {{mode: {word}}}")
    assert load_config().approvals.mode == "off"


@pytest.mark.parametrize("value", ["'true'", "1", "yes"])
def test_a_browser_is_controlled_only_where_it_is_literally_true(hermes_home: Path, value: str) -> None:
    settings(hermes_home, f"browser: {{extension_control: {{enabled: {value}}}}}")
    assert load_config().browser_extension_control is False


def test_a_model_may_be_a_plain_text(hermes_home: Path) -> None:
    settings(hermes_home, "model: anthropic/claude-sonnet-4.6\n")
    assert load_config().model.default == "anthropic/claude-sonnet-4.6"


def test_placeholders_are_expanded_from_the_environment_and_kept_in_the_document(hermes_home: Path) -> None:
    settings(hermes_home, "model: {default: '${NAME}-x', api_key: '${KEY}'}\nagent: {max_turns: '${TURNS}'}\n")
    environ = {"HERMES_HOME": str(hermes_home), "NAME": "big", "KEY": "s3cret-key", "TURNS": "12"}
    config = load_config(environ=environ)
    assert (config.model.default, config.model.api_key, config.agent.max_turns) == ("big-x", "s3cret-key", 12)
    assert config.raw["model"]["api_key"] == "${KEY}"


def test_a_placeholder_without_a_variable_is_no_key_but_stays_visible_elsewhere(hermes_home: Path) -> None:
    settings(hermes_home, "model: {default: '${NAME}', api_key: '${KEY}'}\n")
    config = load_config()
    assert (config.model.default, config.model.api_key) == ("${NAME}", "")


def test_half_a_character_in_a_value_is_replaced_before_anyone_has_to_send_it(hermes_home: Path) -> None:
    """HA-098."""
    settings(hermes_home, 'model: {default: "a\\ud83d"}\ndisplay: {skin: "\\ude00"}\n')
    config = load_config()
    assert config.model.default == "a\ufffd"
    assert config.raw["display"]["skin"].encode()


def test_a_home_that_is_a_file_is_an_error(hermes_home: Path) -> None:
    """HA-140."""
    hermes_home.write_text("not a folder")
    with pytest.raises(ConfigError, match="Not a directory"):
        load_config()
    with pytest.raises(ConfigError, match="cannot be created"):
        set_value(hermes_home, "agent.max_turns", 1)
    assert hermes_home.read_text() == "not a folder"


def test_settings_that_are_nested_without_end_are_an_error(hermes_home: Path) -> None:
    settings(hermes_home, "a: " + "{b: " * 50 + "1" + "}" * 50)
    with pytest.raises(ConfigError, match="levels deep"):
        load_config()


def test_the_process_environment_counts_more_than_the_file_of_variables(hermes_home: Path) -> None:
    settings(hermes_home, "export A=file\nB='with # sign'\nC=${A}\n# D=no\n", ".env")
    config = load_config(environ={"HERMES_HOME": str(hermes_home), "A": "process"})
    assert (config.environ["A"], config.environ["B"], config.environ["C"]) == ("process", "with # sign", "${A}")
    assert "D" not in config.environ


@pytest.mark.parametrize(
    "text",
    [
        "gateway: {api_server: {enabled: true, port: 9000, key: from-the-file-1234, cors_origins: ['http://a']}}",
        "gateway: {platforms: {api_server: {enabled: 'true', port: '9000', key: from-the-file-1234, "
        "cors_origins: 'http://a'}}}",
        "platforms: {api_server: {enabled: yes, port: 9000, key: from-the-file-1234, cors_origins: 'http://a,'}}",
    ],
)
def test_the_api_server_has_three_places_in_the_file(hermes_home: Path, text: str) -> None:
    settings(hermes_home, text)
    server = load_config().api_server
    assert (server.enabled, server.port, server.key) == (True, 9000, "from-the-file-1234")
    assert server.cors_origins == ("http://a",)


def test_the_environment_counts_more_than_the_file_for_the_api_server(hermes_home: Path) -> None:
    """HA-152."""
    settings(hermes_home, "gateway: {api_server: {enabled: false, port: 9000, key: from-the-file, model_name: a}}")
    environ = {
        "HERMES_HOME": str(hermes_home),
        "API_SERVER_ENABLED": "on",
        "API_SERVER_PORT": "9001",
        "API_SERVER_KEY": "from-the-environment",
        "API_SERVER_HOST": "0.0.0.0",
        "API_SERVER_CORS_ORIGINS": "http://a, http://b",
        "API_SERVER_MODEL_NAME": "mine",
    }
    server = load_config(environ=environ).api_server
    assert (server.enabled, server.port, server.key, server.host) == (True, 9001, "from-the-environment", "0.0.0.0")
    assert (server.cors_origins, server.model_name) == (("http://a", "http://b"), "mine")


@pytest.mark.parametrize(("value", "runs"), [("0", 0), ("-3", 0), ("many", 10), ("true", 10), ("25", 25)])
def test_a_malformed_number_of_runs_is_the_default(hermes_home: Path, value: str, runs: int) -> None:
    settings(hermes_home, f"gateway: {{api_server: {{max_concurrent_runs: {value}, port: x}}}}")
    server = load_config().api_server
    assert (server.max_concurrent_runs, server.port) == (runs, 8642)


def test_no_repr_shows_a_secret(hermes_home: Path) -> None:
    settings(
        hermes_home,
        "model: {api_key: hidden-1}\nproviders: {a: {base_url: 'http://h', api_key: hidden-2}}\n"
        "fallback_providers: [{provider: a, api_key: hidden-3}]\ngateway: {api_server: {key: hidden-4}}\n",
    )
    config = load_config(environ={"HERMES_HOME": str(hermes_home), "A_API_KEY": "hidden-5"})
    shown = repr((config, config.model, config.providers, config.fallback_providers, config.api_server))
    assert "hidden" not in shown


def test_importing_the_configuration_loads_no_parser() -> None:
    code = (
        "import sys, hermes_core.config\n"
        "hermes_core.config.load_config()\n"
        "print([name for name in ('ruamel.yaml', 'dotenv', 'openai', 'xllamacpp') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
