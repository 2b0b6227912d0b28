"""POST /v1/chat/completions: one turn, streamed or whole. The turn lives as long as its client is connected."""

from __future__ import annotations

import secrets
import time
from functools import partial

import msgspec
from hermes_core import ids
from hermes_core.commands import Submit
from hermes_core.content import TextPart
from hermes_core.errors import HermesError
from hermes_core.events import MessageComplete
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from hermes_api.bookmarks import Bookmark
from hermes_api.encode.chat import ChatChunks, ending, finish_reason
from hermes_api.errors import ApiError
from hermes_api.routes.answers import read, send_json
from hermes_api.service import Service, session_header, session_key_headers
from hermes_api.sessions import Asked
from hermes_api.sse import EventStream, while_connected
from hermes_api.turns import Turn, decline
from hermes_api.wire.chat import Answer, AnswerChoice, ChatCompletion, ChatRequest, chat_usage, checked
from hermes_api.wire.conversation import Conversation, conversation_of, extended

TASK = "### Task:"
"""How frontends begin the prompts with which they make titles, tags and the like."""
MAX_ERROR_HEADER = 200


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    """One request, understood."""

    id: str
    model: str
    asked: Asked
    submit: Submit
    include_usage: bool
    headers: list[tuple[bytes, bytes]]


class ChatCompletions:
    """Runs a turn for each request."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._service.gate.enter()
        try:
            request = checked(await read(scope, receive, ChatRequest))
            order = await self._order(scope, request)
            if request.stream:
                stream = EventStream(send)
                await while_connected(receive, partial(self._stream, order, stream), stream)
            else:
                await while_connected(receive, partial(self._whole, order, send))
        finally:
            self._service.gate.leave()

    async def _order(self, scope: Scope, request: ChatRequest) -> _Order:
        conversation = conversation_of(request.messages)
        stored_id = session_header(scope)
        task = not stored_id and _is_task(conversation)
        return _Order(
            id="chatcmpl-" + secrets.token_hex(15)[:29],
            model=request.model or self._service.model_name,
            asked=Asked(owner=scope["owner"], conversation=conversation, stored_id=stored_id, ephemeral=task),
            submit=Submit(
                parts=conversation.turn,
                busy="queue",
                system=conversation.system,
                model=await self._service.model_for(request.model),
                tools=not task,
                max_tokens=request.token_limit,
                reasoning_effort=request.reasoning_effort or "",
                turn_id=ids.turn_id(),
            ),
            include_usage=request.include_usage,
            headers=session_key_headers(scope),
        )

    # -- streamed

    async def _stream(self, order: _Order, stream: EventStream) -> None:
        service = self._service
        chunks = ChatChunks(
            order.id,
            int(time.time()),
            order.model,
            reasoning=service.show_reasoning,
            tool_progress=service.settings.tool_progress_events,
        )
        if service.sessions.working(order.asked.stored_id):
            # Another turn is at work in this session: the client gets its first byte now, its turn later.
            await stream.start(_session(order, order.asked.stored_id), chunks.role())
        try:
            async with (
                service.sessions.opened(order.asked) as session,
                service.turns.begun(session, order.submit) as turn,
            ):
                if not stream.started:
                    await stream.start(_session(order, session.stored_id), chunks.role())
                end = await _relay(turn, chunks, stream)
                await self._mark(order, turn, end, chunks.said)
                await stream.write(self._last(chunks, end, order))
                await stream.close()
        except HermesError as error:
            if not stream.started:
                raise
            end = MessageComplete(status="error", error=error.message, code=error.code)
            await stream.write(self._last(chunks, end, order))
            await stream.close()

    def _last(self, chunks: ChatChunks, end: MessageComplete, order: _Order) -> bytes:
        return chunks.finish(end, self._sentence(end), include_usage=order.include_usage)

    # -- whole

    async def _whole(self, order: _Order, send: Send) -> None:
        service = self._service
        async with (
            service.sessions.opened(order.asked) as session,
            service.turns.begun(session, order.submit) as turn,
        ):
            end = await _finished(turn)
            await self._mark(order, turn, end, end.text)
            reason = finish_reason(end)
            headers = _session(order, session.stored_id)
            if reason != "stop":
                headers += self._ending_headers(end)
            if reason == "error":
                raise self._failure(end, headers)
            body = ChatCompletion(
                id=order.id,
                created=int(time.time()),
                model=order.model,
                choices=(AnswerChoice(0, self._answer(end), reason),),
                usage=chat_usage(end.usage),
                hermes=None if reason == "stop" else ending(end, self._sentence(end)),
            )
            await send_json(send, body, headers=headers)

    def _answer(self, end: MessageComplete) -> Answer:
        return Answer("assistant", end.text, end.reasoning if self._service.show_reasoning else "")

    def _failure(self, end: MessageComplete, headers: list[tuple[bytes, bytes]]) -> ApiError:
        """Return the answer for a turn that failed. Official clients would run the whole turn again: they are told
        not to."""
        error = self._service.refusals.of_code(end.code or "internal", end.error or "The turn was interrupted.")
        error.headers.pop("Retry-After", None)
        error.headers.update({name.decode("latin-1"): value.decode("latin-1") for name, value in headers})
        error.headers["x-should-retry"] = "false"
        return error

    def _ending_headers(self, end: MessageComplete) -> list[tuple[bytes, bytes]]:
        text = self._sentence(end).encode("ascii", "replace")[:MAX_ERROR_HEADER]
        return [
            (b"x-hermes-completed", b"false"),
            (b"x-hermes-partial", b"true" if end.text else b"false"),
            (b"x-hermes-error", bytes(byte if 32 <= byte < 127 else 32 for byte in text).strip()),
        ]

    # -- both

    def _sentence(self, end: MessageComplete) -> str:
        if end.status == "complete" and finish_reason(end) == "stop":
            return ""
        return self._service.refusals.sentence(end.code or "interrupted", end.error or "The turn was interrupted.")

    async def _mark(self, order: _Order, turn: Turn, end: MessageComplete, said: str) -> None:
        """Remember the conversation as this client has it now, so that its next message finds the session."""
        asked = order.asked
        if asked.stored_id or asked.ephemeral or end.status != "complete":
            return
        conversation = asked.conversation
        history = extended(conversation.history, conversation.turn, said)
        bookmark = Bookmark(turn.session.stored_id, end.row_id)
        await self._service.bookmarks.put(asked.owner, history, bookmark)


async def _relay(turn: Turn, chunks: ChatChunks, stream: EventStream) -> MessageComplete:
    """Write the turn's events as they come, all that wait in one send."""
    while turn.end is None:
        events = await turn.batch()
        for event in events:
            await decline(turn.session, event, approvals=True)
        if data := b"".join(map(chunks.encode, events)):
            await stream.write(data)
    return turn.end


async def _finished(turn: Turn) -> MessageComplete:
    """Wait for the end of the turn."""
    while turn.end is None:
        for event in await turn.batch():
            await decline(turn.session, event, approvals=True)
    return turn.end


def _session(order: _Order, stored_id: str) -> list[tuple[bytes, bytes]]:
    """Return the response headers that name the session; a session that is not kept has none."""
    if order.asked.ephemeral:
        return list(order.headers)
    return [(b"x-hermes-session-id", stored_id.encode("utf-8", "replace")), *order.headers]


def _is_task(conversation: Conversation) -> bool:
    turn = conversation.turn
    return not conversation.history and isinstance(turn[0], TextPart) and turn[0].text.lstrip().startswith(TASK)


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of this file."""
    return [Route("/v1/chat/completions", ChatCompletions(service), methods=["POST"])]
