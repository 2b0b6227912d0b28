"""Reading one answer: every shape of stream that providers send, and that it does not matter how the bytes are cut."""

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
from hermes_core.models.chat_answer import ChatAnswer
from hermes_core.models.provider import CallDelta, TextDelta, ThinkingDelta
from hermes_core.usage import Usage
from hypothesis import given
from hypothesis import strategies as st
from provider_streams import ENDPOINT, REQUEST, USAGE, chunk, failure, function, pieces, read, reply, sse

# -- text ----------------------------------------------------------------------------------------


def test_the_text_of_one_read_is_one_delta_and_kinds_keep_their_order() -> None:
    stream = sse(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "hm"}),
        chunk({"reasoning_content": "m"}),
        *[chunk({"content": piece}) for piece in "Hello"],
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}}]}),
        chunk({"content": "!"}),
        chunk({}, "tool_calls"),
        {"choices": [], "usage": USAGE},
    )
    answer, deltas = read(stream)
    assert deltas == [ThinkingDelta("hmm"), TextDelta("Hello"), CallDelta("ls"), TextDelta("!")]
    assert answer.reply == AssistantMessage(
        text="Hello!",
        reasoning="hmm",
        tool_calls=(ToolCall("a", "ls", "{}"),),
        finish="tool_calls",
        model="m",
        usage=Usage(input=1000, output=20, cached=800, calls=1),
    )


def test_an_empty_finish_reason_ends_nothing() -> None:
    """HA-028."""
    whole = reply(*[chunk({"content": piece}, "") for piece in ("a", "b", "c")], chunk({"content": "d"}, "stop"))
    assert (whole.text, whole.finish) == ("abcd", "stop")


def test_characters_that_look_like_line_ends_stay_in_the_text() -> None:
    """HA-031: raw U+2028, U+2029, U+0085, and control characters that JSON does not allow raw."""
    text = "a\u2028b\u2029c\u0085d"
    assert reply(chunk({"content": text}), chunk({}, "stop")).text == text
    raw = '{"choices":[{"delta":{"content":"a\u000bb\u000cc"}}]}'
    assert reply(raw, chunk({}, "stop")).text == "a\u000bb\u000cc"


def test_half_surrogates_and_broken_utf8_become_replacement_characters() -> None:
    """HA-011."""
    half = '{"choices":[{"delta":{"content":"a\\ud800b"}}]}'
    assert reply(half, chunk({}, "stop")).text == "a\ufffdb"
    broken = sse(chunk({"content": "a@b"}), chunk({}, "stop")).replace(b"@", b"\xff")
    assert read(broken)[0].reply.text == "a\ufffdb"


def test_content_may_be_a_list_of_parts_with_kinds_and_keys_that_nobody_knows() -> None:
    """HA-033."""
    parts = [{"type": "text", "text": "a"}, {"type": "reference", "ids": [1]}, 7, {"type": "text", "text": "b"}]
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    whole = reply(
        chunk({"content": thinking, "padding": "xxx"}), chunk({"content": parts}, obfuscation="zz"), chunk({}, "stop")
    )
    assert (whole.text, whole.reasoning) == ("ab", "hm")


def test_chunks_of_wrong_types_are_read_as_far_as_they_can_be() -> None:
    odd = {"choices": [{"delta": {"content": "a", "reasoning": {"x": 1}, "tool_calls": "none"}}, 5], "usage": "no"}
    assert reply(odd, chunk(None), {"choices": None}, {}, chunk({"content": "b"}, "stop")).text == "ab"


def test_a_last_chunk_without_choices_brings_the_usage() -> None:
    """HA-032."""
    whole = reply(chunk({"content": "hi"}), chunk({}, "stop"), {"id": "x", "object": "chunk", "usage": USAGE})
    assert whole.usage == Usage(input=1000, output=20, cached=800, calls=1)


@pytest.mark.parametrize("last", [{}, {"usage": None}, {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}])
def test_without_usage_the_counts_are_estimates_and_say_so(last: dict[str, Any]) -> None:
    """HA-014."""
    usage = reply(chunk({"content": "x" * 400}), chunk({}, "stop", **last)).usage
    assert usage == Usage(input=5, output=100, calls=1, estimated=True)


def test_comments_between_the_events_change_nothing() -> None:
    """HA-030."""
    stream = sse(chunk({"content": "a"}), chunk({"content": "b"}, "stop")).replace(
        b"data:", b": PROCESSING\n\n: x\ndata:"
    )
    assert read(stream.replace(b"\n", b"\r\n"))[0].reply.text == "ab"


