"""POST /v1/runs, and what can be seen of a run and done to it."""

from __future__ import annotations

from functools import partial

from hermes_core import ids
from hermes_core.commands import Submit
from hermes_core.errors import AnswerNotOffered
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from hermes_api.encode.quote import quoted
from hermes_api.errors import ApiError
from hermes_api.limits import read_body
from hermes_api.routes.answers import read, send_json
from hermes_api.runs.book import new_run_id, status_of
from hermes_api.runs.journal import Journal
from hermes_api.runs.run import Run
from hermes_api.service import Service, checked_session, header, session_header, session_key_headers
from hermes_api.sessions import Asked
from hermes_api.sse import EventStream, while_connected
from hermes_api.wire.decode import decode
from hermes_api.wire.runs import (
    ApprovalBody,
    ApprovalReply,
    RunRequest,
    RunStarted,
    RunStatus,
    SteerBody,
    approval_choice,
    approval_target,
    run_conversation,
    steer_text,
)


class RunStart:
    """Begins a run and answers at once."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self._service
        service.gate.enter()
        begun = False
        try:
            request = await read(scope, receive, RunRequest)
            headers = session_key_headers(scope)
            conversation = run_conversation(request)
            run_id = new_run_id()
            named = checked_session(request.session_id, "session_id") if request.session_id else session_header(scope)
            asked = Asked(owner=scope["owner"], conversation=conversation, stored_id=named or run_id, answerable=True)
            submit = Submit(
                parts=conversation.turn,
                busy="queue",
                system=conversation.system,
                model=await service.model_for(request.model),
                turn_id=ids.turn_id(),
            )
            model = request.model or service.model_name
            status = await service.runs.begin(run_id, asked, submit, model, service.tasks)
            begun = True  # from here on the run gives its place back itself
        finally:
            if not begun:
                service.gate.leave()
        await send_json(
            send,
            RunStarted(run_id=run_id, session_id=status.session_id),
            202,
            [(b"x-hermes-session-id", status.session_id.encode("utf-8", "replace")), *headers],
        )


class RunDetail:
    """The status of a run."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, status_of(await _found(self._service, scope)))


class RunEventsStream:
    """The events of a run from any point on. Any number of clients; one that leaves changes nothing."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        journal = await self._service.runs.journal(scope["path_params"]["run_id"], scope["owner"])
        stream = EventStream(send)
        await while_connected(receive, partial(_replay, journal, _cursor(scope), stream, scope["method"]), stream)


async def _replay(journal: Journal, cursor: int | None, stream: EventStream, method: str) -> None:
    await stream.start([], b": open\n\n")
    position = cursor or 0
    while method != "HEAD":
        if position < journal.oldest - 1 and (position or journal.oldest > 1):
            await stream.write(_truncated(journal, cursor))
            position = cursor = journal.oldest - 1
        frames = journal.after(position)
        if frames:
            position += len(frames)
            await stream.write(b"".join(frames))
        elif journal.closed:
            break
        else:
            await journal.changed()
    await stream.write(b": stream closed\n\n")
    await stream.close()


def _truncated(journal: Journal, requested: int | None) -> bytes:
    fields: dict[str, object] = {"event": "replay.truncated", "run_id": journal.run_id}
    fields["oldest_retained_seq"] = journal.oldest
    if requested is not None:
        fields["requested_seq"] = requested
    return b"event: replay.truncated\ndata: %b\n\n" % quoted(fields)


def _cursor(scope: Scope) -> int | None:
    """Return the number of the last event the client has: the header, else the query; None to begin at the start."""
    value = header(scope, b"last-event-id").strip()
    if not value:
        query = dict(pair.partition("=")[::2] for pair in scope["query_string"].decode("latin-1").split("&"))
        value = query.get("after") or query.get("last_seq") or ""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= 15 else None


class RunStop:
    """Stops a run; stopping one that has ended tells its status."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await read_body(scope, receive)
        found = await _found(self._service, scope)
        status = status_of(found)
        if status.over:
            await send_json(send, status)
            return
        if isinstance(found, RunStatus):
            raise ApiError(409, "This run is at work in another process.", "run_not_active")
        await found.stop()
        self._service.tasks.start_soon(found.interrupt)
        await send_json(send, {"run_id": status.run_id, "status": "stopping"})


class RunApproval:
    """Answers approvals that a run waits for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = await _found(self._service, scope)
        body = await read(scope, receive, ApprovalBody)
        target, choice = approval_target(body), approval_choice(body)
        if not isinstance(found, Run) or found.status.over:
            raise ApiError(409, "This run has ended; nothing can be approved.", "approval_not_active")
        waiting = found.approvals
        if target:
            waiting = [target] if target in waiting else []
        elif not (body.all or body.resolve_all):
            waiting = waiting[:1]
        resolved = 0
        try:
            for request_id in waiting:
                resolved += await found.answer(request_id, choice)
        except AnswerNotOffered as error:
            raise ApiError(400, error.message, "invalid_approval_choice", param="choice") from None
        if not resolved:
            raise ApiError(409, "No such approval is waiting.", "approval_not_pending")
        reply = ApprovalReply("hermes.run.approval_response", found.status.run_id, choice, resolved, target)
        await send_json(send, reply)


class RunSteer:
    """Gives a running run a text to read after its next tool batch."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = await _found(self._service, scope)
        data = await read_body(scope, receive)
        # The state comes first: a run that takes no steering says so whatever the body is.
        if not isinstance(found, Run) or found.status.status != "running":
            raise ApiError(
                409, f"This run is not accepting steering: {status_of(found).status}.", "run_not_accepting_steer"
            )
        text = steer_text(decode(data or b"{}", SteerBody))
        if not await found.steer(text):
            raise ApiError(409, "The run's turn has just ended.", "steer_not_accepted")
        await send_json(send, {"object": "hermes.run.steer", "run_id": found.status.run_id, "accepted": True})


async def _found(service: Service, scope: Scope) -> Run | RunStatus:
    return await service.runs.find(scope["path_params"]["run_id"], scope["owner"])


def routes(service: Service) -> list[BaseRoute]:
    """Return the routes of this file."""
    return [
        Route("/v1/runs", RunStart(service), methods=["POST"]),
        Route("/v1/runs/{run_id}", RunDetail(service), methods=["GET"]),
        Route("/v1/runs/{run_id}/events", RunEventsStream(service), methods=["GET"]),
        Route("/v1/runs/{run_id}/stop", RunStop(service), methods=["POST"]),
        Route("/v1/runs/{run_id}/approval", RunApproval(service), methods=["POST"]),
        Route("/v1/runs/{run_id}/steer", RunSteer(service), methods=["POST"]),
    ]
