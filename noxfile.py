"""What CI runs, and what you run before you commit: `uv run nox`, or one session of it with `-s`.

Sessions that check the checkout run in the workspace's own environment; `isolated` makes bare ones.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "schema", "tests", "fuzz", "isolated", "bench"]

ROOT = Path(__file__).parent
PACKAGES = ["hermes-core", "hermes-acp", "hermes-tui-gateway", "hermes-api", "hermes-cli"]
SCRIPTS = {
    "hermes-acp": "hermes-acp",
    "hermes-tui-gateway": "hermes-tui-gateway",
    "hermes-api": "hermes-api",
    "hermes-cli": "hermes",
}


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and formatting (ruff)."""
    session.run(sys.executable, "-m", "ruff", "check", ".")
    session.run(sys.executable, "-m", "ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Check types over sources and tests (basedpyright, strict)."""
    session.run(sys.executable, "-m", "basedpyright", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run every test (pytest), one process for each core. Arguments after `--` go to pytest instead."""
    everything = ["--ignore=tests/fuzz", "-n", "auto", "--dist", "worksteal"]
    session.run(sys.executable, "-m", "pytest", *(session.posargs or everything))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Feed the decoders generated input. `-- N` sets how many examples each test tries (default 500)."""
    session.env["HERMES_FUZZ_EXAMPLES"] = session.posargs[0] if session.posargs else "500"
    session.run(sys.executable, "-m", "pytest", "tests/fuzz", "--timeout=600")


@nox.session
def schema(session: nox.Session) -> None:
    """Check that `schema/` is what the code says. `-- --write` brings it up to date."""
    session.run(sys.executable, "-m", "hermes_core.schema", "schema", *(session.posargs or ["--check"]))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the surfaces against a scripted model and print the figures. `-- --full` takes longer, and is calmer."""
    session.run(sys.executable, "-m", "bench", *session.posargs)


@nox.session
def isolated(session: nox.Session) -> None:
    """Build every wheel, install each alone (with core) in a bare environment, and run it there."""
    scratch = Path(session.create_tmp()).resolve()
    wheels = scratch / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    uv = str(Path(sys.executable).with_name("uv"))
    session.run(uv, "build", "--all-packages", "--wheel", "--out-dir", str(wheels), "--quiet")
    for package in PACKAGES:
        home = scratch / package
        shutil.rmtree(home, ignore_errors=True)
        # `--seed` would bring tools that hide a missing dependency: the environment has nothing but the wheel's own.
        session.run(uv, "venv", "--quiet", "--python", sys.executable, str(home))
        python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        session.run(uv, "pip", "install", "--quiet", "--python", str(python), "--find-links", str(wheels), package)
        session.run(str(python), str(ROOT / "tests" / "isolated.py"), package, SCRIPTS.get(package, ""))
