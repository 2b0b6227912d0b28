"""The command line itself: start-up, usage, commands of other packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hermes_cli import surfaces
from hermes_cli.exits import Exit
from hermes_cli.main import main
from hermes_process import Hermes

pytestmark = pytest.mark.anyio

HEAVY = ("rich", "prompt_toolkit", "openai", "anyio", "msgspec", "hermes_core", "asyncio", "ruamel")


async def test_the_version_is_told_without_loading_anything_heavy(hermes: Hermes) -> None:
    told = await hermes.run("--version", env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in told.stderr.decode().splitlines()}
    assert told.stdout.decode().startswith("hermes 20")
    assert "hermes_cli" in loaded
    assert not loaded & set(HEAVY)


async def test_a_wrong_flag_is_a_usage_error(hermes: Hermes) -> None:
    wrong = await hermes.run("chat", "--nonsense")
    assert wrong.returncode == Exit.USAGE
    assert b"--nonsense" in wrong.stderr
    assert not wrong.stdout


async def test_an_unknown_command_is_named(hermes: Hermes) -> None:
    wrong = await hermes.run("frobnicate", "--check")
    assert wrong.returncode == Exit.USAGE
    assert b"frobnicate" in wrong.stderr


@pytest.mark.parametrize(
    "words",
    [("hello",), ("what is new",), ("chat", "hello"), ("chat", "-q", "what", "is", "new"), ("-q", "what", "is", "new")],
    ids=" ".join,
)
async def test_a_message_without_its_flag_or_quotes_is_told_where_it_goes(
    hermes: Hermes, words: tuple[str, ...]
) -> None:
    refused = await hermes.run(*words)
    assert (refused.returncode, refused.stdout) == (Exit.USAGE, b"")
    assert b'hermes chat -q "What is new?"' in refused.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("-z", "hi", "-q", "ho"), "-z and -q"),
        (("-z", "hi", "doctor"), "`doctor`"),
        (("-q", "hi", "sessions", "list"), "`sessions`"),
        (("-c", "-r", "x", "-q", "hi"), "--resume and --continue"),
    ],
    ids=" ".join,
)
async def test_flags_that_contradict_each_other_are_named(hermes: Hermes, words: tuple[str, ...], named: str) -> None:
    refused = await hermes.run(*words)
    assert (refused.returncode, refused.stdout) == (Exit.USAGE, b"")
    assert refused.stderr.startswith(b"hermes: ")
    assert named in refused.stderr.decode()
    assert not hermes.home.exists()


async def test_the_chat_without_a_terminal_says_what_to_type_instead(hermes: Hermes) -> None:
    """HA-054: what needs a person does not wait for one that cannot be there."""
    refused = await hermes.run()
    assert refused.returncode == Exit.USAGE
    assert b"chat -q TEXT" in refused.stderr


def _install(folder: Path, name: str, target: str) -> None:
    """Lay a package with a command of the group where Python will find it."""
    info = folder / f"demo_{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: demo-{name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{surfaces.GROUP}]\n{name} = {target}\n")


async def test_a_command_of_another_package_gets_the_remaining_arguments(hermes: Hermes, tmp_path: Path) -> None:
    site = tmp_path / "site"
    _install(site, "demo", "demo_command:main")
    (site / "demo_command.py").write_text("def main(argv):\n    print(argv)\n    return 7\n")
    ran = await hermes.run("demo", "--check", "-q", "--", "x", env={"PYTHONPATH": str(site)})
    assert ran.returncode == 7
    assert ran.stdout.decode().strip() == "['--check', '-q', '--', 'x']"


async def test_a_command_that_cannot_be_imported_says_why(hermes: Hermes, tmp_path: Path) -> None:
    site = tmp_path / "site"
    _install(site, "broken", "no_such_module_here:main")
    ran = await hermes.run("broken", env={"PYTHONPATH": str(site)})
    assert ran.returncode == Exit.FAILED
    assert b"no_such_module_here" in ran.stderr


def test_a_surface_that_is_not_installed_is_named_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(**_: str) -> list[object]:
        return []

    monkeypatch.setattr("importlib.metadata.entry_points", none)
    assert main(["acp", "--check"]) == Exit.USAGE
    said = capsys.readouterr().err
    assert "hermes-acp" in said
    assert 'pip install --find-links WHEELS "hermes-acp>=20' in said


def test_the_help_lists_the_commands_that_are_installed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == Exit.OK
    said = capsys.readouterr().out
    for name in surfaces.installed():
        assert f"hermes {name}" in said


def test_main_takes_its_arguments_from_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["hermes", "--version"])
    assert main() == Exit.OK
    assert capsys.readouterr().out.startswith("hermes ")
