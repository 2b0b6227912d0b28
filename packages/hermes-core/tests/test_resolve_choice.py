"""Which endpoint a choice of model means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hermes_core.config import Config, load_config
from hermes_core.errors import ConfigError, InvalidInput, NoModelError
from hermes_core.models.catalog import model_for, ollama_url
from hermes_core.models.provider import Endpoint
from hermes_core.models.resolve import Models

pytestmark = pytest.mark.anyio

OPENROUTER = {"OPENROUTER_API_KEY": "sk-or-1"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-1"}
OWN = """
model: {default: m1, provider: custom, base_url: "http://127.0.0.1:9/v1", api_key: "${KEY}", context_length: 1000}
providers:
  alpha: {base_url: "http://127.0.0.1:8/v1", models: {fake-2: {context_length: 8000}, qwen/z: {}}}
"""


def configured(home: Path, text: str = "", **environ: str) -> Config:
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(text)
    return load_config(home, environ)


async def resolved(config: Config, model: str = "", provider: str = "", current: str = "") -> Endpoint:
    # No servers to look for: whatever runs on the machine of the tests must not answer.
    return await Models(config, servers=()).resolve(model, provider, current=current)


def shown(endpoint: Endpoint) -> str:
    return f"{endpoint.provider}:{endpoint.model}"


@pytest.mark.parametrize(
    ("environ", "choice", "wanted"),
    [
        (OPENROUTER, "", "openrouter:anthropic/claude-sonnet-4.6"),
        (OPENROUTER, "claude-sonnet-4", "openrouter:anthropic/claude-sonnet-4"),
        (OPENROUTER, "claude-sonnet-4-6", "openrouter:anthropic/claude-sonnet-4.6"),
        (OPENROUTER, "gpt-5", "openrouter:openai/gpt-5"),
        (OPENROUTER, "openrouter:anthropic/claude-sonnet-4.6", "openrouter:anthropic/claude-sonnet-4.6"),
        (OPENROUTER, "anthropic/claude-sonnet-4.6", "openrouter:anthropic/claude-sonnet-4.6"),
        (OPENROUTER, "openrouter/auto", "openrouter:openrouter/auto"),
        (OPENROUTER, "openrouter", "openrouter:anthropic/claude-sonnet-4.6"),
        (OPENROUTER, "x/y:free", "openrouter:x/y:free"),
        (OPENROUTER, "openai/gpt-5", "openrouter:openai/gpt-5"),
        (ANTHROPIC, "", "anthropic:claude-sonnet-4-6"),
        (ANTHROPIC, "claude-sonnet-4.6", "anthropic:claude-sonnet-4-6"),
        (ANTHROPIC, "anthropic/claude-sonnet-4.6", "anthropic:claude-sonnet-4-6"),
        (ANTHROPIC, "anthropic:claude-opus-4.1", "anthropic:claude-opus-4-1"),
        (ANTHROPIC | OPENROUTER, "anthropic/claude-sonnet-4.6", "anthropic:claude-sonnet-4-6"),
        (ANTHROPIC | OPENROUTER, "gpt-5", "openrouter:openai/gpt-5"),
        ({"GOOGLE_API_KEY": "k"}, "Google:gemini-2.5-flash", "gemini:gemini-2.5-flash"),
        ({"GROQ_API_KEY": "k"}, "groq/openai/gpt-oss-120b", "groq:openai/gpt-oss-120b"),
    ],
)
async def test_a_choice_finds_its_provider_and_the_form_of_the_name(
    hermes_home: Path, environ: dict[str, str], choice: str, wanted: str
) -> None:
    assert shown(await resolved(configured(hermes_home, **environ), choice)) == wanted


@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ("", "custom:m1"),
        ("m2", "custom:m2"),
        ("a/b", "custom:a/b"),
        ("llama3:8b", "custom:llama3:8b"),
        ("alpha:fake-2", "alpha:fake-2"),
        ("custom:alpha:fake-2", "alpha:fake-2"),
        ("alpha/qwen/z", "alpha:qwen/z"),
        ("fake-2", "alpha:fake-2"),
        ("alpha", "alpha:fake-2"),
        ("custom", "custom:m1"),
    ],
)
async def test_named_endpoints_of_the_settings_are_chosen_by_name(hermes_home: Path, choice: str, wanted: str) -> None:
    assert shown(await resolved(configured(hermes_home, OWN), choice)) == wanted


async def test_a_bare_name_stays_with_the_provider_in_use(hermes_home: Path) -> None:
    config = configured(hermes_home, **ANTHROPIC, **OPENROUTER)
    assert shown(await resolved(config, "claude-opus-4.1", current="openrouter")) == (
        "openrouter:anthropic/claude-opus-4.1"
    )
    assert shown(await resolved(config, "claude-opus-4.1", current="anthropic")) == "anthropic:claude-opus-4-1"
    assert shown(await resolved(config, "mistral:7b", current="ollama")) == "ollama:mistral:7b"


async def test_what_was_stored_is_found_again_whatever_the_default_is_now(hermes_home: Path) -> None:
    """HA-137: the model of a session keeps its provider, address and key when the default changes."""
    before = await resolved(configured(hermes_home, "model: {default: a/b, provider: openrouter}", **OPENROUTER))
    config = configured(hermes_home, OWN, **OPENROUTER)
    assert await resolved(config, before.model, before.provider) == before


async def test_a_switch_within_one_provider_keeps_its_key_and_reload_brings_the_new_one(hermes_home: Path) -> None:
    """HA-139."""
    models = Models(configured(hermes_home, **OPENROUTER), servers=())
    first = await models.resolve()
    second = await models.resolve("gpt-5", current=first.provider)
    assert (first.api_key, second.api_key) == ("sk-or-1", "sk-or-1")
    await models.reload(configured(hermes_home, OPENROUTER_API_KEY="sk-or-2"))
    third = await models.resolve(second.model, second.provider)
    assert (third.api_key, third.model) == ("sk-or-2", second.model)
    assert "sk-or" not in repr(third) + models.note


async def test_the_context_length_belongs_to_the_model_that_was_chosen(hermes_home: Path) -> None:
    """HA-136."""
    config = configured(hermes_home, OWN)
    lengths = [(await resolved(config, choice)).context_length for choice in ("m1", "alpha:fake-2", "m2", "m1")]
    assert lengths == [1000, 8000, 0, 1000]
    cloud = configured(hermes_home, **OPENROUTER)
    assert (await resolved(cloud, "google/gemini-2.5-pro")).context_length == 1_048_576


async def test_the_environment_names_model_and_provider_before_the_file(hermes_home: Path) -> None:
    keys = OPENROUTER | ANTHROPIC
    config = configured(hermes_home, OWN, HERMES_MODEL="gpt-5", HERMES_INFERENCE_PROVIDER="openrouter", **keys)
    assert shown(await resolved(config)) == "openrouter:openai/gpt-5"
    config = configured(hermes_home, OWN, HERMES_INFERENCE_MODEL="m9")
    assert shown(await resolved(config)) == "custom:m9"
    config = configured(hermes_home, OWN, HERMES_TUI_PROVIDER="anthropic", **keys)
    endpoint = await resolved(config)
    # The address, the key and the model of the file are for the file's provider alone.
    assert (shown(endpoint), endpoint.base_url) == ("anthropic:claude-sonnet-4-6", "https://api.anthropic.com/v1")
    assert endpoint.api_key == "sk-ant-1"


async def test_a_provider_answers_at_the_address_that_the_environment_gives(hermes_home: Path) -> None:
    config = configured(hermes_home, OPENAI_API_KEY="k", OPENAI_BASE_URL="http://127.0.0.1:7/v1", HERMES_MODEL="m")
    endpoint = await resolved(config)
    assert (shown(endpoint), endpoint.base_url, endpoint.api_key) == ("openai:m", "http://127.0.0.1:7/v1", "k")


async def test_an_address_in_the_file_needs_no_provider_name(hermes_home: Path) -> None:
    config = configured(hermes_home, "model: {default: m, base_url: 'http://127.0.0.1:7/v1'}", **OPENROUTER)
    endpoint = await resolved(config)
    assert (shown(endpoint), endpoint.base_url, endpoint.api_key) == ("custom:m", "http://127.0.0.1:7/v1", "")
    config = configured(hermes_home, "model: {default: a/b, base_url: 'https://openrouter.ai/api/v1'}", **OPENROUTER)
    assert (await resolved(config)).api_key == "sk-or-1"


async def test_a_key_alone_in_the_file_tells_its_provider(hermes_home: Path) -> None:
    config = configured(hermes_home, "model: {default: claude-opus-4.1, api_key: sk-ant-xyz}")
    assert shown(await resolved(config)) == "anthropic:claude-opus-4-1"


async def test_the_responses_way_of_speaking_is_chosen_by_the_settings(hermes_home: Path) -> None:
    text = "model: {default: m, provider: openai, api_mode: codex_responses, api_key: k}"
    assert (await resolved(configured(hermes_home, text))).api_mode == "responses"


async def test_a_provider_without_its_key_is_an_error_that_says_where_the_key_goes(hermes_home: Path) -> None:
    config = configured(hermes_home, "model: {default: m, provider: openrouter}")
    with pytest.raises(NoModelError) as caught:
        await resolved(config)
    assert "OPENROUTER_API_KEY" in str(caught.value)
    assert str(hermes_home / ".env") in str(caught.value)


async def test_an_unknown_provider_is_refused_by_name(hermes_home: Path) -> None:
    with pytest.raises(InvalidInput, match="'nowhere'") as caught:
        await resolved(configured(hermes_home, **OPENROUTER), "m", "nowhere")
    assert caught.value.field == "provider"


async def test_an_unknown_provider_in_the_file_is_an_error_of_the_file(hermes_home: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml: model\.provider"):
        await resolved(configured(hermes_home, "model: {provider: nowhere}"))


@pytest.mark.parametrize("name", ["a\nb", "x" * 600])
async def test_what_cannot_be_a_name_is_refused(hermes_home: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        await resolved(configured(hermes_home, **OPENROUTER), name)


async def test_a_configured_model_that_nobody_has_is_not_replaced_by_another(hermes_home: Path) -> None:
    with pytest.raises(NoModelError, match="claude-opus-4"):
        await resolved(configured(hermes_home, "model: claude-opus-4"))


async def test_nothing_at_all_is_an_error_that_says_what_to_do(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_core.models.resolve.find_weights", lambda environ: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(NoModelError) as caught:
        await resolved(configured(hermes_home))
    for advice in ("hermes setup", "OPENROUTER_API_KEY", "Ollama", "HERMES_LOCAL_MODEL"):
        assert advice in str(caught.value)


async def test_no_port_is_asked_when_provider_and_model_are_known(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*args: object, **kwargs: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr("anyio.connect_tcp", refused)
    assert shown(await Models(configured(hermes_home, OWN)).resolve()) == "custom:m1"


@pytest.mark.parametrize(
    ("provider", "model", "wanted"),
    [
        ("openrouter", "grok-4", "x-ai/grok-4"),
        ("openrouter", "claude-3-5-sonnet-20241022", "anthropic/claude-3.5-sonnet"),
        ("openrouter", "claude-sonnet-4-20250514", "anthropic/claude-sonnet-4"),
        ("openrouter", "unheard-of", "unheard-of"),
        ("gemini", "google/gemini-2.5-pro", "gemini-2.5-pro"),
        ("xai", "x-ai/grok-4", "grok-4"),
        ("openai", "openai/gpt-4.1", "gpt-4.1"),
        ("openai", "other/gpt-4.1", "other/gpt-4.1"),
        ("ollama", "qwen3:8b", "qwen3:8b"),
        ("mine", "a/b.c", "a/b.c"),
    ],
)
def test_a_name_is_written_as_the_provider_writes_it(provider: str, model: str, wanted: str) -> None:
    assert model_for(provider, model) == wanted
    assert model_for(provider, wanted) == wanted


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:5000", "http://127.0.0.1:5000/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("localhost:5000", "http://127.0.0.1:5000/v1"),
        ("https://there.example", "https://there.example:443/v1"),
        ("http://there.example:80/", "http://there.example:80/v1"),
        ("there:port", "http://there:11434/v1"),
    ],
)
def test_the_host_of_ollama_is_read_as_ollama_reads_it(host: str, url: str) -> None:
    assert ollama_url(host) == url
