"""The JSON-RPC peer: whatever a line holds comes out as a value, and whatever is sent is one line."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hermes_core import jsonrpc
from hermes_core.jsonrpc import LineSplitter, Malformed, Notification, Peer, Request, Response, RpcError, TooLong
from hypothesis import given
from hypothesis import strategies as st

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def received(text: str | bytes) -> jsonrpc.Incoming | None:
    return Peer().receive(text.encode() if isinstance(text, str) else text)


@pytest.mark.parametrize("identity", ["7", "-1", "1.50", "1e3", '"x"', '"7"', "null", '"\\u00e9"', str(2**70)])
def test_an_id_comes_back_in_exactly_the_type_and_spelling_it_came_in(identity: str) -> None:
    request = received(f'{{"jsonrpc":"2.0","method":"m","id":{identity}}}')
    assert isinstance(request, Request)
    answer = jsonrpc.result_line(request.id, {"ok": True})
    assert answer == f'{{"jsonrpc":"2.0","id":{identity},"result":{{"ok":true}}}}'.encode()


def test_a_call_without_an_id_is_a_notification_with_its_params_unread() -> None:
    notification = received('{"params":{"a":[1, 2]},"method":"m","jsonrpc":"2.0","extra":1}')
    assert isinstance(notification, Notification)
    assert (notification.method, bytes(notification.params)) == ("m", b'{"a":[1, 2]}')


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        ("[]", -32600, b"null"),
        ("5", -32600, b"null"),
        ('"text"', -32600, b"null"),
        ("null", -32600, b"null"),
        ("{}", -32600, b"null"),
        ('{"jsonrpc":"2.0","id":3}', -32600, b"3"),
        ('{"jsonrpc":"2.0","id":3,"method":5}', -32600, b"3"),
        ('{"jsonrpc":"2.0","id":3,"method":null}', -32600, b"3"),
        ('{"id":"q","method":"m"}', -32600, b'"q"'),
        ('{"jsonrpc":"1.0","id":4,"method":"m"}', -32600, b"4"),
        ('{"jsonrpc":"2.0","id":true,"method":"m"}', -32600, b"null"),
        ('{"jsonrpc":"2.0","id":{},"method":"m"}', -32600, b"null"),
        ("{bad json}", -32700, b"null"),
        ('{"jsonrpc":"2.0","id":1,"method":"m"', -32700, b"null"),
        (b"\xff\xfe\x00", -32700, b"null"),
        (b'{"jsonrpc":"2.0","id":4,"method":"\xff"}', -32600, b"4"),
        ("[" * 100_000, -32600, b"null"),
        ('{"id":' + "[" * 100_000, -32700, b"null"),
    ],
)
def test_a_line_that_is_no_message_says_which_error_to_answer_with(
    line: str | bytes, code: int, identity: bytes
) -> None:
    malformed = received(line)
    assert isinstance(malformed, Malformed)
    assert (malformed.error.code, malformed.id) == (code, identity)
    answer = json.loads(jsonrpc.error_line(malformed.id, malformed.error))
    assert answer["error"]["code"] == code
    assert answer["error"]["message"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  \r",
        '{"jsonrpc":"2.0","id":9,"result":{}}',
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no such method"}}',
        '{"jsonrpc":"2.0","id":"x","result":null}',
        '{"jsonrpc":"2.0","error":{}}',
    ],
)
def test_blank_lines_and_answers_nobody_waits_for_are_swallowed(line: str) -> None:
    assert received(line) is None


def test_an_answer_finds_its_request_exactly_once() -> None:
    peer = Peer()
    first, line = peer.request("ask", {"a": 1})
    second, _ = peer.request("ask", {"a": 2})
    assert json.loads(line) == {"jsonrpc": "2.0", "id": first, "method": "ask", "params": {"a": 1}}
    answer = peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{"b":2}}' % second)
    assert answer == Response(second, msgspec.Raw(b'{"b":2}'))
    assert peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{"b":2}}' % second) is None
    assert peer.receive(b'{"id":%d,"error":{"code":-1,"message":"no","data":[1]}}' % first) == Response(
        first, msgspec.Raw(), RpcError(-1, "no", [1])
    )


def test_a_null_result_is_a_success_and_a_malformed_error_is_an_error() -> None:
    peer = Peer()
    first, _ = peer.request("ask", {})
    second, _ = peer.request("ask", {})
    success = peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":null,"error":null}' % first)
    assert isinstance(success, Response)
    assert success.error is None
    failure = peer.receive(b'{"jsonrpc":"2.0","id":%d,"error":"no"}' % second)
    assert isinstance(failure, Response)
    assert failure.error is not None


def test_a_forgotten_request_swallows_its_answer() -> None:
    peer = Peer()
    number, _ = peer.request("ask", {})
    peer.forget(number)
    assert peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % number) is None


def test_requests_that_wait_for_ever_do_not_grow_without_bound() -> None:
    peer = Peer()
    numbers = [peer.request("ask", {})[0] for _ in range(jsonrpc.MAX_PENDING + 1)]
    assert peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % numbers[0]) is None
    assert peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % numbers[1]) is not None


def test_half_a_surrogate_pair_goes_out_as_a_replacement_character() -> None:
    line = jsonrpc.notification_line("m", {"text": "a\ud83d", "list": [("\udc00", 1)], "\ud800": None})
    assert json.loads(line)["params"] == {"text": "a\ufffd", "list": [["\ufffd", 1]], "\ufffd": None}


@given(st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_no_line_raises(line: bytes) -> None:
    message = Peer().receive(line)
    assert message is None or isinstance(message, Request | Notification | Malformed)


@given(json_values)
def test_what_is_sent_is_one_line_and_reads_back_the_same(value: Any) -> None:
    line = jsonrpc.notification_line("m", {"value": value})
    assert b"\n" not in line
    assert json.loads(line)["params"]["value"] == value


@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b" ")), max_size=8), st.data())
def test_lines_are_the_same_wherever_the_stream_is_cut(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    splitter = LineSplitter()
    seen: list[bytes | TooLong] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        seen += splitter.feed(stream[start:end])
    assert seen == lines
    assert splitter.finish() == []


@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b" ")), max_size=8), st.integers(1, 30))
def test_a_line_above_the_limit_is_reported_once_and_its_neighbours_live(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    splitter = LineSplitter(limit=10)
    seen: list[bytes | TooLong] = []
    for start in range(0, len(stream), size):
        seen += splitter.feed(stream[start : start + size])
    assert seen == [line if len(line) <= 10 else TooLong(10) for line in lines]


def test_a_last_line_without_a_line_feed_is_a_line() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"a\nb") == [b"a"]
    assert splitter.finish() == [b"b"]
    assert splitter.finish() == []


def test_answers_with_half_a_character_go_out_with_their_id() -> None:
    """HA-011 kind: whatever a file name or a model brings, the request that waits is answered."""
    assert (
        jsonrpc.result_line(b'"r1"', {"text": "a\ud800b"})
        == '{"jsonrpc":"2.0","id":"r1","result":{"text":"a�b"}}'.encode()
    )
    failed = jsonrpc.error_line(b"7", RpcError(-32000, "no \udfff file", {"path": "\ud800"}))
    assert b'"id":7' in failed
    failed.decode("utf-8")


def test_an_answer_with_neither_result_nor_error_is_a_failure_and_never_a_yes() -> None:
    peer = Peer()
    peer.request("session/request_permission", None)
    message = peer.receive(b'{"id":1,"error":null}')
    assert isinstance(message, Response)
    assert message.error is not None
