"""Answers of a script in the wire of the Responses API: its events, or one response object.

Text and reasoning open an item, which is closed by what comes after it. `response.created` and `response.in_progress`
come before the first of them, unless the script has put Chunk or Raw steps there. Usage is part of the last event, so
a Tokens step counts wherever it stands. `Call.index` is the position in the output.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never, cast

import msgspec

from hermes_core.testing.frames import Action, Burst, arguments_of
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
_CUTS = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Finish reasons of scripts -> the reason of an incomplete response."""

Json = dict[str, Any]


class ResponseFrames:
    """The actions of one streamed answer, in order. `number` makes ids distinct between answers."""

    def __init__(self, answer: Answer, *, model: str, number: int) -> None:
        self._answer = answer
        self._number = number
        self._model = model
        self._sequence = 0
        self._begun = False
        self._ended = False
        self._open: Text | Think | None = None
        self._said: list[str] = []
        self._items = 0
        self._calls = 0
        self._counted = 0
        self._output: list[Json] = []

    def __iter__(self) -> Iterator[Action]:
        for step in self._answer.steps:
            yield from self._step(step)
            if isinstance(step, (Cut, EndBody)):
                return
        if self._answer.tail and not self._ended:
            yield from self._end("stop")

    def whole(self) -> bytes:
        """Return the body of a request without `stream`."""
        for step in self._answer.steps:
            if isinstance(step, (Text, Think, Call)):
                for _ in self._step(step):
                    pass
        for _ in self._close():
            pass
        reason = next((step.reason for step in self._answer.steps if isinstance(step, Finish)), "stop")
        return _encode(self._response(reason))

    def _step(self, step: Step) -> Iterator[Action]:
        match step:
            case Text() | Think():
                yield from self._pieces(step)
            case Call():
                yield from self._call(step)
            case Finish():
                yield from self._end(step.reason)
            case Chunk():
                self._begun = True
                value: object = step.value
                kind = cast(Json, value).get("type") if isinstance(value, dict) else None
                yield self._frame(str(kind or ""), value)
            case Raw():
                self._begun = True
                yield Burst(step.data or step.text.encode())
            case Comment():
                yield Burst(f":{step.text}{self._answer.newline * 2}".encode())
            case Done():
                yield Burst(f"data: [DONE]{self._answer.newline * 2}".encode())
            case Stall() | Pause() | Cut():
                yield step
            case Tokens() | EndBody():
                pass
            case Delta():
                raise ValueError("A Delta step is of Chat Completions alone; in the Responses wire, use Chunk.")
            case _:
                assert_never(step)

    # -- text and reasoning --------------------------------------------------------------------

    def _pieces(self, step: Text | Think) -> Iterator[Burst]:
        if type(step) is not type(self._open):
            yield from self._close()
            yield from self._begin()
            self._open = step
            yield self._event("response.output_item.added", output_index=self._items, item=self._item("in_progress"))
            yield self._event(f"response.{self._part_name}.added", **self._place, part=self._part)
        size = step.size or max(1, len(step.text))
        for _ in range(step.times):
            for at in range(0, max(1, len(step.text)), size):
                piece = step.text[at : at + size]
                self._said.append(piece)
                self._counted += 1
                burst = self._event(f"response.{self._text_name}.delta", **self._place, delta=piece, **self._logprobs)
                yield Burst(burst.event, gap=step.gap)

    def _close(self) -> Iterator[Burst]:
        if self._open is None:
            return
        yield self._event(f"response.{self._text_name}.done", **self._place, text="".join(self._said), **self._logprobs)
        yield self._event(f"response.{self._part_name}.done", **self._place, part=self._part)
        item = self._item("completed")
        yield self._event("response.output_item.done", output_index=self._items, item=item)
        self._output.append(item)
        self._items += 1
        self._open = None
        self._said = []

    @property
    def _text_name(self) -> str:
        return "output_text" if isinstance(self._open, Text) else "reasoning_summary_text"

    @property
    def _part_name(self) -> str:
        return "content_part" if isinstance(self._open, Text) else "reasoning_summary_part"

    @property
    def _logprobs(self) -> Json:
        return {"logprobs": []} if isinstance(self._open, Text) else {}

    @property
    def _part(self) -> Json:
        text = "".join(self._said)
        if isinstance(self._open, Text):
            return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        return {"type": "summary_text", "text": text}

    @property
    def _place(self) -> Json:
        index = "content_index" if isinstance(self._open, Text) else "summary_index"
        return {"item_id": self._item_id, "output_index": self._items, index: 0}

    @property
    def _item_id(self) -> str:
        return f"{'msg' if isinstance(self._open, Text) else 'rs'}_{self._number}_{self._items}"

    def _item(self, status: str) -> Json:
        parts = [self._part] if status == "completed" else []
        if isinstance(self._open, Text):
            return {
                "id": self._item_id,
                "type": "message",
                "status": status,
                "role": "assistant",
                "content": parts,
            }
        return {"id": self._item_id, "type": "reasoning", "summary": parts}

    # -- calls ---------------------------------------------------------------------------------

    def _call(self, step: Call) -> Iterator[Burst]:
        yield from self._close()
        yield from self._begin()
        arguments = arguments_of(step)
        index = self._items if step.index is None else step.index
        item: Json = {
            "id": f"fc_{self._number}_{self._items}",
            "type": "function_call",
            "status": "in_progress",
            "call_id": step.id or f"call_{self._number}_{self._calls}",
            "name": step.name,
            "arguments": "",
        }
        place = {"item_id": item["id"], "output_index": index}
        self._calls += 1
        self._counted += 1
        size = -(-len(arguments) // max(1, step.pieces)) or 1
        yield self._event("response.output_item.added", output_index=index, item=item)
        for at in range(0, len(arguments), size):
            yield self._event("response.function_call_arguments.delta", **place, delta=arguments[at : at + size])
        yield self._event("response.function_call_arguments.done", **place, name=step.name, arguments=arguments)
        item = {**item, "status": "completed", "arguments": arguments}
        yield self._event("response.output_item.done", output_index=index, item=item)
        self._output.append(item)
        self._items += 1

    # -- beginning and end ---------------------------------------------------------------------

    def _begin(self) -> Iterator[Burst]:
        if not self._begun:
            self._begun = True
            yield self._event("response.created", response=self._response(""))
            yield self._event("response.in_progress", response=self._response(""))

    def _end(self, reason: str) -> Iterator[Burst]:
        yield from self._begin()
        yield from self._close()
        self._ended = True
        response = self._response(reason)
        yield self._event(f"response.{response['status']}", response=response)

    def _response(self, reason: str) -> Json:
        """Return the response object, at its end for `reason`; an empty one means that it goes on."""
        cut = _CUTS.get(reason)
        failed = reason == "error"
        tokens = next((step for step in self._answer.steps if isinstance(step, Tokens)), Tokens(output=self._counted))
        return {
            "id": f"resp_{self._number}",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": "in_progress" if not reason else "failed" if failed else "incomplete" if cut else "completed",
            "error": {"code": "server_error", "message": "Failed by the script."} if failed else None,
            "incomplete_details": {"reason": cut} if cut else None,
            "instructions": None,
            "metadata": {},
            "model": self._model,
            "output": list(self._output),
            "parallel_tool_calls": True,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "store": False,
            "usage": _usage_of(tokens) if reason else None,
        }

    def _event(self, kind: str, **fields: Any) -> Burst:
        value = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return self._frame(kind, value)

    def _frame(self, kind: str, value: Any) -> Burst:
        newline = self._answer.newline.encode()
        name = b"event: " + kind.encode() + newline if kind else b""
        return Burst(name + b"data: " + _encode(value) + newline * 2)


def _usage_of(tokens: Tokens) -> Json:
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": 0},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }
