"""Directives: how the last user message steers a scripted model that has no answers left.

    [[text n=100 size=8 gap=0.01]]   n deltas of size characters
    [[echo some words]]              those words, one delta
    [[think n=3 size=8]]             reasoning
    [[call NAME {"json": 1} times=2]]  a tool call; calls side by side are one parallel answer
    [[stall NAME]] [[pause 0.5]] [[cut]] [[cut reset]] [[finish length]] [[usage input=9 output=3]] [[end]]
    [[status 429 retry_after=1 message]]  an HTTP error

Everything up to and with a group of calls is one answer; the next answer goes on behind it, so a message can
script a whole turn: `[[echo Looking.]] [[call ls {}]] [[call pwd {}]] [[echo Done.]]`. Which answer it is, is
told by the number of assistant messages with calls since the last user message, so the server keeps no state.
`times=K` on the last call of a group repeats the group's answer K times. When nothing is left: `done`. A message
without directives is answered `ok`.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from hermes_core.testing.script import (
    Answer,
    Call,
    Cut,
    EndBody,
    Finish,
    Pause,
    Stall,
    Step,
    Text,
    Think,
    Tokens,
    answer,
    refusal,
)

_START = re.compile(r"\[\[(text|echo|think|call|stall|pause|cut|finish|usage|end|status)\b[ \t]*")
_OPTION = re.compile(r"(\w+)=([\d.]+)")
_ALPHABET = "abcdefghijklmnopqrstuvwxyz012345"
_DECODER = json.JSONDecoder()


def steered(messages: list[dict[str, Any]]) -> Answer:
    """Return the answer that the last user message of a request asks for."""
    last = max((at for at, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    if last < 0:
        return answer("ok")
    rounds = answers_of(_text_of(messages[last]))
    if not rounds:
        return answer("ok")
    done = sum(1 for message in messages[last:] if message.get("role") == "assistant" and message.get("tool_calls"))
    return rounds[done] if done < len(rounds) else answer("done")


def answers_of(text: str) -> list[Answer]:
    """Return the answers that the directives in `text` stand for, in order."""
    rounds: list[Answer] = []
    steps: list[Step] = []
    times = 1
    at = 0
    while found := _START.search(text, at):
        verb, begin = found.group(1), found.end()
        if verb == "call":
            step, times, at = _call(text, begin)
            steps.append(step)
            continue
        if steps and isinstance(steps[-1], Call):
            rounds += [Answer(steps=tuple(steps))] * times
            steps, times = [], 1
        end = text.find("]]", begin)
        end = len(text) if end < 0 else end
        rest, at = text[begin:end].strip(), end
        if verb == "status":
            rounds.append(_refusal(rest))
        else:
            steps.append(_step(verb, rest))
    if steps:
        rounds += [Answer(steps=tuple(steps))] * times
    return rounds


def _call(text: str, begin: int) -> tuple[Call, int, int]:
    """Read `NAME {json} times=K]]` at `begin`; return the call, K, and where the directive ends."""
    name = re.compile(r"[\w.-]+").match(text, begin)
    if name is None:
        return Call("unnamed"), 1, begin
    at = name.end()
    arguments = "{}"
    brace = re.compile(r"\s*(?=\{)").match(text, at)
    if brace is not None:
        try:
            _, end = _DECODER.raw_decode(text, brace.end())
        except ValueError:
            end = text.find("]]", at)
            end = len(text) if end < 0 else end
        arguments, at = text[brace.end() : end], end
    close = text.find("]]", at)
    close = len(text) if close < 0 else close
    options = _options(text[at:close])
    return Call(name.group(), arguments), max(1, int(options.get("times", 1))), close


def _step(verb: str, rest: str) -> Step:
    options = _options(rest)
    match verb:
        case "text" | "think":
            size = max(1, int(options.get("size", 8)))
            piece = (_ALPHABET * (size // len(_ALPHABET) + 1))[: size - 1] + " "
            kind = Text if verb == "text" else Think
            return kind(piece, times=int(options.get("n", 1)), gap=options.get("gap", 0.0))
        case "echo":
            return Text(rest or "ok")
        case "stall":
            return Stall(rest or "stall")
        case "pause":
            return Pause(float(rest or 0))
        case "cut":
            return Cut(reset=rest == "reset")
        case "finish":
            return Finish(rest or "stop")
        case "usage":
            return Tokens(**{key: int(value) for key, value in options.items()})
        case _:
            return EndBody()


def _refusal(rest: str) -> Answer:
    status, _, message = rest.partition(" ")
    options = _options(message)
    text = _OPTION.sub("", message).strip() or "Refused by the script."
    return refusal(int(status or 500), text, retry_after=options.get("retry_after"))


def _options(text: str) -> dict[str, float]:
    return {key: float(value) for key, value in _OPTION.findall(text)}


def _text_of(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = cast("list[Any]", content)
    return "\n".join(str(cast("dict[str, Any]", part).get("text", "")) for part in parts if isinstance(part, dict))
