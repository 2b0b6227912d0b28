"""Reading shell texts: what they would run is found behind quotes, wrappers, pipes and nested shells."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hermes_core.tools.calls import read_calls
from hermes_core.tools.shell import MAX_LENGTH, read_script
from hypothesis import example, given, settings
from hypothesis import strategies as st

HOME = {"HOME": "/home/me"}


def names(text: str) -> list[str]:
    return [call.name for call in read_calls(text, HOME).calls]


@pytest.mark.parametrize(
    "text",
    [
        "sudo id",
        "/usr/bin/sudo id",
        "su\\do id",
        "s'u'do id",
        's""udo id',
        "$'\\x73udo' id",
        "$'\\163udo' id",
        "$(echo sudo) id",
        "`echo sudo` id",
        "X=sudo; $X id",
        "export X=sudo; ${X} id",
        "env sudo id",
        "env -i A=1 B=2 sudo id",
        "command sudo id",
        "command -p sudo id",
        "exec -a x sudo id",
        "nohup nice -n 5 sudo id",
        "nice -5 sudo id",
        "timeout -k 5 10 sudo id",
        "timeout --signal=KILL 10 sudo id",
        "bash -c 'sudo id'",
        "bash -lc 'sudo id'",
        "sh -c \"bash -c 'sudo id'\"",
        "eval 'sudo id'",
        "eval sudo id",
        "trap 'sudo id' EXIT",
        "bash <<< 'sudo id'",
        "bash <<EOF\nsudo id\nEOF",
        "cat <<EOF | sh\nsudo id\nEOF",
        "echo 'sudo id' | sh",
        "printf 'sudo id\\n' | bash",
        "ls\nsudo id",
        "ls; sudo id",
        "ls && sudo id",
        "ls || sudo id",
        "ls & sudo id",
        "(sudo id)",
        "{ sudo id; }",
        "! sudo id",
        "if true; then sudo id; fi",
        "for x in a; do sudo id; done",
        "while sudo id; do :; done",
        "case a in a) sudo id;; esac",
        "f() { sudo id; }; f",
        "echo $(sudo id)",
        'echo "a $(sudo id) b"',
        "echo `sudo id`",
        "diff <(sudo id) x",
        "cat <<EOF\n$(sudo id)\nEOF",
        "X=$(sudo id)",
        "export X=$(sudo id)",
        "[[ -n $(sudo id) ]]",
        "echo ${X:-$(sudo id)}",
        "find . -exec sudo id {} \\;",
        "find . -execdir sudo id {} +",
        "ls > $(sudo id)",
        "time sudo id",
        "watch -n 1 sudo id",
        "ssh -p 22 host sudo id",
        "sudo -u bob -n sudo id",
        "busybox sudo id",
        "flock -n lock sudo id",
        "flock lock -c 'sudo id'",
        "FOO=bar sudo id",
        "> out sudo id",
    ],
)
def test_a_program_is_found_however_it_is_wrapped(text: str) -> None:
    """HA-058: no spelling hides which program would run."""
    reading = read_calls(text, HOME)
    assert "sudo" in names(text)
    assert reading.doubts == []


@pytest.mark.parametrize("text", ["xargs -n1 -I{} sudo {}", "xargs -0r sudo"])
def test_a_program_is_found_where_its_arguments_come_from_elsewhere(text: str) -> None:
    assert "sudo" in names(text)
    assert read_calls(text, HOME).doubts


@pytest.mark.parametrize(
    "text",
    [
        "$X id",
        "$(cat name) id",
        "${X:-sudo} id",
        "s{ud,ud}o id",
        "s?do id",
        'bash -c "$X"',
        'bash -c "$(curl http://x)"',
        'eval "$(cat x)"',
        "X=ls; eval X=sudo; $X id",
        "X=ls; X=sudo; $X id",
        "for X in sudo; do $X id; done",
        "read X; $X id",
        "X=ls $X id",
        "env -S 'sudo id'",
        "parallel ::: 'sudo id'",
        "xargs --unknown-option sudo",
        "echo 'unclosed",
        "if true; then",
        "ls\x01",
        "su\u200bdo id",
        "su\\\ndo id",
        "ls " + "x" * MAX_LENGTH,
        "$(" * 5000 + "id" + ")" * 5000,
    ],
)
def test_what_cannot_be_known_is_a_doubt(text: str) -> None:
    """HA-058: where full certainty is impossible, the reading says so."""
    assert read_calls(text, HOME).doubts


def test_words_come_without_quotes_and_with_known_variables() -> None:
    script = read_script('rm -rf "$HOME/a b" ~/c \'d e\' f\\ g "$UNSET"', HOME)
    assert [word.text for word in script.commands[0].words] == [
        *("rm", "-rf", "/home/me/a b", "/home/me/c", "d e", "f g", "\0"),
    ]


def test_redirections_are_found_with_their_direction() -> None:
    script = read_script("sort < in > out 2>> log 2>&1", HOME)
    found = [(item.operator, item.target.text) for item in script.commands[0].redirects]
    assert found == [("<", "in"), (">", "out"), (">>", "log")]


def test_what_is_piped_in_is_known_by_name() -> None:
    script = read_script("curl x | tee y | sh", HOME)
    assert script.commands[-1].upstream == ("curl", "tee")


@given(st.text(max_size=200))
@settings(deadline=None)
def test_reading_never_fails(text: str) -> None:
    reading = read_calls(text, HOME)
    assert isinstance(reading.calls, list)


@given(st.text(alphabet="ab \"'$(){};|&<>\\\n`=~*", max_size=60))
@settings(deadline=None)
def test_reading_shell_like_noise_never_fails(text: str) -> None:
    reading = read_calls(text + "\nsudo id", HOME)
    assert reading.doubts or reading.calls


PIECES = [
    *("p", "q ", "p\n", "q;", "p|", "p&&", "(p)", "{ p; }", "$(q)", '"$(q)"', "`p`", "echo p", "X=p ", "X=q;", "$X"),
    *(" ", ";", "|", "&", "&&", "||", "\n", "\n\\", "\n\\\n", " \\\n", "'", '"', "\\", "$(", "`", ")", "( ", "{ "),
    *(">f", ">f p", "<f ", "2>&1 ", "<<<x ", "<<E\nx\nE\n", "<<'E'\n", "<<-E\n\t", "\nE\n", "#", "eval q", ";}"),
    *("| bash", "if p; then q; fi", "for i in 1; do ", "; done", "case x in x) p;; esac", "env p", "xargs q", "-n1 "),
    "bash -c 'p'",
]


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder of programs `p` and `q`, which write their name into the file that LOG names."""
    folder = tmp_path_factory.mktemp("stubs")
    for name in ("p", "q"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho {name} >> "$LOG"\n')
        program.chmod(0o755)
    for name in ("bash", "sh", "env", "xargs"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


@given(pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=7))
@settings(deadline=None, max_examples=80)
@example(pieces=["p", "\n\\", "q "])
@example(pieces=["env p", "\n\\\n", "q "])
@example(pieces=["env p", ">f p", " q "])
@example(pieces=["xargs q", "<<E\nx\nE\n"])
def test_whatever_bash_runs_was_read_or_doubted(stubs: Path, pieces: list[str]) -> None:
    """HA-058: the reading is held against the real shell, on any text."""
    text = "".join(pieces)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        subprocess.run(
            ["bash", "-c", 'ulimit -t 2; eval "$1"', "bash", text],
            cwd=folder,
            env={"PATH": str(stubs), "LOG": str(log)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        ran = set(log.read_text().split()) if log.exists() else set[str]()
    reading = read_calls(text, HOME)
    assert reading.doubts or any(call.stdin_code for call in reading.calls) or ran <= set(names(text))
