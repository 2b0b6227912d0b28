"""One answer of a provider, read from the bytes of its response. No I/O.

    answer = ChatAnswer(endpoint, request)      # or ResponsesAnswer
    deltas = answer.feed(data)      # for each network read
    deltas = answer.end()           # when the body is over, or broke off (after `fail`)
    answer.failure or answer.reply

What an event says is the subclass's business; what makes an answer whole, broken or empty is told here. The end of
the body before the answer was finished is StreamBroken; an answer with neither text nor call is EmptyAnswer. When it
was cut by the token limit its `finish` is `length` and its calls are given with their arguments as far as they were
written: whoever runs calls must not run those.
"""

from __future__ import annotations

from hermes_core.errors import ContentFiltered, EmptyAnswer, ProviderError, StreamBroken
from hermes_core.messages import AssistantMessage, Finish, ToolCall
from hermes_core.models.call_pieces import Calls
from hermes_core.models.chat_request import estimated_input
from hermes_core.models.failures import failure, trouble_of
from hermes_core.models.provider import CallDelta, Endpoint, ModelDelta, ModelRequest, TextDelta, ThinkingDelta
from hermes_core.models.sse import EventTooLong, SseEvent, SseParser
from hermes_core.models.wire import NotJson, json_object
from hermes_core.usage import Usage, estimate_tokens

MAX_ANSWER = 32 * 1024 * 1024
"""Characters of text, reasoning and arguments in one answer."""


