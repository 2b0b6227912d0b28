"""`hermes-acp --check`: what is installed, which model would answer and why, and how to mend what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

import anyio
from hermes_core.config import Config, find_home, load_config
from hermes_core.errors import HermesError

import hermes_acp

SETUP = 'Run `hermes-acp --setup`, or choose "Set up Hermes" in the editor.'


class Finding(NamedTuple):
    """One thing that was looked at; `mend` says what to do where it is not well."""

    name: str
    state: str
    well: bool = True
    mend: str = ""


def check() -> int:
    """Print what was found; return 0 when an editor could begin a session now, else 1."""
    findings = list(_findings())
    for finding in findings:
        sys.stdout.write(f"{'ok ' if finding.well else 'BAD'} {finding.name:<11} {finding.state}\n")
        if finding.mend:
            sys.stdout.write(f"{'':<16}{finding.mend}\n")
    return 0 if all(finding.well for finding in findings) else 1


def _findings() -> Iterator[Finding]:
    from importlib.metadata import version

    yield Finding("hermes-acp", hermes_acp.__version__)
    yield Finding("hermes-core", version("hermes-core"))
    home = find_home()
    if home.exists() and not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("home", f"{home} cannot be written", False, f"Make it yours: chown -R $USER {home}")
    else:
        yield Finding("home", str(home) if home.exists() else f"{home} (made when it is first needed)")
    try:
        config = load_config()
    except HermesError as error:
        yield Finding("settings", str(error), False, "Correct the file.")
        return
    yield anyio.run(_model, config)


async def _model(config: Config) -> Finding:
    from hermes_core.models.resolve import Models

    models = Models(config)
    try:
        await models.resolve()
        return Finding("model", models.note)
    except HermesError as error:
        return Finding("model", str(error), False, SETUP)
    finally:
        await models.aclose()
