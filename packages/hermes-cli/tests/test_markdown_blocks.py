"""Markdown in fragments: which blocks are whole, and how they look."""

from __future__ import annotations

import pytest
from hermes_cli.chat.blocks import BIGGEST, Blocks
from hermes_cli.chat.markdown import Painter
from hermes_cli.printable import printable
from hypothesis import given
from hypothesis import strategies as st

MARKS = ["```", "```py", "~~~", "- item", "1. one", "  in", "# h", "| a |", "> q"]
PIECES = ["a word ", "\n", "\n\n", *(f"{mark}\n" for mark in MARKS)]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def blocks_of(*fragments: str) -> list[str]:
    blocks = Blocks()
    found: list[str] = []
    for fragment in fragments:
        found += blocks.feed(fragment)
    return found + blocks.end()


@given(TEXTS)
def test_nothing_is_lost_and_nothing_is_added(text: str) -> None:
    assert "".join(blocks_of(text)) == text


@given(TEXTS, st.data())
def test_where_the_text_is_split_makes_no_difference(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert blocks_of(text[:at], text[at:]) == blocks_of(text) == blocks_of(*text)


@given(TEXTS)
def test_the_rest_is_what_was_not_handed_over(text: str) -> None:
    blocks = Blocks()
    assert "".join(blocks.feed(text)) + blocks.rest == text


def test_a_fence_is_one_block_whatever_is_in_it() -> None:
    code = "```py\nx = 1\n\n# no heading\n\n- no item\n```\n"
    assert blocks_of("Look:\n", code, "So.") == ["Look:\n", code, "So."]


def test_a_list_goes_on_over_blank_lines() -> None:
    items = "- one\n\n- two\n\n  still two\n"
    assert blocks_of(items, "\nNo item.\n") == [items + "\n", "No item.\n"]


def test_a_heading_is_a_block_by_itself() -> None:
    assert blocks_of("# Title\nText\n") == ["# Title\n", "Text\n"]


def test_a_block_without_end_is_cut() -> None:
    long = "x" * 100 + "\n"
    assert all(len(block) <= BIGGEST + 200 for block in blocks_of("```\n" + long * 2000))


def test_a_line_without_end_is_cut_at_the_same_places_however_it_comes() -> None:
    line = "word " * 40_000
    whole = blocks_of(line + "\nend\n")
    assert whole == blocks_of(*(line[at : at + 777] for at in range(0, len(line), 777)), "\n", "end\n")
    assert all(len(block) <= BIGGEST + 10 for block in whole)
    assert "".join(whole) == line + "\nend\n"


def test_the_growing_end_of_a_line_without_end_costs_no_more_than_a_screen() -> None:
    painted = Painter(coloured=False).growing("word " * 10_000, 80)
    assert len(painted) < 8000


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = (
        "# A heading that is longer than the screen\n\nSome *text* with `code`.\n\n- item\n\n```py\nx = 'a' * 99\n```\n"
    )
    painted = Painter(coloured=True).block(text, width)
    assert max(len(line) for line in printable(painted).split("\n")) <= width


def test_text_of_a_model_cannot_steer_the_terminal() -> None:
    painted = Painter(coloured=False).block("before \x1b[2J\x1b]0;title\x07 after \x9b1m\n", 80)
    assert painted == "before  after 1m\n"


def test_the_growing_end_of_a_long_fence_is_painted_as_code() -> None:
    code = "```py\n" + "x = 1\n" * 5000
    painted = Painter(coloured=False).growing(code, 80)
    assert painted.count("\n") < 100
    assert set(painted.strip().split("\n")) == {"  x = 1", "x = 1"}
