"""The JSON-RPC peer on any lines."""

from __future__ import annotations

import json
from typing import Any

from fuzz.generated import CUTS, FUZZ, fields, lines, objects, pieces, values
from hermes_core import jsonrpc
from hermes_core.jsonrpc import LineSplitter, Malformed, Notification, Peer, Request, Response, RpcError, TooLong
from hypothesis import given
from hypothesis import strategies as st

WORDS = ["2.0", "id", "jsonrpc", "method", "params", "result", "error", "code", "message", "data", "session/new"]
VALUES = values(WORDS)
FRAMES = fields(
    jsonrpc=st.just("2.0") | VALUES,
    id=VALUES,
    method=VALUES,
    params=VALUES,
    result=VALUES,
    error=objects(RpcError, VALUES) | VALUES,
)
ANSWERS = fields(id=st.just(1) | VALUES, result=VALUES, error=objects(RpcError, VALUES) | VALUES)


@FUZZ
@given(lines(FRAMES | ANSWERS | VALUES))
def test_any_line_comes_out_as_a_value_that_can_be_answered(line: bytes) -> None:
    peer = Peer()
    peer.request("session/request_permission", None)
    message = peer.receive(line)
    match message:
        case Request():
            assert answered(jsonrpc.result_line(message.id, {})) == {"result": {}}
        case Malformed():
            assert answered(jsonrpc.error_line(message.id, message.error))["error"]["code"] in (-32700, -32600)
        case Response():
            assert message.id == 1
            assert bool(message.result) != (message.error is not None)
        case Notification() | None:
            assert message is None or isinstance(message.method, str)


def answered(line: bytes) -> dict[str, Any]:
    """Return what an answer says, having checked that it is one line of the protocol."""
    assert b"\n" not in line
    frame = json.loads(line.decode())
    assert frame.pop("jsonrpc") == "2.0"
    identity = frame.pop("id")
    assert identity is None or isinstance(identity, str | int | float)
    return frame


@FUZZ
@given(st.lists(st.sampled_from([b"\n", b"\r\n", b"{}", b"abcdef"]) | st.binary(max_size=6)).map(b"".join), CUTS)
def test_lines_are_the_same_wherever_the_blocks_end(stream: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    found = [line for block in pieces(stream, cuts) for line in splitter.feed(block)] + splitter.finish()
    *whole, rest = stream.split(b"\n")
    assert found == ([*whole, rest] if rest else whole)


@FUZZ
@given(st.lists(st.sampled_from([b"\n", b"ab", b"abcdef"]) | st.binary(max_size=6)).map(b"".join), CUTS)
def test_a_line_that_is_too_long_costs_only_itself(stream: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter(limit=5)
    found = [line for block in pieces(stream, cuts) for line in splitter.feed(block)] + splitter.finish()
    *whole, rest = stream.split(b"\n")
    expected = [line if len(line) <= 5 else TooLong(5) for line in ([*whole, rest] if rest else whole)]
    assert found == expected
