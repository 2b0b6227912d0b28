"""Searching real folders."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest
from hermes_core.testing.tool_context import ToolBench, tool_bench
from hermes_core.tools import walk
from hermes_core.tools.search import MAX_CHARACTERS, SearchFilesArgs, search_files

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ToolBench]:
    folder = tmp_path / "work"
    files = {
        "a.py": "import os\nneedle = 1\nend\n",
        "sub/b.py": "needle = 2\nneedle = 3\n",
        "sub/c.txt": "needle in text\n",
        "sub/.gitignore": "*.log\n!keep.log\n/only_here\n",
        "sub/x.log": "needle\n",
        "sub/keep.log": "needle kept\n",
        "sub/only_here": "needle\n",
        "sub/deep/only_here": "needle deep\n",
        ".gitignore": "out/\n*.tmp\n",
        "out/d.py": "needle\n",
        "e.tmp": "needle\n",
        ".env": "KEY=needle\n",
        "node_modules/f.js": "needle\n",
        ".git/config": "needle\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "binary").write_bytes(b"needle\0")
    async with tool_bench(folder) as bench:
        yield bench


async def found(bench: ToolBench, args: SearchFilesArgs) -> list[str]:
    return (await search_files(args, bench)).text.splitlines()


async def test_contents_are_found_where_no_ignore_file_forbids_it(bench: ToolBench) -> None:
    assert await found(bench, SearchFilesArgs("needle")) == [
        "a.py:2:needle = 1",
        "sub/b.py:1:needle = 2",
        "sub/b.py:2:needle = 3",
        "sub/c.txt:1:needle in text",
        "sub/deep/only_here:1:needle deep",
        "sub/keep.log:1:needle kept",
    ]


async def test_rules_above_the_folder_searched_hold_too(bench: ToolBench) -> None:
    (bench.cwd / "sub/g.tmp").write_text("needle\n")
    assert not [line for line in await found(bench, SearchFilesArgs("needle", path="sub")) if "g.tmp" in line]


async def test_an_ignored_folder_is_searched_when_it_is_named(bench: ToolBench) -> None:
    assert await found(bench, SearchFilesArgs("needle", path="out")) == ["d.py:1:needle"]


async def test_names_are_found_by_wildcard(bench: ToolBench) -> None:
    assert await found(bench, SearchFilesArgs("*.py", "files")) == ["a.py", "sub/b.py"]
    assert await found(bench, SearchFilesArgs("sub/*.py", "files")) == ["sub/b.py"]
    assert await found(bench, SearchFilesArgs("*.zig", "files")) == ["Nothing was found."]


async def test_modes_globs_context_and_pages(bench: ToolBench) -> None:
    assert await found(bench, SearchFilesArgs("needle", file_glob="*.py", output_mode="files_only")) == [
        *("a.py", "sub/b.py"),
    ]
    assert await found(bench, SearchFilesArgs("needle", file_glob="*.py", output_mode="count")) == [
        *("a.py: 1", "sub/b.py: 2"),
    ]
    assert await found(bench, SearchFilesArgs("needle", path="a.py", context=1)) == [
        *(f"{bench.cwd}/a.py-1-import os", f"{bench.cwd}/a.py:2:needle = 1", f"{bench.cwd}/a.py-3-end", "--"),
    ]
    assert await found(bench, SearchFilesArgs("needle", limit=1, offset=1)) == [
        *("sub/b.py:1:needle = 2", "[more results; go on with offset 2]"),
    ]
    assert await found(bench, SearchFilesArgs("needle", offset=99)) == ["No more results."]


async def test_stores_and_secrets_are_never_among_the_results(
    bench: ToolBench, hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-157: a search is no way to read the product's own files, nor a link into them."""
    hermes_home.mkdir(parents=True)  # noqa: ASYNC240 - a test lays out its files
    (hermes_home / ".env").write_text("needle\n")
    (hermes_home / "config.yaml").write_text("needle\n")
    (hermes_home / "notes.md").write_text("needle\n")
    (bench.cwd / "way.txt").symlink_to(hermes_home / ".env")
    (bench.cwd / "hard.txt").hardlink_to(hermes_home / ".env")
    assert await found(bench, SearchFilesArgs("needle", path=str(hermes_home))) == ["notes.md:1:needle"]
    above = await found(bench, SearchFilesArgs("needle", path=str(hermes_home.parent), output_mode="files_only"))
    assert [line for line in above if line.startswith(hermes_home.name)] == [f"{hermes_home.name}/notes.md"]
    assert not [line for line in await found(bench, SearchFilesArgs("needle")) if "way" in line or "hard" in line]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(", "not a regular expression"), ("(a+)+$", "for ever"), ("(a|b*)*c", "for ever"), (r"(\s*x\s*)*", "for ever")],
)
async def test_wrong_and_explosive_patterns_are_refused(bench: ToolBench, pattern: str, message: str) -> None:
    result = await search_files(SearchFilesArgs(pattern), bench)
    assert (result.outcome, message in result.text) == ("error", True)


@pytest.mark.parametrize("pattern", [r"(foo|bar)+", r"def \w+\(.*\):", r"^(\s{4}){2,3}x", r"(?<=a)b+", r"(?>a+)+"])
async def test_ordinary_patterns_are_not_refused(bench: ToolBench, pattern: str) -> None:
    re.compile(pattern)
    assert (await search_files(SearchFilesArgs(pattern), bench)).outcome == "ok"


async def test_results_are_bounded(bench: ToolBench) -> None:
    (bench.cwd / "long.txt").write_text(("needle" + "x" * 5000 + "\n") * 500)
    text = (await search_files(SearchFilesArgs("needle", path="long.txt", limit=500), bench)).text
    assert len(text) < MAX_CHARACTERS + 1000
    assert "go on with offset" in text


async def test_a_search_ends_with_its_turn(bench: ToolBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker looks for the cancellation between files; an endless folder proves it."""
    begun = anyio.Event()
    token = anyio.lowlevel.current_token()

    def endless(folder: str, rules: walk.Rules) -> Iterator[os.DirEntry[str]]:
        with os.scandir(folder) as entries:
            entry = next(entry for entry in entries if entry.name == "a.py")
        anyio.from_thread.run_sync(begun.set, token=token)
        while True:
            yield entry

    monkeypatch.setattr(walk, "_walk", endless)
    monkeypatch.setattr(walk, "MAX_FILES", 10**12)
    ended = False
    with anyio.fail_after(20):
        async with anyio.create_task_group() as turn:
            turn.start_soon(search_files, SearchFilesArgs("nowhere to be found"), bench)
            await begun.wait()
            turn.cancel_scope.cancel()
        ended = True
    assert ended


async def test_a_missing_folder_is_an_error(bench: ToolBench) -> None:
    assert (await search_files(SearchFilesArgs("x", path="missing"), bench)).outcome == "error"
