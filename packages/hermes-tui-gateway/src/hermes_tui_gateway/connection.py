"""A connection: one client, what it is attached to, and the order of what it is sent.

It works the same over standard input and output and over a socket: all it needs is a source of lines and an
outlet for frames.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from hermes_core.events import Event
from hermes_core.jsonrpc import INVALID_REQUEST, NO_ID, RpcError, TooLong
from hermes_core.session.session import Session
from hermes_core.session.subscription import SlowReader, Subscription

from hermes_tui_gateway import decode
from hermes_tui_gateway.call import Call
from hermes_tui_gateway.decode import Request
from hermes_tui_gateway.dispatch import Dispatcher
from hermes_tui_gateway.encode import encode
from hermes_tui_gateway.frames import error_frame, event_line
from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.info import Surroundings
from hermes_tui_gateway.snapshot import snapshot_of
from hermes_tui_gateway.wire.events import EventParams, Status

MAX_AT_WORK = 64
"""Concurrent requests of one connection; when so many are at work, the next one is not read."""

log = logging.getLogger(__name__)


class Outlet(Protocol):
    """Where frames go. `send` never blocks; `drain` waits while too much is on its way."""

    def send(self, line: bytes, /) -> None:
        """Queue one frame; frames go out in the order of the calls."""
        ...

    async def drain(self) -> None:
        """Wait until there is room, or the reader is gone."""
        ...


class Source(Protocol):
    """Where lines come from."""

    async def batch(self) -> list[bytes | TooLong]:
        """Return the lines that have come, at least one; empty at the end."""
        ...


class Connection:
    """One client. Made by `connect`."""

    def __init__(self, gateway: Gateway, outlet: Outlet, dispatcher: Dispatcher, tasks: TaskGroup) -> None:
        self._gateway = gateway
        self._outlet = outlet
        self._dispatcher = dispatcher
        self._tasks = tasks
        self._attached: dict[str, Subscription] = {}
        self._room = anyio.Semaphore(MAX_AT_WORK)
        self._quiet = anyio.Event()

    async def serve(self, source: Source, *, patience: float) -> None:
        """Answer what comes from `source`, to its end. What is at work then has `patience` seconds to end."""
        async with anyio.create_task_group() as requests:
            while lines := await source.batch():
                for line in lines:
                    await self._receive(line, requests)
            requests.cancel_scope.deadline = anyio.current_time() + patience

    async def finish(self) -> None:
        """Wait until every event of the sessions, which are closed, is on its way."""
        while self._attached:
            self._quiet = anyio.Event()
            await self._quiet.wait()

    async def _receive(self, line: bytes | TooLong, requests: TaskGroup) -> None:
        if isinstance(line, TooLong):
            error = RpcError(INVALID_REQUEST, f"The line is longer than {line.limit} bytes and was skipped.")
            self._outlet.send(error_frame(NO_ID, error))
            return
        if not line or line.isspace():
            return
        request = decode.regular(line)
        if not self._dispatcher.is_concurrent(request):
            await self._answer(line, request)
            return
        await self._room.acquire()
        requests.start_soon(self._answer_aside, line, request)
        # It has to begin before the next request is read: what an interrupt stops, for one, is decided then.
        await anyio.lowlevel.checkpoint()

    async def _answer_aside(self, line: bytes, request: Request | None) -> None:
        try:
            await self._answer(line, request)
        finally:
            self._room.release()

    async def _answer(self, line: bytes, request: Request | None) -> None:
        client = _Asking(self, self._outlet)
        frame = await self._dispatcher.answer(line, request, Call(self._gateway, client))
        self._outlet.send(frame)
        for session, subscription in client.attached:
            self._tasks.start_soon(self._pump, session, subscription)
        for work in client.later:
            self._tasks.start_soon(self._work, work)
        await self._outlet.drain()

    @property
    def sessions(self) -> list[Session]:
        """The live sessions whose events this client gets."""
        return [session for session in self._gateway.runtime.sessions.values() if session.id in self._attached]

    def subscribe(self, session: Session) -> Subscription | None:
        """Begin to listen to `session`; None when this client does already."""
        if session.id in self._attached:
            return None
        subscription = self._attached[session.id] = session.subscribe()
        return subscription

    async def _work(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:
            log.exception("work after a reply failed")

    async def _pump(self, session: Session, subscription: Subscription) -> None:
        """Send the events of one session, to its end."""
        try:
            while True:
                try:
                    events = await subscription.batch()
                except SlowReader as slow:
                    subscription = self._rejoin(session, slow.cursor)
                    continue
                if not events:
                    return
                around = self._gateway.around
                for event in events:
                    self._send_event(event, around)
                await self._outlet.drain()
        finally:
            subscription.close()
            del self._attached[session.id]
            self._quiet.set()

    def _send_event(self, event: Event, around: Surroundings) -> None:
        """Send one event. One that cannot be sent must not take those after it along."""
        try:
            frame = encode(event, around)
        except Exception:
            log.exception("event %d of session %s could not be sent", event.seq, event.session_id)
            return
        if frame is not None:
            self._outlet.send(frame)

    def _rejoin(self, session: Session, cursor: str) -> Subscription:
        """Listen again after falling behind; say so, and give the session as it is now, if events were lost."""
        subscription = self._attached[session.id] = session.subscribe(cursor)
        if subscription.snapshot is not None:
            text = "This client read too slowly, so some events were left out."
            for kind, payload in (
                ("status.update", Status(kind="warn", text=text)),
                ("session.snapshot", snapshot_of(session, self._gateway)),
            ):
                self._outlet.send(event_line(EventParams(type=kind, session_id=session.id, payload=payload)))
        return subscription


class _Asking:
    """The client of one request: what the request attaches and puts off waits until its reply is out."""

    def __init__(self, connection: Connection, outlet: Outlet) -> None:
        self._connection = connection
        self._outlet = outlet
        self.attached: list[tuple[Session, Subscription]] = []
        self.later: list[Callable[[], Awaitable[None]]] = []

    @property
    def sessions(self) -> list[Session]:
        return self._connection.sessions

    def attach(self, session: Session) -> None:
        subscription = self._connection.subscribe(session)
        if subscription is not None:
            self.attached.append((session, subscription))

    def tell(self, params: EventParams) -> None:
        self._outlet.send(event_line(params))

    def after_reply(self, work: Callable[[], Awaitable[None]]) -> None:
        self.later.append(work)


@contextlib.asynccontextmanager
async def connect(gateway: Gateway, outlet: Outlet) -> AsyncGenerator[Connection]:
    """Open a connection. Leaving the block ends its pumps; the sessions live on."""
    async with anyio.create_task_group() as tasks:
        yield Connection(gateway, outlet, Dispatcher(), tasks)
        tasks.cancel_scope.cancel()
