"""The list of models that a person can choose from."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest
from hermes_core.config import Config, load_config
from hermes_core.models import picker as picker_module
from hermes_core.models.picker import Picker, PickerRow
from hermes_core.models.resolve import Models
from loopback_servers import MakeServer, Server, model_servers, models

pytestmark = pytest.mark.anyio


@pytest.fixture
async def serve() -> AsyncGenerator[MakeServer]:
    async with model_servers() as make:
        yield make


def configured(home: Path, text: str, **environ: str) -> Config:
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(text)
    return load_config(home, environ)


def by_slug(rows: tuple[PickerRow, ...]) -> dict[str, PickerRow]:
    return {row.slug: row for row in rows}


def saved(**servers: Server) -> str:
    lines = [
        f"  {name}: {{base_url: 'http://127.0.0.1:{server.port}/v1', api_key: key-of-{name}, models: [{name}-saved]}}"
        for name, server in servers.items()
    ]
    return "providers:\n" + "\n".join(lines) + "\n"


async def test_dead_endpoints_are_not_waited_for_and_only_the_one_in_use_is_asked(
    hermes_home: Path, serve: MakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-134."""
    monkeypatch.setattr(picker_module, "PLAIN_TIMEOUT", 20)
    live = await serve(models("found"))
    silent = {f"s{number}": await serve(b"") for number in range(5)}
    for server in silent.values():
        server.hang = True
    text = f"model: {{default: mine, provider: live}}\n{saved(live=live, **silent)}"
    picker = Picker(configured(hermes_home, text))
    with anyio.fail_after(60):
        rows = by_slug(await picker.rows())
        assert rows["live"].models == ("live-saved", "found")
        assert rows["live"].is_current
        assert rows["s0"].models == ("s0-saved",)
        assert [len(server.asked) for server in silent.values()] == [0] * 5
        # What was found is kept: a second look asks nobody.
        await picker.rows()
        assert len(live.asked) == 1
        # Refreshing asks everybody, each with its own key, and does without those that are silent.
        live.answer = lambda path: models("newer")
        rows = by_slug(await picker.rows(refresh=True))
    assert [len(server.asked) for server in silent.values()] == [1] * 5
    assert rows["live"].models == ("live-saved", "newer")
    assert rows["s4"].models == ("s4-saved",)
    assert "Bearer key-of-s4" in silent["s4"].asked[0]


async def test_a_silent_endpoint_in_use_keeps_what_it_is_known_for(hermes_home: Path, serve: MakeServer) -> None:
    """HA-134."""
    silent = await serve(b"")
    silent.hang = True
    text = f"model: {{default: mine, base_url: 'http://127.0.0.1:{silent.port}/v1', api_key: own-secret}}"
    with anyio.fail_after(60):
        rows = by_slug(await Picker(configured(hermes_home, text)).rows(model="in-use"))
    own = rows["custom"]
    assert (own.models, own.source, own.is_current) == (("in-use", "mine"), "model-config", True)
    assert "own-secret" not in repr(rows)


async def test_known_providers_come_first_and_those_without_a_key_only_on_demand(
    hermes_home: Path, serve: MakeServer
) -> None:
    server = await serve(models("m"))
    picker = Picker(configured(hermes_home, saved(mine=server), OPENROUTER_API_KEY="sk-or-secret"))
    slugs = [row.slug for row in await picker.rows(provider="openrouter")]
    assert slugs[0] == "openrouter"
    assert slugs[-1] == "mine"
    assert "anthropic" not in slugs
    rows = by_slug(await picker.rows(provider="openrouter", unconfigured=True))
    assert (rows["anthropic"].authenticated, rows["anthropic"].key_env) == (False, "ANTHROPIC_API_KEY")
    assert (rows["openrouter"].authenticated, rows["openrouter"].is_current) == (True, True)
    assert "secret" not in repr(rows)


async def test_new_settings_make_a_new_list(hermes_home: Path) -> None:
    chooser = Models(configured(hermes_home, ""), servers=())
    before = chooser.picker
    assert chooser.picker is before
    await chooser.reload(configured(hermes_home, "", GROQ_API_KEY="k"))
    assert "groq" in by_slug(await chooser.picker.rows())


async def test_a_wrong_provider_in_the_settings_does_not_hide_the_list(hermes_home: Path) -> None:
    picker = Picker(configured(hermes_home, "model: {provider: nowhere}", GROQ_API_KEY="k"))
    assert "groq" in by_slug(await picker.rows())
