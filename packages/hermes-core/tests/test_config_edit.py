"""Changing one setting in `config.yaml`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hermes_core.config import load_config, set_value
from hermes_core.config.document import parse_document
from hermes_core.errors import ConfigError, InvalidInput
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

WRITTEN = """# what I like
model:
  default: "old/model"   # keep me
  api_key: ${OPENROUTER_API_KEY}
  # the end of model

custom:
    - a
    - b: 1   # odd indent
odd: {a: 1, b: [1,2]}
display:
    show_reasoning: yes
unknown_section:
  deep:
    deeper: 'quoted'

# the end
"""


def written(home: Path, text: str = WRITTEN) -> Path:
    home.mkdir(exist_ok=True, parents=True)
    path = home / "config.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    path.chmod(0o600)
    return path


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    import difflib

    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return [line[2:] for line in lines if line[0] == "-"], [line[2:] for line in lines if line[0] == "+"]


@pytest.mark.parametrize(
    ("key", "value", "removed", "added"),
    [
        ("model.default", "new", ['  default: "old/model"   # keep me'], ["  default: new   # keep me"]),
        ("model.provider", "openrouter", [], ["  provider: openrouter"]),
        ("display.busy_input_mode", "steer", [], ["    busy_input_mode: steer"]),
        ("display.show_reasoning", False, ["    show_reasoning: yes"], ["    show_reasoning: false"]),
        ("odd.a", 5, ["odd: {a: 1, b: [1,2]}"], ["odd: {a: 5, b: [1,2]}"]),
        ("unknown_section.deep.deeper", "", ["    deeper: 'quoted'"], ["    deeper: ''"]),
        ("unknown_section.deep.new", 1, [], ["    new: 1"]),
        ("toolsets", ["a", "b"], [], ["toolsets:", "- a", "- b"]),
        ("custom", ["z"], ["    - a", "    - b: 1   # odd indent"], ["- z"]),
        ("agent.max_turns", 3, [], ["agent:", "  max_turns: 3"]),
    ],
)
def test_only_the_setting_itself_changes(
    hermes_home: Path, key: str, value: Any, removed: list[str], added: list[str]
) -> None:
    """HA-130: comments, order, placeholders, quotes and unknown keys stay, byte for byte."""
    path = written(hermes_home)
    set_value(hermes_home, key, value)
    assert changed_lines(WRITTEN, path.read_text()) == (removed, added)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("model: plain   # note\n", "model.provider", "openai"),
        ("model:\nother: 1\n", "model.default", "x"),
        ("a: {b: 1}\n", "a.c", [1, {"d": "e"}]),
        ("custom:\n  - a\n# note\n", "custom", ["z"]),
        ("a: &x 1\nb: *x\n", "b", 2),
        ("base: &b {k: 1}\nuse:\n  <<: *b\n  z: 1\n", "use.k", 2),
        ("a: |\n  text\n  # no comment\n", "a", "short"),
        ("a: |\n  text\n  # no comment", "b", "short"),
        ("a: 1", "b.c", "no newline at the end"),
        ("---\na: 1\n...\n", "b", True),
        ("a: 1\r\nb:\r\n  c: 2\r\nd: 3\r\n", "b.x", "crlf"),
        ("", "model.default", "first"),
        ("{}\n", "model.default", "first"),
        ("# only a comment\n", "model.default", "first"),
        ("\ufeffa: 1\n", "a", 2),
        ("long: " + "word " * 60 + "\nx: {a: 1}\n", "x.b", 2),
    ],
)
def test_any_document_reads_as_before_but_for_the_setting(hermes_home: Path, text: str, key: str, value: Any) -> None:
    """HA-130."""
    path = written(hermes_home, text)
    expected = parse_document(text, path)
    place: dict[str, Any] = expected
    *parents, last = key.split(".")
    for part in parents:
        child: Any = place.get(part)
        place[part] = child = {"default": child} if isinstance(child, str) else dict(child or {})
        place = child
    place[last] = value
    set_value(hermes_home, key, value)
    after = path.read_bytes().decode()
    assert parse_document(after, path) == expected
    assert all(line in after for line in text.splitlines() if line.startswith("#"))
    assert ("\r\n" in text) == ("\r\n" in after)


KEYS = st.sampled_from(["model", "display", "agent", "x", "y z", "on"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "a", "off", "a: b", "# no", "${A}", "'", "x\ny"])
)
DOCUMENTS = st.dictionaries(KEYS, st.one_of(SCALARS, st.dictionaries(KEYS, SCALARS, max_size=3)), max_size=4)


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=DOCUMENTS, key=st.tuples(KEYS, KEYS), value=SCALARS, flow=st.booleans())
def test_setting_is_the_same_as_changing_the_parsed_document(
    hermes_home: Path, document: dict[str, Any], key: tuple[str, str], value: Any, flow: bool
) -> None:
    from io import StringIO

    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.default_flow_style = flow
    stream = StringIO()
    yaml.dump(document, stream)
    path = written(hermes_home, stream.getvalue())
    parent = document.get(key[0])
    if key[0] == "model" and isinstance(parent, str):
        parent = {"default": parent}
    if parent is not None and not isinstance(parent, dict):
        before = path.read_bytes()
        with pytest.raises(ConfigError):
            set_value(hermes_home, key, value)
        assert path.read_bytes() == before
        return
    set_value(hermes_home, key, value)
    assert parse_document(path.read_text(), path) == {**document, key[0]: {**(parent or {}), key[1]: value}}


@pytest.mark.parametrize("text", ["a: [1,\nb: 2\n", "a:\n\tb: 1\n", "model: {default: x\n", "[]\n", "just text\n"])
def test_a_file_that_cannot_be_read_is_not_written(hermes_home: Path, text: str) -> None:
    """HA-131, HA-140: refused, and the file stays byte for byte."""
    path = written(hermes_home, text)
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        set_value(hermes_home, "agent.max_turns", 3)
    assert path.read_text() == text
    assert [entry.name for entry in hermes_home.iterdir()] == ["config.yaml"]


def test_a_link_stays_a_link(hermes_home: Path, tmp_path: Path) -> None:
    """HA-140."""
    target = tmp_path / "dotfiles" / "hermes.yaml"
    target.parent.mkdir()
    target.write_text("agent: {max_turns: 4}\n")
    hermes_home.mkdir()
    (hermes_home / "config.yaml").symlink_to(target)
    set_value(hermes_home, "agent.max_turns", 5)
    assert (hermes_home / "config.yaml").is_symlink()
    assert target.read_text() == "agent: {max_turns: 5}\n"
    assert load_config().agent.max_turns == 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into any folder")
def test_a_folder_that_cannot_be_written_is_an_error(hermes_home: Path) -> None:
    """HA-140."""
    path = written(hermes_home)
    hermes_home.chmod(0o500)
    try:
        with pytest.raises(ConfigError, match="cannot be written"):
            set_value(hermes_home, "agent.max_turns", 3)
    finally:
        hermes_home.chmod(0o700)
    assert path.read_text() == WRITTEN


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-140: as on a read-only folder or a full disk."""
    path = written(hermes_home)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigError, match="No space left"):
        set_value(hermes_home, "agent.max_turns", 3)
    assert path.read_text() == WRITTEN
    assert [entry.name for entry in hermes_home.iterdir()] == ["config.yaml"]


