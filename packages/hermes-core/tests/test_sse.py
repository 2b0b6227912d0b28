"""The event-stream parser: its grammar, and that it does not matter how the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hermes_core.models.sse import EventTooLong, SseEvent, SseParser
from hypothesis import given
from hypothesis import strategies as st


def parsed(stream: bytes, cuts: list[int] | None = None, limit: int = 1_000_000) -> list[SseEvent]:
    parser = SseParser(limit)
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts or []), len(stream)]
    events = [event for start, end in pairwise(edges) for event in parser.feed(stream[start:end])]
    return events + parser.close()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_events_end_at_a_blank_line_of_any_kind(newline: str) -> None:
    """HA-030: CRLF line ends."""
    stream = newline.join(["data: one", "", "event: error", "data: two", "data:three", "id: 7", "retry: 9", "", ""])
    assert parsed(stream.encode()) == [SseEvent(b"one"), SseEvent(b"two\nthree", b"error")]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_before_between_and_inside_events_leave_no_trace(newline: str) -> None:
    """HA-030."""
    lines = [
        ": PROCESSING",
        "",
        "data: a",
        ": PROCESSING",
        "",
        ":",
        ": x",
        "",
        "",
        "",
        ":y",
        "data: b",
        "",
        ": end",
        "",
    ]
    assert parsed(newline.join(lines).encode()) == [SseEvent(b"a"), SseEvent(b"b")]


@pytest.mark.parametrize("character", ["\u2028", "\u2029", "\u0085", "\u000b", "\u000c", "\u001e"])
def test_only_cr_and_lf_end_a_line(character: str) -> None:
    """HA-031."""
    text = f"left{character}right"
    assert parsed(f"data: {text}\n\n".encode()) == [SseEvent(text.encode())]


def test_an_event_without_data_is_none_and_a_last_one_without_its_blank_line_counts() -> None:
    assert parsed(b"event: ping\n\ndata\n\ndata: [DONE]") == [SseEvent(b""), SseEvent(b"[DONE]")]


def test_a_byte_order_mark_is_skipped_once() -> None:
    mark = "\ufeff".encode()
    assert parsed(mark + b"data: " + mark + b"\n\ndata: x\n\n", [1]) == [SseEvent(mark), SseEvent(b"x")]


@pytest.mark.parametrize("stream", [b"data: " + b"x" * 200, b"data: " + b"x" * 200 + b"\n\n", b":" * 200])
def test_an_event_above_the_limit_is_refused(stream: bytes) -> None:
    with pytest.raises(EventTooLong, match="100 bytes"):
        parsed(stream, limit=100)


LINES = st.sampled_from(["data: a", "data:b", "data", ": c", "event: e", "", "", "x", "data: \u2028é"])


@given(
    lines=st.lists(LINES, max_size=30),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    cuts=st.lists(st.integers(0, 1000), max_size=40),
)
def test_cuts_at_any_byte_change_nothing(lines: list[str], newline: str, cuts: list[int]) -> None:
    """HA-027: bytes split at every offset."""
    stream = newline.join(lines).encode()
    assert parsed(stream, cuts) == parsed(stream)


@given(
    texts=st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), max_size=10),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_every_text_comes_out_as_it_was_sent(texts: list[str], newline: str) -> None:
    stream = "".join(f"data: {text}{newline}{newline}" for text in texts).encode()
    assert [event.data.decode() for event in parsed(stream)] == texts
