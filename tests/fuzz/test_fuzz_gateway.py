"""The gateway's decoding and dispatch on any lines, with the params of its real methods."""

from __future__ import annotations

import json
from typing import Any, cast

import msgspec
import pytest
from fuzz.generated import FUZZ, TEXTS, as_json, fields, lines, objects, values, words_of
from hermes_tui_gateway import decode
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.codes import WireError
from hermes_tui_gateway.dispatch import Dispatcher
from hermes_tui_gateway.registry import METHODS, Method
from hermes_tui_gateway.wire.shapes import Nothing, Params
from hermes_tui_gateway.wire.turns import SubmitParams
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio

VALUES = values([*words_of(method.params for method in METHODS.values()), "text", "image_url", "url", "type"])
PARTS = fields(type=st.sampled_from(["text", "image_url", "audio"]), text=VALUES, image_url=fields(url=VALUES) | VALUES)
PROMPTS = TEXTS | st.lists(PARTS | VALUES, max_size=3) | VALUES
NAMES = sorted(METHODS)
NOBODY = cast("Call", None)


async def accepted(call: Call, params: Params) -> Nothing:
    """Do nothing: how far a request comes is what is tested."""
    return Nothing()


DISPATCHER = Dispatcher({name: Method(name, row.params, Nothing, accepted) for name, row in METHODS.items()})


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Return a request of a real method, with params in its own words."""
    name = draw(st.sampled_from(NAMES))
    params = objects(METHODS[name].params, VALUES) | VALUES
    return {"method": name, **draw(fields(id=VALUES, params=params, jsonrpc=st.just("2.0")))}


@FUZZ
@given(lines(requests() | VALUES))
async def test_any_line_gets_one_answer_and_both_ways_give_the_same(line: bytes) -> None:
    request = decode.regular(line)
    answers = [await DISPATCHER.answer(line, request, NOBODY), await DISPATCHER.answer_by_library(line, NOBODY)]
    fast, slow = (json.loads(answer.decode()) for answer in answers)
    assert fast == slow
    assert fast["jsonrpc"] == "2.0"
    assert fast.get("result") == {} or fast["error"]["code"] in (-32700, -32600, -32601, -32602)


@FUZZ
@given(st.sampled_from(NAMES), st.data())
def test_params_are_a_struct_or_an_error_that_names_what_is_wrong(name: str, data: st.DataObject) -> None:
    method = METHODS[name]
    params = msgspec.Raw(as_json(data.draw(objects(method.params, VALUES) | VALUES)))
    try:
        assert isinstance(decode.params_from_json(method.params, method.decoder, params), method.params)
    except WireError as error:
        assert error.error.code == -32602
        assert error.error.message.startswith("Invalid params: ")


@FUZZ
@given(PROMPTS)
def test_a_prompt_becomes_parts_or_an_error(text: Any) -> None:
    try:
        params = decode.params_from_value(SubmitParams, decode.any_json(as_json({"text": text})))
        parts = decode.parts_of(params.text)
    except (WireError, ValueError) as error:
        assert str(error)
    else:
        assert all(msgspec.json.encode(part) for part in parts)