class ModelAnswer:
    """Reads one answer. `whole_body`: the response is one JSON object and no event stream."""

    def __init__(self, endpoint: Endpoint, request: ModelRequest, calls: Calls, *, whole_body: bool) -> None:
        self._endpoint = endpoint
        self._request = request
        self._whole_body = whole_body
        self._sse = None if whole_body else SseParser()
        self._body: list[bytes] = []
        self._size = 0
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls = calls
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._reply: AssistantMessage | None = None
        self.started = False
        """A byte has arrived."""
        self.done = False
        """Nothing that follows matters."""
        self.failure: ProviderError | None = None
        """Why there will be no reply."""

    @property
    def finished(self) -> bool:
        """Whether the answer is whole; usage may still follow."""
        return self._finish is not None

    # -- reading -------------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[ModelDelta]:
        """Return what `data` adds, adjacent text joined. A failure told in it is in `failure` afterwards."""
        self.started = True
        if self._sse is None:
            self._body.append(data)
            return []
        try:
            events = self._sse.feed(data)
        except EventTooLong as error:
            self.fail(StreamBroken(f"{self._endpoint.provider} sent too much: {error}."))
            return []
        return self._read(events)

    def end(self) -> list[ModelDelta]:
        """Note that the body is over; return what its last bytes add, and settle `failure` or `reply`."""
        rest: list[ModelDelta] = []
        if self._sse is None:
            rest = self._read([SseEvent(b"".join(self._body))] if self._body else [])
        elif not self.done and self.failure is None:
            rest = self._read(self._sse.close())
        if self.failure is None or self.finished:
            self._settle()
        return rest

    def fail(self, error: ProviderError) -> None:
        """Note why the answer cannot go on. The first reason stands."""
        self.failure = self.failure or error

    def _read(self, events: list[SseEvent]) -> list[ModelDelta]:
        fresh = Fresh()
        try:
            for event in events:
                self._event(event, fresh)
                if self.done:
                    break
        except ProviderError as error:
            self.fail(error)
        self._size += fresh.size
        if self._size > MAX_ANSWER:
            self.fail(StreamBroken(f"{self._endpoint.provider} sent an answer of more than {MAX_ANSWER:,} characters."))
        return fresh.deltas()

    def _event(self, event: SseEvent, fresh: Fresh) -> None:
        """Take one event."""
        data = event.data
        if event.name == b"error":
            raise failure(self._endpoint, trouble_of(_error_body(data)))
        if data[:1] != b"{":
            word = data.strip()
            if word == b"[DONE]":
                self.done = True
                return
            if not word:
                return
        try:
            self._take(event, fresh)
        except NotJson:
            raise StreamBroken(f"{self._endpoint.provider} sent a piece of an answer that is not JSON.") from None

    def _take(self, event: SseEvent, fresh: Fresh) -> None:
        """Take what an event says, in the words of one wire. Raises NotJson, ProviderError."""
        raise NotImplementedError

    def _say(self, text: str, fresh: Fresh) -> None:
        self._text.append(text)
        fresh.said(text)

    def _think(self, text: str, fresh: Fresh) -> None:
        self._thinking.append(text)
        fresh.thought(text)

    # -- the result ----------------------------------------------------------------------------

    def _settle(self) -> None:
        try:
            self._reply = self._whole()
            self.failure = None
        except ProviderError as error:
            self.failure = error

    def _whole(self) -> AssistantMessage:
        provider = self._endpoint.provider
        empty = not self._calls and not "".join(self._text).strip()
        if not self.finished:
            if empty and not self._thinking:
                raise EmptyAnswer(f"{provider} returned nothing.")
            raise StreamBroken(f"{provider} stopped in the middle of the answer.")
        finish: Finish = self._finish or "stop"
        if finish == "stop" and self._calls:
            finish = "tool_calls"
        elif finish == "tool_calls" and not self._calls:
            finish = "stop"
        if empty and finish == "content_filter":
            raise ContentFiltered(f"The content filter of {provider} held the whole answer back.")
        if empty and finish == "stop":
            raise EmptyAnswer(f"{provider} finished with neither text nor a tool call.")
        taken = {
            call.id
            for message in self._request.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        }
        return self._message(self._calls.whole(taken), finish)

    def _message(self, calls: tuple[ToolCall, ...], finish: Finish) -> AssistantMessage:
        text, thinking = "".join(self._text), "".join(self._thinking)
        usage = self._usage
        if usage is None:
            written = text + thinking + "".join(call.name + call.arguments for call in calls)
            usage = Usage(
                input=estimated_input(self._request), output=estimate_tokens(written), calls=1, estimated=True
            )
        return AssistantMessage(
            text=text,
            reasoning=thinking,
            tool_calls=calls,
            finish=finish,
            model=self._request.model or self._endpoint.model,
            usage=usage,
        )

    @property
    def reply(self) -> AssistantMessage:
        """The whole answer, once `end` has returned without a failure."""
        if self._reply is None:
            raise RuntimeError("The answer is not over: iterate to the end before reading the reply.")
        return self._reply

    @property
    def partial(self) -> AssistantMessage:
        """What has arrived so far, without calls; its usage is the provider's, or an estimate."""
        return self._message((), self._finish or "error")


class Fresh:
    """What one read adds, in order: neighbours of one kind are joined."""

    def __init__(self) -> None:
        self.size = 0
        self._deltas: list[ModelDelta] = []
        self._kind: type[TextDelta] | type[ThinkingDelta] = TextDelta
        self._open: list[str] = []

    def said(self, text: str) -> None:
        """Add answer text."""
        if self._kind is not TextDelta:
            self._flush()
            self._kind = TextDelta
        self._open.append(text)
        self.size += len(text)

    def thought(self, text: str) -> None:
        """Add reasoning."""
        if self._kind is not ThinkingDelta:
            self._flush()
            self._kind = ThinkingDelta
        self._open.append(text)
        self.size += len(text)

    def called(self, name: str) -> None:
        """Add the beginning of a call."""
        self._flush()
        self._deltas.append(CallDelta(name))

    def deltas(self) -> list[ModelDelta]:
        """Return them all."""
        self._flush()
        return self._deltas

    def _flush(self) -> None:
        if self._open:
            self._deltas.append(self._kind("".join(self._open)))
            self._open = []


def _error_body(data: bytes) -> object:
    try:
        return json_object(data)
    except NotJson:
        return data.decode("utf-8", "replace")
