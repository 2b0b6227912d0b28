"""Tool calls put together from every kind of pieces that providers send."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hermes_core.errors import StreamBroken
from hermes_core.messages import AssistantMessage, ToolCall, ToolMessage, user_text
from hermes_core.models.provider import ModelRequest
from hypothesis import given
from hypothesis import strategies as st
from provider_streams import chunk, failure, function, pieces, read, reply, sse


def calls(*items: dict[str, Any], finish: str = "tool_calls") -> list[tuple[str, str, str]]:
    whole = reply(*pieces(*items), chunk({}, finish))
    return [(call.id, call.name, call.arguments) for call in whole.tool_calls]


@pytest.mark.parametrize("interleaved", [False, True])
def test_calls_without_an_index_are_told_apart_by_their_ids(interleaved: bool) -> None:
    """HA-024."""
    a = [{"id": "a", "function": function(part, "f" if part == '{"x' else None)} for part in ('{"x', '":', "1}")]
    b = [{"id": "b", "function": function(part, "g" if part == '{"y' else None)} for part in ('{"y', '":', "2}")]
    order = [piece for pair in zip(a, b, strict=True) for piece in pair] if interleaved else a + b
    assert calls(*order) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_pieces_with_neither_index_nor_id_go_on_with_the_last_call() -> None:
    """HA-024: the id comes once."""
    a = [{"id": "a", "function": function('{"x', "f")}, {"function": function('":')}, {"function": function("1}")}]
    b = [{"id": "b", "function": function("{", "g")}, {"function": function("}")}]
    assert calls(*a, *b) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


def test_three_whole_calls_at_position_zero_are_three_calls() -> None:
    """HA-034."""
    items = [{"index": 0, "id": f"c{n}", "function": function(f'{{"path":"{n}"}}', "read_file")} for n in range(3)]
    assert calls(*items) == [(f"c{n}", "read_file", f'{{"path":"{n}"}}') for n in range(3)]


def test_three_whole_calls_at_position_zero_without_ids_are_three_calls_with_ids() -> None:
    """HA-034: nor does any of them bring an id."""
    found = calls(*[{"index": 0, "function": function(f'{{"path":"{n}"}}', "read_file")} for n in range(3)])
    assert [arguments for _, _, arguments in found] == [f'{{"path":"{n}"}}' for n in range(3)]
    assert len({call_id for call_id, _, _ in found}) == 3


@pytest.mark.parametrize("index", [[0, 1], [0, 0], [None, None]])
def test_two_calls_that_share_an_id_get_distinct_ones(index: list[int | None]) -> None:
    """HA-035."""
    items = [{"index": at, "id": "same", "function": function(f'{{"n":{n}}}', "f")} for n, at in enumerate(index)]
    found = calls(*items)
    assert [arguments for _, _, arguments in found] == ['{"n":0}', '{"n":1}']
    assert found[0][0] == "same" != found[1][0]


def test_an_id_that_an_earlier_turn_used_is_replaced() -> None:
    """HA-035: ids are distinct across the conversation."""
    before = (
        user_text("?"),
        AssistantMessage(tool_calls=(ToolCall("call_0", "f", "{}"),)),
        ToolMessage("call_0", "f", ""),
    )
    stream = sse(*pieces({"index": 0, "id": "call_0", "function": function("{}", "f")}), chunk({}, "tool_calls"))
    answer, _ = read(stream, request=ModelRequest(model="m", messages=before))
    assert answer.reply.tool_calls[0].id not in ("", "call_0")


@pytest.mark.parametrize("call_id", ["x" * 41, "a b\n", "ключ", ""])
def test_an_id_that_providers_would_refuse_is_replaced(call_id: str) -> None:
    [(found, _, _)] = calls({"index": 0, "id": call_id, "function": function("{}", "f")})
    assert found.isascii() and found != call_id and 0 < len(found) <= 40


def test_a_repeated_whole_call_is_one_call() -> None:
    piece = {"index": 0, "id": "a", "function": function('{"n":1}', "f")}
    assert calls(piece, piece) == [("a", "f", '{"n":1}')]


@pytest.mark.parametrize("index", [{"index": 0}, {}])
def test_name_and_type_may_come_after_the_first_piece_of_the_arguments(index: dict[str, int]) -> None:
    """HA-039."""
    items: list[dict[str, Any]] = [
        {**index, "id": "a", "function": function('{"q')},
        {**index, "function": function(name="search")},
        {**index, "type": "function", "function": function('":1}')},
    ]
    assert calls(*items) == [("a", "search", '{"q":1}')]


def test_name_id_and_type_may_be_repeated_in_every_piece() -> None:
    items = [
        {"index": 0, "id": "a", "type": "function", "function": function(part, "f")} for part in ('{"x', '":1', "}", "")
    ]
    assert calls(*items) == [("a", "f", '{"x":1}')]


def test_arguments_may_be_an_object_and_numbers_texts() -> None:
    assert calls({"index": "0", "id": 7, "function": function({"x": 1}, "f")}) == [("7", "f", '{"x":1}')]


def test_a_call_that_never_got_a_name_is_given_one_that_no_tool_has() -> None:
    assert calls({"index": 0, "id": "a", "function": function("{}")}) == [("a", "unnamed_tool", "{}")]


def test_calls_make_the_finish_tool_calls_whatever_the_provider_says() -> None:
    whole = reply(*pieces({"index": 0, "id": "a", "function": function("{}", "f")}), chunk({}, "stop"))
    assert whole.finish == "tool_calls"


def test_a_call_cut_by_the_token_limit_is_given_as_far_as_it_was_written() -> None:
    """HA-023: the finish says `length`, so that nobody runs it."""
    cut = '{"path":"a","content":"xx'
    whole = reply(*pieces({"index": 0, "id": "a", "function": function(cut, "write_file")}), chunk({}, "length"))
    assert (whole.finish, whole.tool_calls[0].arguments) == ("length", cut)


def test_too_many_calls_are_refused() -> None:
    broken = failure(*pieces(*[{"index": n, "function": function("{}", "f")} for n in range(300)]))
    assert isinstance(broken, StreamBroken) and "256 tool calls" in broken.message


@given(st.data())
def test_parallel_calls_come_out_whole_in_any_interleaving_of_their_pieces(data: st.DataObject) -> None:
    """HA-024, HA-034."""
    texts = data.draw(st.lists(st.dictionaries(st.text(max_size=3), st.integers(), max_size=3), min_size=1, max_size=5))
    queues: list[list[dict[str, Any]]] = []
    for at, value in enumerate(texts):
        text = json.dumps(value)
        cut = data.draw(st.integers(1, len(text)))
        head = {"index": at, "id": f"c{at}", "function": function(text[:cut], "f")}
        queues.append([head, {"index": at, "function": function(text[cut:])}])
    order: list[dict[str, Any]] = [queue.pop(0) for queue in queues]
    for queue in data.draw(st.permutations(queues)):
        order += queue
    assert [json.loads(arguments) for _, _, arguments in calls(*order)] == texts
