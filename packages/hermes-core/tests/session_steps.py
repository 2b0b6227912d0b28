"""Steps that the tests of a session share."""

from __future__ import annotations

from hermes_core.commands import BusyMode, Submit
from hermes_core.content import TextPart
from hermes_core.events import Event, MessageComplete, SessionInfo
from hermes_core.messages import Message
from hermes_core.session.session import Session


def prompt(text: str, busy: BusyMode | None = None) -> Submit:
    """Return a submit of one text."""
    return Submit(parts=(TextPart(text),), busy=busy)


async def turn(session: Session, text: str) -> list[Event]:
    """Submit a text and return every event up to the `session.info` that follows the turn's end."""
    events: list[Event] = []
    ended = False
    with session.subscribe() as subscription:
        reply = await session.dispatch(prompt(text))
        async for event in subscription:
            events.append(event)
            ended = ended or (isinstance(event, MessageComplete) and event.turn_id == reply.turn_id)
            if ended and isinstance(event, SessionInfo):
                return events
    raise AssertionError("the session was closed before the turn ended")


def end_of(events: list[Event]) -> MessageComplete:
    """Return the one end among `events`."""
    [end] = [event for event in events if isinstance(event, MessageComplete)]
    return end


def roles(messages: tuple[Message, ...]) -> list[str]:
    """Return the role of each message."""
    return [str(message.__struct_config__.tag) for message in messages]
