"""Fixtures of the editor surface's tests: a scripted model, a home that points at it, and a project folder."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from acp_editor import Editor, connected, write_config
from hermes_core.testing import ScriptedModel


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
