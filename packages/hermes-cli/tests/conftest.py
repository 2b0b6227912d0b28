"""The fixture of the command's own tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hermes_process import Hermes


@pytest.fixture
def hermes(hermes_home: Path, tmp_path: Path) -> Hermes:
    """Return a way to start `hermes` that touches nothing outside the test."""
    folder = tmp_path / "work"
    folder.mkdir()
    return Hermes(hermes_home, folder)
