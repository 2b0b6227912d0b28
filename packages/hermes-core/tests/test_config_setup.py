"""Set-up in a terminal: what is asked, what is tried, and what is written down."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from hermes_core.config import load_config, set_value
from hermes_core.config.setup import setup
from hermes_core.models.catalog import PROVIDERS
from hermes_core.models.resolve import Models
from hermes_core.testing import ScriptedModel, refusal

pytestmark = pytest.mark.anyio

OTHER = str(len(PROVIDERS) + 1)
SECRET = "sk-very-secret"


class Person:
    """Types answers; `shown` is all that stood on the screen. Runs out of answers like a closed terminal."""

    def __init__(self, *answers: str) -> None:
        self.shown: list[str] = []
        self._answers = list(answers)

    def ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self._answers:
            raise EOFError
        return self._answers.pop(0)

    async def sets_up(self) -> int:
        run: Callable[[], int] = partial(setup, self.ask, self.ask, self.shown.append)
        return await anyio.to_thread.run_sync(run)


async def test_a_server_of_ones_own_is_tried_once_and_written_down(hermes_home: Path) -> None:
    async with ScriptedModel() as model:
        person = Person("99", "x", OTHER, "no address", model.base_url, SECRET, "", "my-model")
        assert await person.sets_up() == 0
        assert person.shown.count(f"A number from 1 to {OTHER} is expected.") == 2
        assert person.shown.count("An address begins with http:// or https://.") == 1
        assert len(model.requests) == 1
        assert model.headers[0]["authorization"] == f"Bearer {SECRET}"
        models = Models(load_config())
        endpoint = await models.resolve()
        await models.aclose()
    assert (endpoint.provider, endpoint.model, endpoint.base_url) == ("custom", "my-model", model.base_url)
    assert endpoint.api_key == SECRET
    assert SECRET not in (hermes_home / "config.yaml").read_text(encoding="utf-8")
    assert SECRET in (hermes_home / ".env").read_text(encoding="utf-8")
    assert SECRET not in "".join(person.shown)


async def test_a_known_provider_needs_a_key_and_offers_its_model(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = next(place for place, entry in enumerate(PROVIDERS, 1) if entry.name == "anthropic")
    async with ScriptedModel() as model:
        tried: list[str] = []

        async def answers(chosen: object, config: object) -> str:
            tried.append(repr(chosen))
            return ""

        monkeypatch.setattr("hermes_core.config.setup._tried", answers)
        person = Person(str(number), "", SECRET, "")
        assert await person.sets_up() == 0
        assert model.requests == []
    config = load_config()
    assert (config.model.provider, config.model.default) == ("anthropic", PROVIDERS[number - 1].default_model)
    assert config.environ["ANTHROPIC_API_KEY"] == SECRET
    assert SECRET not in "".join(tried)


async def test_the_address_and_key_of_the_provider_before_are_not_used_for_the_new_one(hermes_home: Path) -> None:
    for name, value in (("provider", "openai"), ("base_url", "http://127.0.0.1:9/v1"), ("api_key", "old-key")):
        set_value(hermes_home, ("model", name), value)
    async with ScriptedModel() as model:
        assert await Person(OTHER, model.base_url, "", "my-model").sets_up() == 0
        models = Models(load_config())
        endpoint = await models.resolve()
        await models.aclose()
    assert (endpoint.base_url, endpoint.api_key) == (model.base_url, "")


@pytest.mark.parametrize("word", ["n", "", "what"])
async def test_what_does_not_answer_is_written_down_only_if_a_person_says_so(hermes_home: Path, word: str) -> None:
    async with ScriptedModel([refusal(401, "bad key")]) as model:
        person = Person(OTHER, model.base_url, SECRET, "my-model", word)
        assert await person.sets_up() == 1
    assert not (hermes_home / "config.yaml").exists()
    assert not (hermes_home / ".env").exists()
    assert "did not answer" in "".join(person.shown)


async def test_a_person_may_write_down_what_does_not_answer_yet(hermes_home: Path) -> None:
    async with ScriptedModel([refusal(401, "bad key")]) as model:
        assert await Person(OTHER, model.base_url, "", "my-model", "y").sets_up() == 0
    assert load_config().model.default == "my-model"


@pytest.mark.parametrize(
    "typed", [[], ["1"], [OTHER, "http://127.0.0.1:9/v1"], [OTHER, "http://127.0.0.1:9/v1", "", "m"]]
)
async def test_leaving_in_between_changes_nothing(hermes_home: Path, typed: list[str]) -> None:
    person = Person(*typed)
    assert await person.sets_up() == 1
    assert not (hermes_home / "config.yaml").exists()
    assert "Nothing was changed" in person.shown[-1]
