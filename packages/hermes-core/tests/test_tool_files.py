"""Reading, writing and patching real files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hermes_core.errors import ToolFailed
from hermes_core.questions import FileChange
from hermes_core.testing.tool_context import ToolBench, tool_bench
from hermes_core.tools.edits import PatchArgs, WriteFileArgs, patch, preview, write_file
from hermes_core.tools.reading import MAX_CHARACTERS, ReadFileArgs, read_file
from hermes_core.tools.seen import MAX_FILES, SeenFiles
from hermes_core.tools.text_file import MAX_BYTES
from hermes_core.tools.tool import ToolResult

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[ToolBench]:
    folder = tmp_path / "work"
    folder.mkdir()
    async with tool_bench(folder) as bench:
        yield bench


async def read(bench: ToolBench, path: str, offset: int = 1, limit: int = 500) -> ToolResult:
    return await read_file(ReadFileArgs(path, offset, limit), bench)


async def write(bench: ToolBench, path: str, content: str) -> ToolResult:
    return await write_file(WriteFileArgs(path, content), bench)


async def swap(bench: ToolBench, path: str, old: str, new: str, *, every: bool = False) -> ToolResult:
    return await patch(PatchArgs(path=path, old_string=old, new_string=new, replace_all=every), bench)


# -- reading ---------------------------------------------------------------------------------------


async def test_lines_come_with_numbers_and_say_where_to_go_on(bench: ToolBench) -> None:
    (bench.cwd / "a.txt").write_text("".join(f"line {i}\n" for i in range(1, 11)))
    assert (await read(bench, "a.txt", 3, 2)).text == (
        "    3|line 3\n    4|line 4\n[lines 3-4 of 10; go on with offset 5]"
    )
    assert (await read(bench, "a.txt", 10)).text == "   10|line 10"


async def test_only_line_feeds_end_lines(bench: ToolBench) -> None:
    (bench.cwd / "a.txt").write_text("one\u2028same\x0csame\ntwo")
    assert (await read(bench, "a.txt")).text == "    1|one\u2028same\x0csame\n    2|two"


async def test_an_empty_file_and_an_offset_behind_the_end_are_told(bench: ToolBench) -> None:
    (bench.cwd / "a.txt").write_text("")
    (bench.cwd / "b.txt").write_text("x\n")
    assert (await read(bench, "a.txt")).text == "a.txt is empty."
    assert "has 1 lines; offset 5" in (await read(bench, "b.txt", 5)).text


async def test_long_lines_and_long_windows_are_cut(bench: ToolBench) -> None:
    (bench.cwd / "a.txt").write_text("x" * 5000 + "\n" + ("y" * 1000 + "\n") * 200)
    result = await read(bench, "a.txt")
    assert "[... 3,000 more characters]" in result.text
    assert len(result.text) < MAX_CHARACTERS + 200
    assert "go on with offset" in result.text


async def test_a_file_too_large_to_hold_is_read_in_part(bench: ToolBench) -> None:
    path = bench.cwd / "big.log"
    with path.open("w") as file:
        file.writelines(f"line {i} {'x' * 90}\n" for i in range(120_000))
    assert path.stat().st_size > MAX_BYTES
    result = await read(bench, "big.log", 100_001, 1)
    assert result.text.startswith(" 100001|line 100000 x") or result.text.startswith("100001|line 100000 x")
    assert "of a file of" in result.text


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nmes.txt", "Similar names there: names.txt."),
        ("no/where.txt", "does not exist"),
        (".", "is a folder"),
        ("binary", "not a text file"),
        ("pipe", "not a regular file"),
        ("a\0b", "NUL"),
        ("", "empty"),
    ],
)
async def test_what_cannot_be_read_is_said_with_advice(bench: ToolBench, path: str, message: str) -> None:
    (bench.cwd / "names.txt").write_text("x")
    (bench.cwd / "binary").write_bytes(b"a\0b")
    os.mkfifo(bench.cwd / "pipe")
    result = await read(bench, path)
    assert result.outcome == "error"
    assert message in result.text


# -- writing ---------------------------------------------------------------------------------------


async def test_a_new_file_is_created_with_its_folders(bench: ToolBench) -> None:
    result = await write(bench, "a/b/c.txt", "one\ntwo\n")
    path = bench.cwd / "a/b/c.txt"
    assert path.read_text() == "one\ntwo\n"
    assert result.changes == (FileChange(str(path), None, "one\ntwo\n"),)
    assert oct(path.stat().st_mode & 0o777) == oct(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


async def test_line_ends_mode_mark_and_link_are_kept(bench: ToolBench) -> None:
    real = bench.cwd / "real.sh"
    real.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    real.chmod(0o755)
    (bench.cwd / "link.sh").symlink_to("real.sh")
    await write(bench, "link.sh", "three\nfour\n")
    assert real.read_bytes() == b"\xef\xbb\xbfthree\r\nfour\r\n"
    assert real.stat().st_mode & 0o777 == 0o755
    assert (bench.cwd / "link.sh").is_symlink()
    await swap(bench, "link.sh", "three\nfour", "five")
    assert real.read_bytes() == b"\xef\xbb\xbffive\r\n"


async def test_bytes_that_are_not_text_survive_a_patch(bench: ToolBench) -> None:
    path = bench.cwd / "latin.txt"
    path.write_bytes(b"caf\xe9\nx\n")
    result = await swap(bench, "latin.txt", "x", "y")
    assert path.read_bytes() == b"caf\xe9\ny\n"
    for change in result.changes:
        (change.new or "").encode()


async def test_a_failed_write_leaves_the_file_and_no_trace(bench: ToolBench) -> None:
    (bench.cwd / "file").write_text("x")
    result = await write(bench, "file/below", "y")
    assert result.outcome == "error"
    assert sorted(path.name for path in bench.cwd.iterdir()) == ["file"]
    assert "limit" in (await write(bench, "file", "x" * (MAX_BYTES + 1))).text
    assert (bench.cwd / "file").read_text() == "x"


async def test_a_file_changed_outside_is_not_overwritten(bench: ToolBench) -> None:
    """HA-048: refused before the disk is touched, with advice to read again; afterwards it works."""
    path = bench.cwd / "a.txt"
    await write(bench, "a.txt", "old\n")
    path.write_text("old\nby hand\n")
    for result in (await write(bench, "a.txt", "old\nmine\n"), await swap(bench, "a.txt", "old", "new")):
        assert result.outcome == "error"
        assert "read it again" in result.text
        assert path.read_text() == "old\nby hand\n"
    with pytest.raises(ToolFailed, match="read it again"):
        await preview(WriteFileArgs("a.txt", "x"), bench)
    await read(bench, "a.txt")
    assert (await write(bench, "a.txt", "old\nby hand\nmine\n")).outcome == "ok"
    assert path.read_text() == "old\nby hand\nmine\n"


async def test_an_edit_of_the_same_size_is_noticed_and_a_mere_touch_is_not(bench: ToolBench) -> None:
    """HA-048: the content decides, not time or size."""
    path = bench.cwd / "a.txt"
    await write(bench, "a.txt", "aaaa")
    found = path.stat()
    path.write_text("bbbb")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert (await write(bench, "a.txt", "cccc")).outcome == "error"
    await read(bench, "a.txt")
    os.utime(path)
    assert (await write(bench, "a.txt", "dddd")).outcome == "ok"


async def test_a_change_through_another_path_is_noticed(bench: ToolBench) -> None:
    """HA-048: a link leads to the same file."""
    await write(bench, "a.txt", "one")
    (bench.cwd / "link").symlink_to("a.txt")
    (bench.cwd / "link").write_text("two")
    assert (await write(bench, "link", "three")).outcome == "error"
    await read(bench, "link")
    assert (await write(bench, "a.txt", "three")).outcome == "ok"


async def test_a_file_removed_or_created_outside_is_noticed(bench: ToolBench) -> None:
    """HA-048: that a file is not there is a state too."""
    await write(bench, "a.txt", "one")
    (bench.cwd / "a.txt").unlink()
    assert (await write(bench, "a.txt", "two")).outcome == "error"
    assert "no file" in (await read(bench, "a.txt")).text
    assert (await write(bench, "a.txt", "two")).outcome == "ok"


def test_the_memory_of_seen_files_is_bounded(tmp_path: Path) -> None:
    files = SeenFiles()
    for number in range(MAX_FILES + 10):
        files.seen(tmp_path / str(number))
    (tmp_path / "0").write_text("x")
    (tmp_path / str(MAX_FILES)).write_text("x")
    assert not files.changed_outside(tmp_path / "0")
    assert files.changed_outside(tmp_path / str(MAX_FILES))


# -- patching --------------------------------------------------------------------------------------


async def test_one_passage_or_all_are_replaced(bench: ToolBench) -> None:
    path = bench.cwd / "a.txt"
    path.write_text("x = 1\ny = 1\n")
    assert (await swap(bench, "a.txt", "1", "2")).outcome == "error"
    result = await swap(bench, "a.txt", "1", "2", every=True)
    assert path.read_text() == "x = 2\ny = 2\n"
    assert result.changes == (FileChange(str(path), "x = 1\ny = 1\n", "x = 2\ny = 2\n"),)


async def test_a_patch_changes_adds_removes_and_moves(bench: ToolBench) -> None:
    (bench.cwd / "a").write_text("one\ntwo\n")
    (bench.cwd / "b").write_text("gone\n")
    (bench.cwd / "c").write_text("old\n")
    text = (
        "*** Begin Patch\n*** Update File: a\n@@\n one\n-two\n+TWO\n*** Delete File: b\n"
        "*** Update File: c\n*** Move to: sub/d\n@@\n-old\n+new\n*** Add File: e\n+fresh\n*** End Patch"
    )
    result = await patch(PatchArgs(mode="patch", patch=text), bench)
    assert result.outcome == "ok", result.text
    found = {str(path.relative_to(bench.cwd)): path.read_text() for path in bench.cwd.rglob("*") if path.is_file()}
    assert found == {"a": "one\nTWO\n", "sub/d": "new\n", "e": "fresh\n"}
    assert {(change.old, change.new) for change in result.changes} == {
        ("one\ntwo\n", "one\nTWO\n"),
        ("gone\n", None),
        (None, "new\n"),
        ("old\n", None),
        (None, "fresh\n"),
    }


@pytest.mark.parametrize(
    "second",
    [
        "*** Update File: missing\n@@\n-x\n+y",
        "*** Update File: a\n@@\n-x\n+y",
        "*** Add File: b\n+x",
        "*** Delete File: q",
    ],
)
async def test_a_patch_that_fails_anywhere_changes_nothing(bench: ToolBench, second: str) -> None:
    (bench.cwd / "a").write_text("one\n")
    (bench.cwd / "b").write_text("two\n")
    text = f"*** Begin Patch\n*** Update File: a\n@@\n-one\n+ONE\n{second}\n*** End Patch"
    result = await patch(PatchArgs(mode="patch", patch=text), bench)
    assert result.outcome == "error"
    assert result.changes == ()
    assert (bench.cwd / "a").read_text() == "one\n"


async def test_a_preview_shows_the_edit_and_writes_nothing(bench: ToolBench) -> None:
    (bench.cwd / "a").write_text("one\n")
    args = PatchArgs(path="a", old_string="one", new_string="two")
    assert await preview(args, bench) == (FileChange(str(bench.cwd / "a"), "one\n", "two\n"),)
    assert (bench.cwd / "a").read_text() == "one\n"
    assert not bench.files.changed_outside(bench.cwd / "a")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (PatchArgs(), "path is missing"),
        (PatchArgs(mode="patch"), "patch is missing"),
        (PatchArgs(path="none", old_string="a"), "There is no file"),
    ],
)
async def test_missing_arguments_are_named(bench: ToolBench, args: PatchArgs, message: str) -> None:
    result = await patch(args, bench)
    assert (result.outcome, message in result.text) == ("error", True)
