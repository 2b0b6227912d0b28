"""A host that reads slowly: it holds up nobody, and knows where it stands afterwards."""

from __future__ import annotations

import anyio
import pytest
from hermes_core.events import MessageDelta, StatusUpdate
from hermes_core.jsonrpc import MAX_LINE
from hermes_core.session.session import Session
from hermes_core.session.subscription import MAX_EVENTS
from hermes_core.testing import ScriptedModel
from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.testing import LocalHost, local_host, spawn_gateway

pytestmark = pytest.mark.anyio


async def attached(host: LocalHost, gateway: Gateway) -> Session:
    created = await host.call("session.create")
    await host.event("session.info")
    return gateway.runtime.live(created["session_id"])


async def busy(host: LocalHost, session: Session) -> None:
    """Stop reading, and wait until the gateway notices with one event."""
    host.stop_reading()
    session.log.publish(StatusUpdate(kind="test", text="first"))
    await host.event("status.update")


async def test_deltas_for_a_host_that_is_behind_come_as_one(host: LocalHost, gateway: Gateway) -> None:
    session = await attached(host, gateway)
    await busy(host, session)
    for number in range(500):
        session.log.publish(MessageDelta(text=f"{number} "))
    session.log.publish(StatusUpdate(kind="test", text="last"))
    host.read_on()
    await host.event("status.update")
    deltas = [event["payload"]["text"] for event in host.events("message.delta")]
    assert len(deltas) == 1
    assert deltas[0].split() == [str(number) for number in range(500)]


async def test_a_host_that_falls_behind_a_little_misses_nothing(host: LocalHost, gateway: Gateway) -> None:
    session = await attached(host, gateway)
    await busy(host, session)
    for number in range(MAX_EVENTS + 100):
        session.log.publish(StatusUpdate(kind="test", text=str(number)))
    host.read_on()
    texts = [(await host.event("status.update"))["payload"]["text"] for _ in range(MAX_EVENTS + 100)]
    assert texts == [str(number) for number in range(MAX_EVENTS + 100)]


async def test_a_host_that_falls_far_behind_is_told_and_given_the_session_as_it_is(
    host: LocalHost, gateway: Gateway
) -> None:
    session = await attached(host, gateway)
    await busy(host, session)
    for number in range(10_000):
        session.log.publish(StatusUpdate(kind="test", text=str(number)))
    host.read_on()
    warning = (await host.event("status.update"))["payload"]
    assert warning["kind"] == "warn"
    snapshot = await host.event("session.snapshot")
    assert snapshot["payload"]["session_id"] == session.id
    session.log.publish(StatusUpdate(kind="test", text="after"))
    assert (await host.event("status.update"))["payload"]["text"] == "after"


async def test_a_host_that_does_not_read_holds_up_nobody_else(
    host: LocalHost, gateway: Gateway, model: ScriptedModel
) -> None:
    session = await attached(host, gateway)
    async with local_host(gateway) as other:
        await other.call("session.activate", session_id=session.id)
        await busy(host, session)
        await other.call("prompt.submit", session_id=session.id, text="[[text n=3000 size=8]]")
        end = await other.event("message.complete")
        assert len(end["payload"]["text"]) == 3000 * 8
        host.read_on()
        assert (await host.event("message.complete"))["payload"] == end["payload"]


async def test_a_tool_that_floods_holds_up_no_request(host: LocalHost, gateway: Gateway) -> None:
    """HA-096."""
    session = await attached(host, gateway)
    await host.call(
        "prompt.submit", session_id=session.id, text='[[call terminal {"command":"yes \'a line of output\'"}]]'
    )
    await host.event("tool.progress")
    for _ in range(10):
        assert (await host.call("session.active_list"))["sessions"][0]["status"] == "working"
    assert (await host.call("session.interrupt", session_id=session.id))["interrupted"] is True
    assert (await host.event("message.complete"))["payload"]["status"] == "interrupted"


async def test_an_event_that_cannot_be_sent_takes_no_other_along(
    host: LocalHost, gateway: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = await attached(host, gateway)
    monkeypatch.setattr("hermes_tui_gateway.encode.wire.Status", None)
    session.log.publish(StatusUpdate(kind="test", text="lost"))
    session.log.publish(MessageDelta(text="kept"))
    assert (await host.event("message.delta"))["payload"]["text"] == "kept"
    assert "could not be sent" in caplog.text


async def test_a_line_beyond_the_limit_is_refused_and_the_next_one_served(model: ScriptedModel) -> None:
    """HA-085."""
    async with spawn_gateway({}) as host:
        await host.event("gateway.ready")
        with anyio.fail_after(60):
            await host.write(b"x" * (MAX_LINE + 1))
        assert await host.call("session.active_list") == {"sessions": []}
        assert [frame["error"]["code"] for frame in host.frames if "error" in frame] == [-32600]
