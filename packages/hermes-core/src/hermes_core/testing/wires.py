"""The wires that a scripted model speaks: where a request comes in, what is legal in it, how it is answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from hermes_core.testing.chat_form import chat_form, response_violations
from hermes_core.testing.frames import Action, Frames, completion
from hermes_core.testing.frames_responses import ResponseFrames
from hermes_core.testing.legality import violations
from hermes_core.testing.script import Answer

Json = dict[str, Any]


class Wire(msgspec.Struct, frozen=True):
    """One way to ask for an answer. `frames` and `whole` take the answer, the decoded request, and its number."""

    violations: Callable[[bytes], Iterator[str]]
    messages: Callable[[Json], list[Json]]
    """The transcript of a request, in the form of Chat Completions."""
    frames: Callable[[Answer, Json, int], Iterable[Action]]
    whole: Callable[[Answer, Json, int], bytes]


def _chat_messages(body: Json) -> list[Json]:
    return body.get("messages", [])


def _chat_frames(answer: Answer, body: Json, number: int) -> Iterable[Action]:
    options: Json = body.get("stream_options") or {}
    return Frames(answer, model=_model(body), number=number, usage=bool(options.get("include_usage")))


def _chat_whole(answer: Answer, body: Json, number: int) -> bytes:
    return completion(answer, model=_model(body), number=number)


def _response_messages(body: Json) -> list[Json]:
    return chat_form(body)["messages"]


def _response_frames(answer: Answer, body: Json, number: int) -> Iterable[Action]:
    return ResponseFrames(answer, model=_model(body), number=number)


def _response_whole(answer: Answer, body: Json, number: int) -> bytes:
    return ResponseFrames(answer, model=_model(body), number=number).whole()


def _model(body: Json) -> str:
    return str(body.get("model", ""))


WIRES: dict[str, Wire] = {
    "/v1/chat/completions": Wire(violations, _chat_messages, _chat_frames, _chat_whole),
    "/v1/responses": Wire(response_violations, _response_messages, _response_frames, _response_whole),
}
"""Path -> wire."""
