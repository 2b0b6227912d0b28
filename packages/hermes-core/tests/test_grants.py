"""What a person has allowed once and for all can be seen, and taken back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from core_world import Bench, MakeBench
from faulty_store import FaultyStore
from hermes_core.commands import AnswerApprovals, Grants, Revoke, RevokeReply
from hermes_core.errors import StoreError
from hermes_core.events import ApprovalRequest, SessionInfo
from hermes_core.questions import Choice
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.testing import answer, call
from hermes_core.tools.builtin import builtin_tools
from session_steps import prompt

pytestmark = pytest.mark.anyio

REMOVAL = answer(call("terminal", command="rm -rf doomed"))
PATTERN = "terminal:rm -rf doomed"


def real_tools(world: Bench) -> Runtime:
    return Runtime(world.config, world.store, tools=builtin_tools())


async def asked(session: Session, choice: Choice) -> bool:
    """Run a turn, give this answer to what is asked; return whether anything was."""
    found = False
    with session.subscribe() as events:
        await session.dispatch(prompt("go"))
        async for event in events:
            if isinstance(event, ApprovalRequest):
                found = True
                await session.dispatch(AnswerApprovals(choice))
            if isinstance(event, SessionInfo) and not session.turn_id:
                return found
    raise AssertionError("the session was closed")


async def test_grants_are_listed_with_their_time_and_how_far_they_reach(bench: MakeBench, tmp_path: Path) -> None:
    """HA-064: what `session` and `always` have done can be seen."""
    other = answer(call("terminal", command="rm -rf other"))
    async with bench(REMOVAL, answer("1"), other, answer("2")) as world, real_tools(world) as runtime:
        session = await runtime.create(source="test", cwd=str(tmp_path))
        before = time.time()
        assert await asked(session, "session")
        assert await asked(session, "always")
        found = (await session.dispatch(Grants())).grants
        assert [(grant.pattern, grant.always) for grant in found] == [
            (PATTERN, False),
            ("terminal:rm -rf other", True),
        ]
        assert all(before <= grant.created_at <= time.time() for grant in found)
        elsewhere = await runtime.create(source="test", cwd=str(tmp_path))
        assert [grant.pattern for grant in (await elsewhere.dispatch(Grants())).grants] == ["terminal:rm -rf other"]


@pytest.mark.parametrize("choice", ["session", "always"])
async def test_what_was_revoked_is_asked_about_again(bench: MakeBench, tmp_path: Path, choice: Choice) -> None:
    """HA-064, HA-065: a grant ends when it is taken back, and not before."""
    script = (REMOVAL, answer("1"), REMOVAL, answer("2"), REMOVAL, answer("3"))
    async with bench(*script) as world, real_tools(world) as runtime:
        session = await runtime.create(source="test", cwd=str(tmp_path))
        assert await asked(session, choice)
        assert await session.dispatch(Revoke("terminal:rm -rf")) == RevokeReply(0)
        assert not await asked(session, "deny")
        assert await session.dispatch(Revoke(PATTERN)) == RevokeReply(1)
        assert (await session.dispatch(Grants())).grants == ()
        assert await asked(session, "deny")


async def test_a_grant_for_ever_that_one_session_revokes_is_gone_in_the_session_that_gave_it(
    bench: MakeBench, tmp_path: Path
) -> None:
    """HA-065: grants for ever are one list, not one for each session that knows them."""
    script = (REMOVAL, answer("1"), REMOVAL, answer("2"))
    async with bench(*script) as world, real_tools(world) as runtime:
        giver = await runtime.create(source="test", cwd=str(tmp_path))
        assert await asked(giver, "always")
        other = await runtime.create(source="test", cwd=str(tmp_path))
        assert await other.dispatch(Revoke(PATTERN)) == RevokeReply(1)
        assert await asked(giver, "deny")


async def test_a_grant_that_cannot_be_revoked_in_the_store_stays_and_says_so(bench: MakeBench, tmp_path: Path) -> None:
    store = FaultyStore()
    async with bench(REMOVAL, answer("1"), store=store) as world, real_tools(world) as runtime:
        session = await runtime.create(source="test", cwd=str(tmp_path))
        assert await asked(session, "session")
        store.broken["revoke_grant"] = StoreError("the disk is full")
        with pytest.raises(StoreError):
            await session.dispatch(Revoke(PATTERN))
        assert [grant.pattern for grant in (await session.dispatch(Grants())).grants] == [PATTERN]
