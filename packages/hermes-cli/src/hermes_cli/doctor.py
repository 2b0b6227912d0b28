"""`hermes doctor`: what is installed, what is configured, what would answer; and how to mend what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import anyio
from hermes_core.config import Config, find_home, load_config
from hermes_core.config.home import CONFIG_NAME, ENV_NAME
from hermes_core.errors import ConfigError, HermesError, StoreError
from hermes_core.store.protocol import SessionQuery

from hermes_cli import surfaces
from hermes_cli.answering import LOCAL, advice
from hermes_cli.exits import Exit
from hermes_cli.ink import Ink, wants_colour
from hermes_cli.sessions import STORE_NAME

MOST_COUNTED = 1000
NAMES = len("hermes-tui-gateway")
"""Columns of the names, so that what was found stands in one line below the other."""
ANOTHER_HOME = "Set HERMES_HOME to a folder that is yours."


class Finding(NamedTuple):
    """One thing that was looked at. `mend` says what to do where it is not well."""

    name: str
    state: str
    well: bool = True
    mend: str = ""


def run() -> int:
    """Print what was found; return 0 when nothing is wrong, else 1."""
    ink = Ink(coloured=wants_colour(terminal=sys.stdout.isatty()))
    findings = [*_installed(), *_home(find_home())]
    try:
        config = load_config()
    except ConfigError as error:
        findings.append(Finding("settings", str(error), False, "Correct the file; nothing works until it can be read."))
    else:
        findings.append(_sessions(config.home / STORE_NAME))
        findings += anyio.run(_model, config)
    for finding in findings:
        mark = ink.green("✓") if finding.well else ink.red("✗")
        sys.stdout.write(f"{mark} {finding.name:<{NAMES}} {finding.state}\n")
        if finding.mend:
            sys.stdout.write(f"{'':<{NAMES + 3}}{finding.mend}\n")
    return Exit.OK if all(finding.well for finding in findings) else Exit.FAILED


def _installed() -> Iterator[Finding]:
    for package in ("hermes-core", "hermes-cli"):
        yield Finding(package, version(package))
    there = set(surfaces.installed())
    for name in surfaces.ABOUT:
        package = f"hermes-{name}"
        try:
            state = version(package) if name in there else "not installed (optional)"
        except PackageNotFoundError:
            state = "installed"
        yield Finding(package, state)
    yield Finding("python", sys.version.split()[0])


def _home(home: Path) -> Iterator[Finding]:
    if not home.exists():
        parent = next(folder for folder in home.parents if folder.exists())
        if parent.is_dir() and os.access(parent, os.W_OK | os.X_OK):
            yield Finding("home", f"{home} (made when it is first needed)")
        else:
            yield Finding("home", f"{home} cannot be made in {parent}", False, ANOTHER_HOME)
        return
    if not home.is_dir():
        yield Finding("home", f"{home} is no folder", False, ANOTHER_HOME)
        return
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("home", f"{home} cannot be written", False, f"Make it yours: chown -R $USER {home}")
    elif os.name == "posix" and home.stat().st_mode & 0o077:
        yield Finding("home", f"{home} can be entered by others", False, f"chmod 700 {home}")
    else:
        yield Finding("home", str(home))
    for name in (CONFIG_NAME, ENV_NAME):
        path = home / name
        if path.exists() and not path.is_file():
            yield Finding(name, "is no file", False, f"Move it away: {path}")
        elif path.exists() and os.name == "posix" and path.stat().st_mode & 0o077:
            yield Finding(name, "others may read it, and it may hold keys", False, f"chmod 600 {path}")
        else:
            yield Finding(name, "there" if path.exists() else "not there (optional)")


def _sessions(path: Path) -> Finding:
    if not path.exists():
        return Finding("sessions", "none yet")
    try:
        stored = anyio.run(_stored, path)
    except StoreError as error:
        return Finding("sessions", str(error), False, f"Move {path} away to begin anew; keep it, it may be mended.")
    count = f"{stored}" if stored < MOST_COUNTED else f"{MOST_COUNTED} or more"
    return Finding("sessions", f"{count} in {path} ({path.stat().st_size / 1e6:.1f} MB)")


async def _stored(path: Path) -> int:
    from hermes_core.store.sqlite import SqliteStore

    store = SqliteStore(path)
    try:
        await store.open()
        return len(await store.list_sessions(SessionQuery(limit=MOST_COUNTED)))
    finally:
        await store.close()


async def _model(config: Config) -> list[Finding]:
    from hermes_core.models.listing import list_models
    from hermes_core.models.resolve import Models

    models = Models(config)
    try:
        endpoint = await models.resolve()
        note = models.note
    except HermesError as error:
        return [Finding("model", str(error), False)]
    finally:
        await models.aclose()
    hint = advice(endpoint, config, asked_for=False)
    found = [Finding("model", note, mend=hint)]
    if endpoint.provider != LOCAL:
        names = await list_models(endpoint)
        if not names:
            mend = "Check the address and the key; `hermes model NAME` or `hermes setup` changes them."
            found.append(Finding("provider", f"{endpoint.base_url} does not list its models", False, mend))
        elif endpoint.model not in names:
            found.append(Finding("provider", f"{endpoint.base_url} answers, but does not list {endpoint.model}"))
        else:
            found.append(Finding("provider", f"{endpoint.base_url} answers, and has {endpoint.model}"))
    return found
