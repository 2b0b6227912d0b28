"""Turns over the wire: stopping one, steering it, and what waits behind it."""

from __future__ import annotations

import pytest
from hermes_core.testing import ScriptedModel
from hermes_tui_gateway.testing import LocalHost, Refused

pytestmark = pytest.mark.anyio

REMOVING = '[[call terminal {"command":"rm -rf ./x"}]] [[echo Done.]]'


@pytest.fixture
async def session_id(host: LocalHost) -> str:
    return (await host.call("session.create"))["session_id"]


async def test_an_interrupt_with_nothing_running_answers_and_spares_the_next_prompt(
    host: LocalHost, session_id: str
) -> None:
    """HA-056, HA-067."""
    for _ in range(20):
        idle = await host.call("session.interrupt", session_id=session_id)
        assert idle["status"] == "interrupted"
        await host.call("prompt.submit", session_id=session_id, text="hello")
        end = await host.event("message.complete")
        assert end["payload"]["status"] == "complete"
        await host.call("session.interrupt", session_id=session_id)


async def test_a_prompt_right_behind_an_interrupt_is_answered(
    host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    """HA-056: the interrupt stops what ran before it, never what comes after."""
    await host.call("prompt.submit", session_id=session_id, text="[[echo a]] [[stall]]")
    await host.event("message.delta")
    await host.send("session.interrupt", session_id=session_id)
    await host.call("prompt.submit", session_id=session_id, text="hello")
    assert (await host.event("message.complete"))["payload"]["status"] == "interrupted"
    assert (await host.event("message.complete"))["payload"]["text"] == "ok"


async def test_steering_an_idle_session_is_refused_and_leaves_nothing(
    host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    """HA-062."""
    reply = await host.call("session.steer", session_id=session_id, text=" zebra ")
    assert reply == {"status": "rejected", "text": "zebra"}
    await host.call("prompt.submit", session_id=session_id, text="hello")
    await host.event("message.complete")
    assert "zebra" not in str(model.requests)


async def test_steering_reaches_the_model_with_the_next_result(
    host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    await host.call("prompt.submit", session_id=session_id, text=REMOVING)
    await host.event("approval.request")
    with pytest.raises(Refused, match="4002"):
        await host.call("session.steer", session_id="none", text=" ")
    with pytest.raises(Refused, match="4001"):
        await host.call("session.steer", session_id="none", text="left")
    assert (await host.call("session.steer", session_id=session_id, text="go left"))["status"] == "queued"
    await host.call("approval.respond", session_id=session_id, choice="once")
    assert (await host.event("steer.delivered"))["payload"]["text"] == "go left"
    await host.event("message.complete")
    assert "go left" in str(model.requests[1]["messages"])


async def test_prompts_wait_for_the_running_turn_and_an_interrupt_drops_them(
    host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    await host.call("prompt.submit", session_id=session_id, text="[[stall]] [[echo a]]")
    assert (await host.call("prompt.submit", session_id=session_id, text="next"))["status"] == "queued"
    assert (await host.event("queue.changed"))["payload"]["texts"] == ["next"]
    joined = await host.call("session.activate", session_id=session_id)
    assert joined["queued"] == {"user": "next"}
    await host.call("session.interrupt", session_id=session_id)
    assert (await host.event("queue.changed"))["payload"]["texts"] == []
    await host.call("prompt.submit", session_id=session_id, text="hello")
    await host.event("message.complete")
    await host.event("message.complete")
    assert "next" not in str(model.requests[-1]["messages"])


@pytest.mark.parametrize("mode", ["queue", "steer", "interrupt"])
async def test_queued_forces_a_prompt_to_wait_whatever_the_mode(
    mode: str, host: LocalHost, session_id: str, model: ScriptedModel
) -> None:
    await host.call("config.set", key="busy", value=mode)
    await host.call("prompt.submit", session_id=session_id, text="[[stall]] [[echo a]]")
    reply = await host.call("prompt.submit", session_id=session_id, text="next", queued=True)
    assert reply["status"] == "queued"
    await model.wait_for_requests(1)
    model.release()
    assert (await host.event("message.complete"))["payload"]["text"] == "a"
    assert (await host.event("message.complete"))["payload"]["text"] == "ok"
