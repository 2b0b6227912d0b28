"""Dispatch: two ways to an answer that agree, and an answer to whatever comes."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

import anyio
import msgspec
import pytest
from hermes_core.errors import InvalidInput, StoreError
from hermes_tui_gateway import decode
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import WireError
from hermes_tui_gateway.dispatch import Dispatcher
from hermes_tui_gateway.registry import Method
from hermes_tui_gateway.testing import LocalHost, Refused
from hermes_tui_gateway.wire.shapes import UNSET, Maybe, Params, Result
from hypothesis import given, settings
from hypothesis import strategies as st


class EchoParams(Params, frozen=True, kw_only=True):
    """One field of each kind that the real methods have."""

    session_id: str = ""
    cols: int = 80
    all: bool = False
    rows: tuple[str, ...] = ()
    scope: Literal["", "session"] = ""
    title: Maybe[str] = UNSET
    free: Any = None


class EchoResult(Result, frozen=True, kw_only=True):
    """The params again."""

    got: EchoParams


async def echo(call: Call, params: EchoParams) -> EchoResult:
    return EchoResult(got=params)


async def refuse(call: Call, params: EchoParams) -> EchoResult:
    raise WireError(4018, "Gone.", {"ordinal": None})


async def reject(call: Call, params: EchoParams) -> EchoResult:
    raise InvalidInput("There is no such folder.", "cwd")


async def lose(call: Call, params: EchoParams) -> EchoResult:
    raise StoreError("The disk is full.")


async def crash(call: Call, params: EchoParams) -> EchoResult:
    raise RuntimeError("the password is hunter2")


METHODS = {
    "echo": Method("echo", EchoParams, EchoResult, echo),
    "refuse": Method("refuse", EchoParams, EchoResult, refuse),
    "reject": Method("reject", EchoParams, EchoResult, reject),
    "lose": Method("lose", EchoParams, EchoResult, lose, store_code=5071),
    "crash": Method("crash", EchoParams, EchoResult, crash),
}
DISPATCHER = Dispatcher(METHODS)
NOBODY = cast("Call", None)

scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=()), max_size=8)
values = st.recursive(
    scalars | texts, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
params = st.dictionaries(st.sampled_from(EchoParams.__struct_fields__) | texts, values, max_size=4)
members = {
    "jsonrpc": st.just("2.0") | values,
    "id": values,
    "method": st.sampled_from([*METHODS, "none.such", ""]) | values,
    "params": params | values,
}
requests = st.fixed_dictionaries({}, optional=members) | values


def answers(line: bytes) -> tuple[Any, Any]:
    """Answer a line both ways."""

    async def both() -> tuple[bytes, bytes]:
        request = decode.regular(line)
        return await DISPATCHER.answer(line, request, NOBODY), await DISPATCHER.answer_by_library(line, NOBODY)

    fast, slow = anyio.run(both)
    return msgspec.json.decode(fast), msgspec.json.decode(slow)


@settings(max_examples=300, deadline=None)
@given(requests)
def test_the_fast_way_answers_like_the_library(request_value: Any) -> None:
    fast, slow = answers(json.dumps(request_value).encode())
    assert fast == slow


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_get_one_answer_of_the_protocol(line: bytes) -> None:
    """HA-085."""
    fast, slow = answers(line)
    assert fast == slow
    assert fast["jsonrpc"] == "2.0"
    assert ("result" in fast) != ("error" in fast)


@pytest.mark.parametrize(
    ("line", "code", "identity"),
    [
        (b"1", -32600, None),
        (b"[]", -32600, None),
        (b'[{"id":1,"method":"echo"}]', -32600, None),
        (b'"x"', -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"id":1}', -32600, 1),
        (b'{"id":"a","method":5}', -32600, "a"),
        (b'{"id":1,"method":""}', -32600, 1),
        (b'{"id":1,"method":null}', -32600, 1),
        (b'{"id":1,"method":"echo","params":[]}', -32602, 1),
        (b'{"id":1,"method":"echo","params":["a"]}', -32602, 1),
        (b'{"id":1,"method":"echo","params":"a"}', -32602, 1),
        (b'{"id":1,"method":"echo","params":0}', -32602, 1),
        (b'{"id":1,"method":"echo","params":{"cols":"abc"}}', -32602, 1),
        (b'{"id":1,"method":"echo","params":{"cols":true}}', -32602, 1),
        (b'{"id":1,"method":"echo","params":{"cols":null}}', -32602, 1),
        (b'{"id":1,"method":"echo","params":{"cols":1e400}}', -32602, 1),
        (b'{"id":1,"method":"echo","params":{"cols":' + b"9" * 5000 + b"}}", -32602, 1),
        (b'{"id":1,"method":"echo","params":{"cols":NaN}}', -32700, None),
        (b'{"id":1,"method":"echo","params":{"cols":80}', -32700, None),
        (b'{"id":1,"method":"e\xff"}', -32700, None),
        (b'{"id":1,"method":"echo","params":{"title":"\xff"}}', -32700, None),
        (b"{" * 100_000, -32700, None),
        (b'{"id":1,"method":"echo","params":{"free":' + b"[" * 5000 + b"]" * 5000 + b"}}", -32700, None),
        (b'{"id":{"a":[1]},"method":"none.such"}', -32601, {"a": [1]}),
    ],
)
def test_a_malformed_line_gets_its_code_and_the_id_where_it_is_known(line: bytes, code: int, identity: Any) -> None:
    """HA-085."""

    async def one() -> bytes:
        return await DISPATCHER.answer(line, decode.regular(line), NOBODY)

    frame = msgspec.json.decode(anyio.run(one))
    assert (frame["error"]["code"], frame["id"]) == (code, identity)


def test_a_wrong_value_is_named_in_the_error() -> None:
    """HA-089."""
    fast, _ = answers(b'{"id":1,"method":"echo","params":{"rows":["a",5]}}')
    assert "rows[1]" in fast["error"]["message"]


def test_an_unknown_method_is_named_in_the_error() -> None:
    fast, _ = answers(b'{"id":1,"method":"none.such"}')
    assert fast == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32601, "message": "Method not found: none.such"},
    }


def test_a_request_without_an_id_is_answered_with_null() -> None:
    fast, _ = answers(b'{"method":"echo"}')
    assert fast["id"] is None
    assert fast["result"]["got"]["cols"] == 80


@pytest.mark.parametrize("given_params", [b"", b',"params":null', b',"params":{}', b',"params":{"unknown":[1]}'])
def test_params_may_be_missing_null_or_unknown(given_params: bytes) -> None:
    fast, slow = answers(b'{"id":1,"method":"echo"' + given_params + b"}")
    assert fast == slow
    assert fast["result"]["got"]["session_id"] == ""


def test_half_a_surrogate_pair_is_replaced_and_the_request_is_served() -> None:
    fast, _ = answers(b'{"id":"\\ud83d","method":"echo","params":{"title":"a\\ud83db"}}')
    assert fast["id"] == "\ufffd"
    assert fast["result"]["got"]["title"] == "a\ufffdb"


def test_an_id_comes_back_digit_by_digit() -> None:
    async def one() -> bytes:
        line = b'{"id":1.50e3,"method":"echo"}'
        return await DISPATCHER.answer(line, decode.regular(line), NOBODY)

    assert b'"id":1.50e3' in anyio.run(one)


def test_errors_of_the_core_get_the_code_of_their_kind() -> None:
    assert answers(b'{"id":1,"method":"reject"}')[0]["error"] == {
        "code": 4002,
        "message": "There is no such folder.",
        "data": {"field": "cwd"},
    }
    assert answers(b'{"id":1,"method":"lose"}')[0]["error"]["code"] == 5071
    assert answers(b'{"id":1,"method":"refuse"}')[0]["error"]["data"] == {"ordinal": None}


def test_a_crash_is_told_without_its_text_and_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    fast, slow = answers(b'{"id":1,"method":"crash"}')
    assert fast == slow
    assert fast["error"]["code"] == -32000
    assert "hunter2" not in json.dumps([fast, slow])
    assert "Traceback" in caplog.text


@pytest.mark.anyio
async def test_inline_replies_come_in_the_order_of_the_requests(host: LocalHost) -> None:
    ids = [await host.send("terminal.resize", session_id="none", cols=80) for _ in range(5)]
    ids.append(await host.send("session.active_list"))
    await host.reply(ids[-1])
    assert [frame["id"] for frame in host.frames] == ids


@pytest.mark.anyio
async def test_two_requests_with_one_id_are_both_answered(host: LocalHost) -> None:
    """HA-085."""
    await host.write(b'{"id":5,"method":"session.active_list"}')
    await host.write(b'{"id":5,"method":"none.such"}')
    with pytest.raises(Refused):
        await host.call("none.such")
    assert [frame["id"] for frame in host.frames[:2]] == [5, 5]
