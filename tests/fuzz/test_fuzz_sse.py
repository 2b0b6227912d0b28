"""The event-stream parser on any bytes."""

from __future__ import annotations

from collections.abc import Iterable

from fuzz.generated import CUTS, FUZZ, pieces
from hermes_core.models.sse import EventTooLong, SseEvent, SseParser
from hypothesis import given
from hypothesis import strategies as st

TOKENS = [b"data", b"data:", b"data: ", b"event: e", b":", b" ", b"id: 1", b"\n", b"\n\n", b"\r", b"\r\n", b"x"]
STREAMS = st.lists(st.sampled_from([*TOKENS, b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xff"]) | st.binary(max_size=4)).map(
    b"".join
)


def events(blocks: Iterable[bytes], limit: int = 1_000_000) -> list[SseEvent]:
    """Return the events of a stream that comes in these blocks."""
    parser = SseParser(limit)
    return [event for block in blocks for event in parser.feed(block)] + parser.close()


@FUZZ
@given(STREAMS, CUTS)
def test_it_does_not_matter_where_a_stream_is_cut(stream: bytes, cuts: list[int]) -> None:
    whole = events([stream])
    assert events(pieces(stream, cuts)) == whole
    assert events(bytes([byte]) for byte in stream) == whole


@FUZZ
@given(STREAMS, CUTS, st.integers(1, 30))
def test_an_event_is_within_the_limit_or_refused(stream: bytes, cuts: list[int], limit: int) -> None:
    parser = SseParser(limit)
    try:
        for block in pieces(stream, cuts):
            assert all(len(event.data) <= limit for event in parser.feed(block))
        assert all(len(event.data) <= limit for event in parser.close())
    except EventTooLong as refusal:
        unix = stream.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        assert str(limit) in str(refusal)
        assert any(len(line) >= limit - 1 for line in unix.split(b"\n\n"))