def test_the_first_write_makes_a_home_for_its_owner_only(hermes_home: Path) -> None:
    set_value(hermes_home, "model.default", "m")
    assert hermes_home.stat().st_mode & 0o777 == 0o700
    assert (hermes_home / "config.yaml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("key", ["", "a..b", " ", ".a"])
def test_an_empty_key_is_refused(hermes_home: Path, key: str) -> None:
    with pytest.raises(InvalidInput):
        set_value(hermes_home, key, 1)
    assert not hermes_home.exists()


def test_a_key_with_a_dot_in_it_is_given_in_parts(hermes_home: Path) -> None:
    set_value(hermes_home, ("providers", "my.host", "base_url"), "http://h/v1")
    assert load_config().providers["my.host"].base_url == "http://h/v1"


def test_half_a_character_is_written_as_a_whole_one(hermes_home: Path) -> None:
    """HA-098."""
    set_value(hermes_home, "model.default", "a\ud83d")
    assert load_config().model.default == "a\ufffd"


def test_a_placeholder_can_be_set(hermes_home: Path) -> None:
    set_value(hermes_home, "model.api_key", "${SOME_KEY}")
    assert load_config().raw["model"]["api_key"] == "${SOME_KEY}"


def test_a_word_that_older_yaml_takes_for_a_boolean_is_quoted(hermes_home: Path) -> None:
    set_value(hermes_home, "approvals.mode", "off")
    assert (hermes_home / "config.yaml").read_text() == 'approvals:\n  mode: "off"\n'


def test_two_processes_that_write_at_the_same_time_lose_nothing(hermes_home: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hermes_core.config import set_value\n"
        "for number in range(int(sys.argv[2]), int(sys.argv[2]) + 8):\n"
        "    set_value(Path(sys.argv[1]), f'counters.n{number}', number)\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(hermes_home), start]) for start in ("0", "100")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    counters = load_config().raw["counters"]
    assert counters == {f"n{number}": number for start in (0, 100) for number in range(start, start + 8)}
