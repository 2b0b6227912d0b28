"""Changing texts: exact replacements and V4A patches."""

from __future__ import annotations

import pytest
from hermes_core.errors import ToolFailed
from hermes_core.tools.patch_text import Hunk, applied, parse_patch, replaced
from hypothesis import given
from hypothesis import strategies as st


def test_a_passage_found_once_is_replaced() -> None:
    assert replaced("a\nb\nc\n", "b", "B", every=False, path="f") == "a\nB\nc\n"


def test_a_passage_found_twice_needs_more_lines_or_all() -> None:
    with pytest.raises(ToolFailed, match=r"found 2 times in f \(lines 1, 3\)"):
        replaced("x\ny\nx\n", "x", "z", every=False, path="f")
    assert replaced("x\ny\nx\n", "x", "z", every=True, path="f") == "z\ny\nz\n"


def test_a_passage_not_found_says_where_white_space_differs() -> None:
    with pytest.raises(ToolFailed, match="stands at line 2, but white space"):
        replaced("a\n    b()\n", "\tb()", "c", every=False, path="f")


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("a", "a")])
def test_replacements_without_effect_are_refused(old: str, new: str) -> None:
    with pytest.raises(ToolFailed):
        replaced("a", old, new, every=False, path="f")


PATCH = """*** Begin Patch
*** Update File: a.py
@@ def f():
-    return 1
+    return 2
@@
 x = 1
-y = 2
*** Add File: b.py
+one
+
+two
*** Delete File: c.py
*** Update File: d.py
*** Move to: e.py
@@
-old
+new
*** End Patch
"""


def test_a_patch_over_several_files_is_read() -> None:
    update, add, delete, move = parse_patch(PATCH)
    assert (update.action, update.path) == ("update", "a.py")
    assert update.hunks == (
        Hunk(("    return 1",), ("    return 2",), "def f():"),
        Hunk(("x = 1", "y = 2"), ("x = 1",)),
    )
    assert (add.action, add.text) == ("add", "one\n\ntwo\n")
    assert delete.action == "delete"
    assert (move.path, move.move_to) == ("d.py", "e.py")


def test_hunks_are_applied_below_each_other_and_below_their_anchor() -> None:
    text = "def g():\n    return 1\ndef f():\n    return 1\nx = 1\ny = 2\n"
    assert (
        applied(text, parse_patch(PATCH)[0].hunks, "a.py") == "def g():\n    return 1\ndef f():\n    return 2\nx = 1\n"
    )


def test_white_space_at_line_ends_does_not_matter() -> None:
    assert applied("a  \nb\n", [Hunk(("a", "b"), ("A", "b"))], "f") == "A\nb\n"


def test_a_hunk_that_fits_twice_is_refused() -> None:
    with pytest.raises(ToolFailed, match="several places"):
        applied("a\nb\na\n", [Hunk(("a",), ("c",))], "f")


def test_a_hunk_of_new_lines_only_goes_to_the_end() -> None:
    assert applied("a\n", [Hunk((), ("b",))], "f") == "a\nb\n"
    assert applied("a", [Hunk((), ("b",))], "f") == "a\nb"


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("x", "must begin"),
        ("*** Begin Patch\n*** Add File: a\n+x", "cut off"),
        ("*** Begin Patch\n*** End Patch", "no file"),
        ("*** Begin Patch\nhello\n*** End Patch", "should name a file"),
        ("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", "must begin with '\\+'"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "no changed line"),
        ("*** Begin Patch\n*** Update File: a\n@@\nx\n*** End Patch", "must begin with a blank"),
    ],
)
def test_a_broken_patch_says_what_is_wrong(patch: str, message: str) -> None:
    with pytest.raises(ToolFailed, match=message):
        parse_patch(patch)


def test_a_hunk_that_is_not_there_says_so() -> None:
    with pytest.raises(ToolFailed, match="was not found"):
        applied("a\n", [Hunk(("zzz",), ("b",))], "f")
    with pytest.raises(ToolFailed, match="'def q'"):
        applied("a\n", [Hunk(("a",), ("b",), "def q")], "f")


LINE = st.text(alphabet="abc ", min_size=1, max_size=5)


@given(before=st.lists(LINE, max_size=4), old=LINE, new=st.lists(LINE, max_size=3), after=st.lists(LINE, max_size=4))
def test_applying_a_hunk_and_its_reverse_gives_the_text_back(
    before: list[str], old: str, new: list[str], after: list[str]
) -> None:
    lines = [*before, "MARK", old, "END", *after]
    text = "\n".join(lines) + "\n"
    there = Hunk(("MARK", old, "END"), ("MARK", *new, "END"))
    back = Hunk(there.new, there.old)
    assert applied(applied(text, [there], "f"), [back], "f") == text
