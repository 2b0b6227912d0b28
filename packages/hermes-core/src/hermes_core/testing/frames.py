"""Answers of a script as the bytes of the provider's wire: event-stream chunks, or one completion object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

import msgspec

from hermes_core.testing.script import (
    Answer,
    Call,
    Chunk,
    Comment,
    Cut,
    Delta,
    Done,
    EndBody,
    Finish,
    Pause,
    Raw,
    Stall,
    Step,
    Text,
    Think,
    Tokens,
)

_encode = msgspec.json.encode


class Burst(msgspec.Struct, frozen=True):
    """The bytes of one event, to be sent `times` times, `gap` seconds before each."""

    event: bytes
    times: int = 1
    gap: float = 0.0


Action = Burst | Stall | Pause | Cut


class Frames:
    """The actions of one streamed answer, in order. `number` makes ids distinct between answers."""

    def __init__(self, answer: Answer, *, model: str, number: int, usage: bool) -> None:
        self._answer = answer
        self._usage = usage
        self._end = answer.newline * 2
        self._number = number
        self._calls = 0
        self._output = 0
        self._envelope: dict[str, Any] = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": model,
        }

    def __iter__(self) -> Iterator[Action]:
        for step in self._answer.steps:
            yield from self._step(step)
            if isinstance(step, (Cut, EndBody)):
                return
        if self._answer.tail:
            yield from self._tail()

    def _step(self, step: Step) -> Iterator[Action]:
        match step:
            case Text():
                yield from self._pieces(step, "content")
            case Think():
                yield from self._pieces(step, "reasoning_content")
            case Call():
                yield from self._call(step)
            case Finish():
                yield self._delta({}, step.reason)
            case Tokens():
                yield self._json({**self._envelope, "choices": [], "usage": usage_of(step)})
            case Done():
                yield self._data("[DONE]")
            case Chunk():
                yield self._json(step.value)
            case Delta():
                yield self._delta(step.delta, step.finish)
            case Raw():
                yield Burst(step.data or step.text.encode())
            case Comment():
                yield Burst(f":{step.text}{self._end}".encode())
            case Stall() | Pause() | Cut():
                yield step
            case EndBody():
                pass
            case _:
                assert_never(step)

    def _pieces(self, step: Text | Think, key: str) -> Iterator[Burst]:
        size = step.size or max(1, len(step.text))
        bursts = [
            Burst(self._delta({key: step.text[at : at + size]}).event, gap=step.gap)
            for at in range(0, max(1, len(step.text)), size)
        ]
        self._output += len(bursts) * step.times
        if len(bursts) == 1:
            yield Burst(bursts[0].event, times=step.times, gap=step.gap)
            return
        for _ in range(step.times):
            yield from bursts

    def _call(self, step: Call) -> Iterator[Burst]:
        arguments = arguments_of(step)
        index = self._calls if step.index is None else step.index
        call_id = step.id or f"call_{self._number}_{self._calls}"
        self._calls += 1
        self._output += 1
        size = -(-len(arguments) // max(1, step.pieces)) or 1
        head: dict[str, Any] = {"index": index, "id": call_id, "type": "function"}
        for at in range(0, max(1, len(arguments)), size):
            function = {"arguments": arguments[at : at + size]}
            piece = (
                {**head, "function": {"name": step.name, **function}}
                if at == 0
                else {"index": index, "function": function}
            )
            yield self._delta({"tool_calls": [piece]})

    def _tail(self) -> Iterator[Burst]:
        steps = self._answer.steps
        if not any(isinstance(step, Finish) or (isinstance(step, Delta) and step.finish) for step in steps):
            yield self._delta({}, "tool_calls" if self._calls else "stop")
        if self._usage and not any(isinstance(step, Tokens) for step in steps):
            yield from self._step(Tokens(output=self._output))  # pyright: ignore[reportReturnType]
        if not any(isinstance(step, Done) for step in steps):
            yield self._data("[DONE]")

    def _delta(self, delta: dict[str, Any] | None, finish: str | None = None) -> Burst:
        return self._json({**self._envelope, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _json(self, value: Any) -> Burst:
        return Burst(b"data: " + _encode(value) + self._end.encode())

    def _data(self, text: str) -> Burst:
        return Burst(f"data: {text}{self._end}".encode())


def completion(answer: Answer, *, model: str, number: int) -> bytes:
    """Return the answer as the body of a request without `stream`."""
    steps = answer.steps
    text = "".join(step.text * step.times for step in steps if isinstance(step, Text))
    thought = "".join(step.text * step.times for step in steps if isinstance(step, Think))
    calls = [step for step in steps if isinstance(step, Call)]
    finish = next((step.reason for step in steps if isinstance(step, Finish)), "tool_calls" if calls else "stop")
    tokens = next((step for step in steps if isinstance(step, Tokens)), Tokens())
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if thought:
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = [
            {
                "id": step.id or f"call_{number}_{at}",
                "type": "function",
                "function": {"name": step.name, "arguments": arguments_of(step)},
            }
            for at, step in enumerate(calls)
        ]
    return _encode(
        {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage_of(tokens),
        }
    )


def arguments_of(step: Call) -> str:
    """Return the arguments of a call as the text that is sent."""
    return step.arguments if isinstance(step.arguments, str) else _encode(step.arguments).decode()


def usage_of(tokens: Tokens) -> dict[str, Any]:
    """Return the provider's usage object."""
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }
