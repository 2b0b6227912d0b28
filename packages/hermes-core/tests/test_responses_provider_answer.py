"""Reading one answer of the Responses API: every shape of stream that services send, cut anywhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hermes_core.errors import (
    AuthFailed,
    ContentFiltered,
    ContextOverflow,
    EmptyAnswer,
    ProviderError,
    RateLimited,
    StreamBroken,
)
from hermes_core.messages import AssistantMessage, ToolCall
from hermes_core.models.provider import CallDelta, TextDelta, ThinkingDelta
from hermes_core.usage import Usage
from hypothesis import given
from hypothesis import strategies as st
from response_streams import USAGE, added, done, end, event, failure, function, message, piece, read, reply, sse, text

SUMMARY = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}


def summary(delta: str, index: int = 0, part: int = 0) -> dict[str, Any]:
    return event("reasoning_summary_text.delta", item_id="rs_1", output_index=index, summary_index=part, delta=delta)


# -- whole answers -------------------------------------------------------------------------------


def whole_stream() -> bytes:
    call = function("ls", '{"path":"."}', "call_a", "fc_1")
    return sse(
        event("created", response={"status": "in_progress", "output": []}),
        event("in_progress", response={"status": "in_progress"}),
        added(0, {"type": "reasoning", "id": "rs_1", "summary": []}),
        summary("h"),
        summary("m"),
        done(0, SUMMARY),
        added(1, {"type": "message", "id": "msg_1", "content": []}),
        *[text(letter, 1) for letter in "Hello ✓"],
        event("output_text.done", item_id="msg_1", output_index=1, content_index=0, text="Hello ✓"),
        done(1, message("Hello ✓")),
        added(2, {**call, "arguments": ""}),
        piece('{"path"', 2, "fc_1"),
        piece(':"."}', 2, "fc_1"),
        event("function_call_arguments.done", item_id="fc_1", output_index=2, arguments='{"path":"."}'),
        done(2, call),
        end(output=[SUMMARY, message("Hello ✓"), call], usage=USAGE),
    )


WHOLE = AssistantMessage(
    text="Hello ✓",
    reasoning="hm",
    tool_calls=(ToolCall("call_a", "ls", '{"path":"."}'),),
    finish="tool_calls",
    model="m",
    usage=Usage(input=1000, output=20, cached=800, cache_write=5, reasoning=7, calls=1),
)


def test_everything_comes_out_once_though_the_stream_says_it_up_to_four_times() -> None:
    answer, deltas = read(whole_stream())
    assert deltas == [ThinkingDelta("hm"), TextDelta("Hello ✓"), CallDelta("ls")]
    assert answer.reply == WHOLE


@given(st.lists(st.integers(0, 10_000), max_size=12))
def test_it_does_not_matter_how_the_bytes_are_cut(cuts: list[int]) -> None:
    answer, deltas = read(whole_stream(), cuts)
    assert answer.reply == WHOLE
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == "Hello ✓"
    assert sum(isinstance(delta, CallDelta) for delta in deltas) == 1


def test_text_and_calls_are_taken_from_the_events_though_the_last_one_has_no_output() -> None:
    """HA-036."""
    call = function("ls", "{}", "call_a")
    whole = reply(text("Look"), text("ing."), done(1, call), end(output=[], usage=USAGE))
    assert (whole.text, whole.finish) == ("Looking.", "tool_calls")
    assert whole.tool_calls == (ToolCall("call_a", "ls", "{}"),)
    assert whole.usage.input == 1000


def test_a_last_event_without_any_output_or_response_ends_the_answer_too() -> None:
    """HA-036: `output` is null, or the whole response lacks."""
    assert reply(text("Hi"), end(output=None)).text == "Hi"
    assert reply(text("Hi"), event("completed")).text == "Hi"


@pytest.mark.parametrize("first", [[], [event("in_progress", response={"status": "in_progress"})]])
def test_a_stream_that_lacks_its_first_event_is_an_answer(first: list[Any]) -> None:
    """HA-041."""
    whole = reply(*first, text("Hello"), end(usage=USAGE))
    assert (whole.text, whole.finish) == ("Hello", "stop")


def test_what_no_event_brought_is_taken_from_the_final_response() -> None:
    call = function("ls", "{}", "call_a")
    answer, deltas = read(sse(text("Hi"), end(output=[SUMMARY, message("Hi"), call])))
    assert deltas == [TextDelta("Hi"), ThinkingDelta("hm"), CallDelta("ls")]
    assert (answer.reply.text, answer.reply.reasoning, len(answer.reply.tool_calls)) == ("Hi", "hm", 1)


@pytest.mark.parametrize(
    "told",
    [
        event("output_text.done", output_index=0, content_index=0, text="Hi"),
        done(0, message("Hi")),
        done(None, message("Hi")),
        event("refusal.done", output_index=0, content_index=0, refusal="Hi"),
        done(0, {"type": "message", "content": [{"type": "refusal", "refusal": "Hi"}]}),
        event("refusal.delta", output_index=0, content_index=0, delta="Hi"),
    ],
)
def test_text_without_deltas_and_refusals_are_text(told: dict[str, Any]) -> None:
    assert reply(told, end()).text == "Hi"


def test_messages_are_kept_apart_and_parts_of_one_are_not() -> None:
    whole = reply(text("Looking"), text(".", part=1), done(0, message("Looking", ".")), text("Found.", 2), end())
    assert whole.text == "Looking.\n\nFound."


def test_one_response_as_a_whole_body_is_read_like_a_stream() -> None:
    call = function("ls", "{}", "call_a")
    body = {"object": "response", "status": "completed", "error": None, "output": [SUMMARY, message("Hi"), call]}
    answer, deltas = read(json.dumps({**body, "usage": USAGE}).encode(), whole_body=True)
    assert deltas == [ThinkingDelta("hm"), TextDelta("Hi"), CallDelta("ls")]
    assert (answer.reply.finish, answer.reply.usage.cached) == ("tool_calls", 800)


def test_a_whole_body_that_failed_or_is_no_response_is_an_error() -> None:
    failed = {"object": "response", "status": "failed", "error": {"code": "server_error", "message": "Oh."}}
    for body, kind in ((failed, ProviderError), ({"error": {"code": 401, "message": "No."}}, AuthFailed)):
        answer, _ = read(json.dumps(body).encode(), whole_body=True)
        assert type(answer.failure) is kind
    assert isinstance(read(b'{"status": "queued"}', whole_body=True)[0].failure, EmptyAnswer)
    assert isinstance(read(b"Hello", whole_body=True)[0].failure, StreamBroken)


def test_events_of_wrong_types_are_read_as_far_as_they_can_be() -> None:
    odd = [
        event("output_item.added", output_index="0", item=7),
        {"type": 5},
        {},
        event("output_text.delta", output_index="0", content_index=None, delta="a", logprobs="no"),
        event("output_text.delta", output_index="0", content_index="x", delta=7),
        done(1, function("f", {"x": 1}, "a") | {"status": 3, "summary": "no"}),
        event("some_future_thing.delta", delta="not text"),
    ]
    whole = reply(*odd, end(output=[{"type": "message", "content": "late"}, 5], usage={"input_tokens": "9"}))
    assert (whole.text, whole.tool_calls, whole.usage.input) == ("a", (ToolCall("a", "f", '{"x":1}'),), 9)


def test_the_name_of_an_event_stands_in_for_a_type_that_lacks() -> None:
    stream = b'event: response.output_text.delta\ndata: {"delta":"Hi"}\n\nevent: response.completed\ndata: {}\n\n'
    assert read(stream)[0].reply.text == "Hi"


def test_half_surrogates_become_replacement_characters() -> None:
    """HA-011."""
    half = '{"type":"response.output_text.delta","output_index":0,"delta":"a\\ud800b"}'
    assert reply(half, end()).text == "a\ufffdb"


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0, "output_tokens": 0}])
def test_without_usage_the_counts_are_estimates_and_say_so(usage: Any) -> None:
    """HA-014."""
    assert reply(text("x" * 400), end(usage=usage)).usage == Usage(input=5, output=100, calls=1, estimated=True)


# -- reasoning -----------------------------------------------------------------------------------


def test_reasoning_text_and_parts_of_a_summary_are_paragraphs_of_thinking() -> None:
    thought = event("reasoning_text.delta", item_id="rs_2", output_index=1, content_index=0, delta="more")
    whole = reply(summary("one "), summary("two"), summary("three", part=1), thought, text("Yes", 2), end())
    assert (whole.reasoning, whole.text) == ("one two\n\nthree\n\nmore", "Yes")


def test_reasoning_that_was_not_streamed_is_taken_from_its_item_in_full_where_there_is_that() -> None:
    both = {**SUMMARY, "content": [{"type": "reasoning_text", "text": "in full"}]}
    assert reply(done(0, both), text("Yes", 1), end()).reasoning == "in full"
    assert reply(summary("hm"), done(0, both), text("Yes", 1), end()).reasoning == "hm"


# -- calls ---------------------------------------------------------------------------------------


def calls(*events: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, call.arguments) for call in reply(*events, end()).tool_calls]


def test_parallel_calls_are_told_apart_by_their_items() -> None:
    """HA-024."""
    found = calls(
        added(0, function("f", "", "a", "fc_a")),
        added(1, function("g", "", "b", "fc_b")),
        *[piece(part, index, f"fc_{name}") for part in ('{"n"', ":1}") for index, name in enumerate("ab")],
        done(1, function("g", '{"n":1}', "b", "fc_b")),
        done(0, function("f", '{"n":1}', "a", "fc_a")),
    )
    assert found == [("a", "f", '{"n":1}'), ("b", "g", '{"n":1}')]


def test_calls_whose_items_have_another_id_in_every_event_are_told_apart_by_their_places() -> None:
    found = calls(
        added(0, function("f", "", "a", "x1")),
        added(1, function("g", "", "b", "x2")),
        piece('{"n":0}', 0, "x3"),
        piece('{"n":1}', 1, "x4"),
        done(0, function("f", '{"n":0}', "a", "x5")),
        done(1, function("g", '{"n":1}', "b", "x6")),
    )
    assert found == [("a", "f", '{"n":0}'), ("b", "g", '{"n":1}')]


@pytest.mark.parametrize("index", [0, None])
def test_calls_that_all_stand_at_one_place_are_told_apart_by_their_items(index: int | None) -> None:
    """HA-024."""
    found = calls(
        added(index, function("f", "", "a", "fc_a")),
        added(index, function("g", "", "b", "fc_b")),
        *[piece(part, index, item) for part in ('{"n"', ":1}") for item in ("fc_a", "fc_b")],
    )
    assert found == [("a", "f", '{"n":1}'), ("b", "g", '{"n":1}')]


@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_that_all_stand_at_one_place_are_as_many_calls(index: int | None) -> None:
    """HA-034."""
    events: list[dict[str, Any]] = []
    for name in "abc":
        item = function("f", f'{{"n":"{name}"}}', name, f"fc_{name}")
        events += [
            added(index, {**item, "arguments": ""}),
            piece(item["arguments"], index, item["id"]),
            done(index, item),
        ]
    assert calls(*events) == [(name, "f", f'{{"n":"{name}"}}') for name in "abc"]


def test_two_calls_that_share_an_id_get_distinct_ones() -> None:
    """HA-035."""
    found = calls(done(0, function("f", '{"n":0}', "same")), done(1, function("f", '{"n":1}', "same")))
    assert [arguments for _, _, arguments in found] == ['{"n":0}', '{"n":1}']
    assert found[0][0] == "same" != found[1][0]


def test_a_call_without_added_or_done_or_deltas_is_a_call() -> None:
    assert calls(added(0, function("f", "{}", "a"))) == [("a", "f", "{}")]
    assert calls(added(0, function("f", "", "a")), piece("{}", 0)) == [("a", "f", "{}")]
    assert calls(added(0, function("f", "", "a")), event("function_call_arguments.done", arguments="{}")) == [
        ("a", "f", "{}")
    ]
    assert calls(piece('{"x', 0, "fc"), done(0, function("f", '{"x":1}', "a", "fc"))) == [("a", "f", '{"x":1}')]


def test_a_call_without_ids_gets_one() -> None:
    [(call_id, name, _)] = calls(added(0, function("f", "", None)), done(0, function("f", "{}", None)))
    assert (bool(call_id), name) == (True, "f")


def test_what_the_service_did_by_itself_is_neither_text_nor_a_call_of_ours() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    whole = reply(added(0, search), done(0, search), text("Found.", 1), end(output=[search]))
    assert (whole.text, whole.tool_calls) == ("Found.", ())


def test_too_many_calls_are_refused() -> None:
    for events in (
        [done(at, function("f", "{}", f"c{at}")) for at in range(300)],
        [piece("{", at) for at in range(300)],
    ):
        broken = failure(*events)
        assert isinstance(broken, StreamBroken) and "256 tool calls" in broken.message


# -- ends ----------------------------------------------------------------------------------------


def test_an_end_without_a_last_event_is_a_broken_stream_with_what_had_come() -> None:
    """HA-022."""
    for tail in ([], ["[DONE]"]):
        answer, deltas = read(sse(text("Half"), added(1, function("f", '{"x', "a")), *tail))
        assert isinstance(answer.failure, StreamBroken) and answer.failure.retryable
        assert deltas == [TextDelta("Half"), CallDelta("f")]
        assert (answer.partial.text, answer.partial.tool_calls, answer.partial.finish) == ("Half", (), "error")


@pytest.mark.parametrize("events", [[], ["[DONE]"], [event("created", response={})], [end()], [text(" "), end()]])
def test_a_stream_of_nothing_is_an_empty_answer(events: list[Any]) -> None:
    """HA-037."""
    assert isinstance(failure(*events), EmptyAnswer)


def test_nothing_behind_the_last_event_counts() -> None:
    assert reply(text("a"), end(), "[DONE]", text("b"), event("error", message="late")).text == "a"


@pytest.mark.parametrize(
    ("details", "finish"),
    [
        ({"reason": "max_output_tokens"}, "length"),
        ({"reason": "content_filter"}, "content_filter"),
        ({"reason": "something newer"}, "length"),
        (None, "length"),
    ],
)
def test_an_incomplete_response_says_why(details: Any, finish: str) -> None:
    assert reply(text("So"), end("incomplete", incomplete_details=details)).finish == finish
    # The status of the response counts, whatever the event is called.
    late = event("completed", response={"status": "incomplete", "incomplete_details": details})
    assert reply(text("So"), late).finish == finish


def test_a_call_cut_by_the_token_limit_is_given_as_far_as_it_was_written() -> None:
    """HA-023: the finish says `length`, so that nobody runs it."""
    whole = reply(
        added(0, function("f", "", "a")),
        piece('{"x', 0),
        end("incomplete", incomplete_details={"reason": "max_output_tokens"}),
    )
    assert (whole.finish, whole.tool_calls[0].arguments) == ("length", '{"x')


def test_a_filter_that_holds_everything_back_is_an_error() -> None:
    assert isinstance(failure(end("incomplete", incomplete_details={"reason": "content_filter"})), ContentFiltered)


def test_a_piece_that_is_not_json_breaks_the_stream_after_what_came_before() -> None:
    answer, deltas = read(sse(text("a"), '{"type":"response.outp', text("b")))
    assert isinstance(answer.failure, StreamBroken) and "not JSON" in answer.failure.message
    assert deltas == [TextDelta("a")]


def test_an_event_of_endless_depth_breaks_the_stream() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for field in ("error", "odd", "item"):
        answer, deltas = read(sse(text("a"), f'{{"type":"response.in_progress","{field}":{deep}}}'))
        assert isinstance(answer.failure, StreamBroken)
        assert deltas == [TextDelta("a")]


# -- failures ------------------------------------------------------------------------------------

FAILURES: list[tuple[str, str, type[ProviderError], bool]] = [
    ("rate_limit_exceeded", "Slow down", RateLimited, True),
    ("insufficient_quota", "You exceeded your current quota", RateLimited, False),
    ("invalid_api_key", "Incorrect API key provided", AuthFailed, False),
    ("context_length_exceeded", "Your input exceeds the context window of this model.", ContextOverflow, False),
    ("server_error", "The server had an error", ProviderError, True),
    ("image_content_policy_violation", "This image was refused", ContentFiltered, False),
    ("bio_policy", "Refused", ContentFiltered, False),
    ("invalid_prompt", "Your prompt was flagged as potentially violating our usage policy.", ContentFiltered, False),
    ("invalid_image_url", "No image there", ProviderError, False),
]


@pytest.mark.parametrize(("code", "words", "kind", "retryable"), FAILURES)
def test_failures_are_told_apart_in_every_kind_of_event(
    code: str, words: str, kind: type[ProviderError], retryable: bool
) -> None:
    error = {"code": code, "message": words}
    for last in (end("failed", error=error), event("error", **error), event("error", error=error), {"error": error}):
        answer, _ = read(sse(text("Half"), last, text("b")))
        assert answer.failure is not None
        assert (type(answer.failure), answer.failure.retryable) == (kind, retryable)
        assert answer.partial.text == "Half"


def test_an_error_event_by_name_and_a_failure_without_words_are_failures() -> None:
    assert isinstance(read(b'event: error\ndata: {"code": 429}\n\n')[0].failure, RateLimited)
    for last in (end("failed", error=None), event("cancelled")):
        assert failure(text("a"), last).retryable