# -- reasoning -----------------------------------------------------------------------------------


def test_reasoning_for_a_long_time_and_then_text_is_an_answer() -> None:
    """HA-029."""
    thoughts = [chunk({"content": None, "reasoning_content": "think "}) for _ in range(300)]
    whole = reply(*thoughts, chunk({"content": "Yes."}), chunk({}, "stop"))
    assert (whole.text, whole.reasoning) == ("Yes.", "think " * 300)


def test_reasoning_and_then_a_call_is_an_answer() -> None:
    """HA-029: the second case; the text of OpenRouter's `reasoning` counts once beside `reasoning_content`."""
    piece = {"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{}"}}
    thought = {"content": None, "reasoning": "hm", "reasoning_content": "hm"}
    whole = reply(chunk(thought), chunk({"content": None, "tool_calls": [piece]}), chunk({}, "tool_calls"))
    assert (whole.text, whole.reasoning, len(whole.tool_calls)) == ("", "hm", 1)


# -- ends ----------------------------------------------------------------------------------------


def test_an_end_without_finish_reason_or_done_is_a_broken_stream_with_what_had_come() -> None:
    """HA-022."""
    half = pieces({"index": 0, "id": "a", "function": function('{"x', "f")})
    answer, deltas = read(sse(chunk({"content": "Half a "}), chunk({"content": "sen"}), *half, done=False))
    assert isinstance(answer.failure, StreamBroken) and answer.failure.retryable
    assert deltas == [TextDelta("Half a sen"), CallDelta("f")]
    assert (answer.partial.text, answer.partial.tool_calls, answer.partial.finish) == ("Half a sen", (), "error")


def test_a_finish_reason_without_done_is_an_end_and_so_is_done_without_finish_reason() -> None:
    """HA-038."""
    assert reply(chunk({"content": "all"}, "stop"), done=False).text == "all"
    assert reply(chunk({"content": "all"}), done=True).text == "all"
    unterminated = sse(chunk({"content": "all"}, "stop"), done=False).rstrip()
    assert read(unterminated)[0].reply.text == "all"


@pytest.mark.parametrize(
    "stream", [b"", b"data: [DONE]\n\n", b": ping\n\n", sse(chunk({}, "stop")), sse(chunk({"content": ""}))]
)
def test_a_stream_of_nothing_is_an_empty_answer(stream: bytes) -> None:
    """HA-037."""
    answer, deltas = read(stream)
    assert isinstance(answer.failure, EmptyAnswer) and answer.failure.retryable
    assert deltas == []


def test_reasoning_alone_is_an_empty_answer_unless_the_limit_cut_it() -> None:
    thought = chunk({"reasoning_content": "hm"})
    assert isinstance(failure(thought, chunk({}, "stop")), EmptyAnswer)
    assert reply(thought, chunk({}, "length")).finish == "length"


def test_the_content_filter_ends_an_answer_or_holds_all_of_it_back() -> None:
    assert reply(chunk({"content": "So"}), chunk({}, "content_filter")).finish == "content_filter"
    assert isinstance(failure(chunk({}, "content_filter")), ContentFiltered)


def test_a_piece_that_is_not_json_breaks_the_stream_after_what_came_before() -> None:
    answer, deltas = read(sse(chunk({"content": "a"}), '{"choices":[{"del', chunk({"content": "b"})))
    assert isinstance(answer.failure, StreamBroken) and "not JSON" in answer.failure.message
    assert deltas == [TextDelta("a")]


def test_a_chunk_of_endless_depth_breaks_the_stream() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for chunk_text in (f'{{"odd":{deep}}}', f'{{"choices":[{{"delta":{{"content":{deep}}}}}]}}'):
        answer, deltas = read(sse(chunk({"content": "a"}), chunk_text))
        assert isinstance(answer.failure, StreamBroken)
        assert deltas == [TextDelta("a")]


def test_nothing_behind_done_counts() -> None:
    assert reply(chunk({"content": "a"}, "stop"), "[DONE]", {"error": {"message": "late"}}).text == "a"


