"""The script of a model: answers as data, made of the steps that a server takes on the wire.

Scripts are JSON-able, so that `python -m hermes_core.testing.model_server --script FILE.json` reads the same
thing that tests write: `{"answers": [{"steps": [{"do": "text", "text": "Hello", "size": 2}]}]}`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec


class _Step(msgspec.Struct, tag_field="do", frozen=True, omit_defaults=True):
    pass


class Text(_Step, tag="text", frozen=True, omit_defaults=True):
    """Answer text, in deltas of `size` characters (0: one delta), the whole `times` times over.

    `gap` seconds of the model's clock pass before each delta.
    """

    text: str
    size: int = 0
    times: int = 1
    gap: float = 0.0


class Think(_Step, tag="think", frozen=True, omit_defaults=True):
    """Reasoning (`reasoning_content`; in the Responses wire, a summary of it), in deltas like those of Text."""

    text: str
    size: int = 0
    times: int = 1
    gap: float = 0.0


class Call(_Step, tag="call", frozen=True, omit_defaults=True):
    """One tool call. `arguments` is JSON text, or an object; it is sent in `pieces` pieces.

    An empty `id` gets `call_N`; `index` None gets the call's position in the answer.
    """

    name: str
    arguments: str | dict[str, Any] = ""
    id: str = ""
    index: int | None = None
    pieces: int = 1


class Finish(_Step, tag="finish", frozen=True, omit_defaults=True):
    """A chunk with this `finish_reason`. Without this step the server ends the answer by itself.

    In the Responses wire the last event: `response.incomplete` for `length` and `content_filter`, `response.failed`
    for `error`, else `response.completed`.
    """

    reason: str = "stop"


class Tokens(_Step, tag="usage", frozen=True, omit_defaults=True):
    """The usage: a chunk with empty `choices`, or part of the last event in the Responses wire."""

    input: int = 100
    output: int = 10
    cached: int = 0
    reasoning: int = 0


class Done(_Step, tag="done", frozen=True, omit_defaults=True):
    """`data: [DONE]`."""


class Chunk(_Step, tag="chunk", frozen=True, omit_defaults=True):
    """One event with this JSON value just as it is: for shapes that no other step makes."""

    value: Any


class Delta(_Step, tag="delta", frozen=True, omit_defaults=True):
    """One chunk with this `delta` object and `finish_reason`, in the usual envelope. Chat Completions only."""

    delta: dict[str, Any] | None
    finish: str | None = None


class Raw(_Step, tag="raw", frozen=True, omit_defaults=True):
    """Body bytes just as they are: text as UTF-8, or `data` as Base64 in JSON."""

    text: str = ""
    data: bytes = b""


class Comment(_Step, tag="comment", frozen=True, omit_defaults=True):
    """A comment line, then a blank line."""

    text: str = " PROCESSING"


class Stall(_Step, tag="stall", frozen=True, omit_defaults=True):
    """Send nothing until the test calls `model.release(name)`. As the first step it holds the headers back too."""

    name: str = "stall"


class Pause(_Step, tag="pause", frozen=True, omit_defaults=True):
    """Let `seconds` of the model's clock pass."""

    seconds: float


class Cut(_Step, tag="cut", frozen=True, omit_defaults=True):
    """Close the socket in mid-answer; `reset` with a TCP reset; `early`, as the first step, without headers."""

    reset: bool = False
    early: bool = False


class EndBody(_Step, tag="end", frozen=True, omit_defaults=True):
    """End the body properly, with no finish reason, usage or [DONE] of the server's own."""


Step = Text | Think | Call | Finish | Tokens | Done | Chunk | Delta | Raw | Comment | Stall | Pause | Cut | EndBody


class Answer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One HTTP answer.

    With `tail`, what the steps lack is added: finish reason, usage, [DONE]. A `status` other than 200 answers
    `{"error": error}` (or the `body` given) and no steps. `newline` ends the lines of events; `split` cuts the
    body into HTTP chunks of so many bytes, each its own write; 0 leaves it whole.
    """

    steps: tuple[Step, ...] = ()
    tail: bool = True
    status: int = 200
    error: dict[str, Any] = {}
    body: str | None = None
    headers: dict[str, str] = {}
    content_type: str = "text/event-stream"
    newline: Literal["\n", "\r\n", "\r"] = "\n"
    split: int = 0


class Script(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Answers that are given in order; when they are used up, the last user message steers (see `directives`)."""

    answers: tuple[Answer, ...] = ()
    strict: bool = True
    """Answer 400 to a request whose transcript is not legal (see `legality`)."""
    models: tuple[str, ...] = ("scripted-model",)
    api_key: str = ""
    """Where set, every other key is answered 401."""


def answer(*steps: Step | str, **options: Any) -> Answer:
    """Return an answer of `steps`; a string is a Text. `options` are the fields of Answer."""
    return Answer(steps=tuple(Text(step) if isinstance(step, str) else step for step in steps), **options)


def call(name: str, /, **arguments: Any) -> Call:
    """Return a call of a tool with these arguments."""
    return Call(name, arguments)


def refusal(
    status: int,
    message: str = "Refused by the script.",
    *,
    code: str | None = None,
    type: str = "error",
    retry_after: float | None = None,
) -> Answer:
    """Return an HTTP error answer in the provider's envelope."""
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return Answer(status=status, error={"message": message, "type": type, "param": None, "code": code}, headers=headers)
