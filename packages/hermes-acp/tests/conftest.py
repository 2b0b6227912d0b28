"""Fixtures of the editor surface's tests: a scripted model, a home that points at it, and a project folder."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from acp_editor import Editor, connected
from hermes_core.testing import ScriptedModel


def write_config(home: Path, base_url: str) -> None:
    """Let the settings of a home name a custom provider."""
    model = {"default": "m", "provider": "custom", "base_url": base_url, "api_key": "k", "context_length": 100_000}
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text(f"model: {json.dumps(model)}\n", encoding="utf-8")


@pytest.fixture
async def model(hermes_home: Path) -> AsyncGenerator[ScriptedModel]:
    """Answer by directives in the prompt, and let the home's settings point here."""
    async with ScriptedModel() as model:
        write_config(hermes_home, model.base_url)
        yield model
        assert model.violations == [], "a request broke the rules of transcripts"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder for the session to work in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
async def editor(model: ScriptedModel) -> AsyncGenerator[Editor]:
    """An editor that has begun a connection to an agent in this process."""
    async with connected() as editor:
        await editor.initialize()
        yield editor
