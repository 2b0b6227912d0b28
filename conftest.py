"""What every test shares: the event loop, and a home of its own so that no test sees a person's files."""

from __future__ import annotations

from pathlib import Path

import pytest

SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET")


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio, the loop of every surface."""
    return "asyncio"


@pytest.fixture(autouse=True)
def hermes_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty home, and an environment without keys or other settings of the host."""
    import os

    for name in list(os.environ):
        if name.startswith(("HERMES_", "API_SERVER_")) or name.endswith(SECRET_ENDINGS):
            monkeypatch.delenv(name)
    home = tmp_path / "hermes-home"
    monkeypatch.setenv("HERMES_HOME", str(home))
    return home
