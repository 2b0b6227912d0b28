"""A call: one request at work, with who asked and what the process has to offer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from hermes_core.errors import SessionNotFound
from hermes_core.session.session import Session

from hermes_tui_gateway.codes import NO_SESSION, WireError
from hermes_tui_gateway.wire.events import EventParams

if TYPE_CHECKING:
    from hermes_tui_gateway.gateway import Gateway


class Client(Protocol):
    """The connection that asked, as a method sees it."""

    def attach(self, session: Session) -> None:
        """Send this session's events to the client, from now on and after the reply. Twice is once."""
        ...

    @property
    def sessions(self) -> list[Session]:
        """The live sessions that the client is attached to."""
        ...

    def tell(self, params: EventParams) -> None:
        """Send one event to this client only."""
        ...

    def after_reply(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run `work` once the reply is out; it ends with the connection at the latest."""
        ...


class Call:
    """What a method works with besides its params."""

    def __init__(self, gateway: Gateway, client: Client) -> None:
        self.gateway = gateway
        self.client = client
        self.runtime = gateway.runtime

    def meant(self, session_id: str) -> Session | None:
        """Return the session that a call is about which may leave out its id: the one the client is attached to.

        None where it is attached to none. Raises WireError 4001 for an id that is not live, and where several
        could be meant.
        """
        if session_id:
            return self.session(session_id)
        attached = self.client.sessions
        if len(attached) > 1:
            raise WireError(NO_SESSION, f"{len(attached)} sessions are open: a session_id is needed to tell which.")
        return attached[0] if attached else None

    def session(self, session_id: str) -> Session:
        """Return the live session with this runtime id. Raises WireError 4001."""
        try:
            return self.runtime.live(session_id)
        except SessionNotFound:
            what = f"no live session {session_id!r}" if session_id else "no live session without a session_id"
            raise WireError(NO_SESSION, f"There is {what} in this process.") from None