# -- errors in the stream ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        ({"code": 429, "message": "Slow down"}, RateLimited, True),
        ({"code": "rate_limit_exceeded", "message": "..."}, RateLimited, True),
        ({"code": "ThrottlingException", "message": "Throttling"}, RateLimited, True),
        ({"code": "insufficient_quota", "message": "You exceeded your current quota"}, RateLimited, False),
        ({"code": "context_length_exceeded", "message": "..."}, ContextOverflow, False),
        ({"code": 400, "message": "maximum context length is 8192 tokens"}, ContextOverflow, False),
        ({"code": "content_filter", "message": "..."}, ContentFiltered, False),
        ({"code": "invalid_api_key", "message": "..."}, AuthFailed, False),
        ({"code": 502, "message": "Upstream died"}, ProviderError, True),
        ({"type": "server_error", "message": "The server had an error"}, ProviderError, True),
        ({"type": "overloaded_error", "message": "Overloaded"}, ProviderError, True),
        ("it broke", ProviderError, False),
    ],
)
@pytest.mark.parametrize("shape", ["event", "bare event", "choices null", "object", "typed"])
def test_an_error_inside_the_stream_is_classified_and_never_text(
    error: Any, kind: type[ProviderError], retryable: bool, shape: str
) -> None:
    """HA-025."""
    inner: dict[str, Any] = {"message": error} if isinstance(error, str) else error
    frame = {
        "event": "event: error\ndata: " + json.dumps({"error": error}),
        "bare event": "event: error\ndata: " + (error if isinstance(error, str) else json.dumps(error)),
        "choices null": "data: " + json.dumps({"choices": None, "error": error}),
        "object": "data: " + json.dumps({"object": "error", **inner}),
        "typed": "data: " + json.dumps({"type": "error", "error": inner}),
    }[shape]
    answer, deltas = read(sse(chunk({"content": "a"}), done=False) + frame.encode() + b"\n\n")
    assert answer.failure is not None
    assert (type(answer.failure), answer.failure.retryable) == (kind, retryable)
    assert deltas == [TextDelta("a")] and answer.partial.text == "a"


def test_a_finish_reason_of_error_is_a_failure() -> None:
    """HA-025."""
    broken = failure(chunk({"content": ""}, "error"))
    assert type(broken) is ProviderError and broken.retryable


# -- one JSON object in place of a stream --------------------------------------------------------


def test_a_whole_completion_is_read_like_a_stream() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    message = {"role": "assistant", "content": "Look", "tool_calls": [call]}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": USAGE}).encode()
    answer = ChatAnswer(ENDPOINT, REQUEST, whole_body=True)
    assert answer.feed(body[:20]) == answer.feed(body[20:]) == []
    assert answer.end() == [TextDelta("Look"), CallDelta("ls")]
    assert answer.reply.tool_calls == (ToolCall("a", "ls", "{}"),)
    assert answer.reply.usage.input == 1000


# -- laws ----------------------------------------------------------------------------------------

STREAM = sse(
    chunk({"reasoning_content": "hm ✅"}),
    *[chunk({"content": piece}) for piece in ("✓ 漢字", "\u0085\u2028", "😀", "é")],
    *pieces(
        {"index": 0, "id": "a", "function": function('{"x":"', "f")},
        {"index": 1, "id": "b", "function": function("{", "g")},
        {"index": 0, "function": function('日本"}')},
        {"index": 1, "function": function("}")},
    ),
    chunk({"content": "end"}, "tool_calls"),
    {"choices": [], "usage": USAGE},
)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_cut_at_every_single_offset_the_answer_is_the_same(newline: bytes) -> None:
    """HA-027."""
    stream = STREAM.replace(b"\n", newline)
    whole = read(STREAM)[0].reply
    assert whole.text == "✓ 漢字\u0085\u2028😀éend"
    assert all(read(stream, [cut])[0].reply == whole for cut in range(len(stream)))


@given(st.lists(st.integers(0, 5000), max_size=60))
def test_joined_deltas_are_the_reply_however_the_bytes_are_cut(cuts: list[int]) -> None:
    """HA-027."""
    answer, deltas = read(STREAM, cuts)
    assert answer.reply == read(STREAM)[0].reply
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextDelta)) == answer.reply.text
    assert "".join(delta.text for delta in deltas if isinstance(delta, ThinkingDelta)) == answer.reply.reasoning
    assert [delta.name for delta in deltas if isinstance(delta, CallDelta)] == ["f", "g"]


@given(st.binary(max_size=200))
def test_no_bytes_whatever_raise_anything(noise: bytes) -> None:
    answer, _ = read(noise + b"\n\ndata: " + noise + b"\n\n")
    assert answer.failure is not None or answer.finished
