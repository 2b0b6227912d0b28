"""Rewind, undo, retry and branch, and submits that are known again: what is left, in the store and in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from core_world import MakeBench
from faulty_store import FaultyStore
from hermes_core.commands import Branch, Cut, Interrupt, Retry, Rewind, Submit, Undo
from hermes_core.content import TextPart
from hermes_core.errors import CutRefused, HermesError, InvalidInput, SessionBusy, StoreError
from hermes_core.events import MessageComplete, TranscriptCut, UserMessageAdded
from hermes_core.messages import NoteMessage, UserMessage
from hermes_core.session.session import Session
from hermes_core.store.memory import MemoryStore
from hermes_core.store.protocol import SessionQuery, Store
from hermes_core.store.sqlite import SqliteStore
from machine_world import legal
from session_steps import end_of, prompt, turn

pytestmark = pytest.mark.anyio

CALLS = '[[call say {"text": "a"}]] [[call say {"text": "b"}]] [[echo done]]'
HOLD = "[[call hold {}]] [[echo done]]"


@asynccontextmanager
async def talk(bench: MakeBench, *texts: str, store: Store | None = None) -> AsyncGenerator[Session]:
    """Give a session in which these texts were said; afterwards the store must tell what it tells."""
    async with bench(store=store) as world, world.runtime() as runtime:
        session = await runtime.create(source="test", title="Talk")
        for text in texts:
            await turn(session, text)
        yield session
        await session.dispatch(Interrupt())
        assert legal(session.transcript.messages)
        assert await world.store.messages(session.stored_id) == list(session.rows)


def said(session: Session) -> list[str]:
    return [row.message.text for row in session.rows if isinstance(row.message, UserMessage)]


def users(session: Session) -> list[int]:
    return [row.row_id for row in session.rows if isinstance(row.message, UserMessage)]


def again(text: str, **options: Cut | str) -> Submit:
    return Submit(parts=(TextPart(text),), **options)  # pyright: ignore[reportArgumentType]


async def ended(session: Session, submit: Submit | Retry) -> MessageComplete:
    """Submit, and return the end of the turn."""
    with session.subscribe() as events:
        await session.dispatch(submit)
        async for event in events:
            if isinstance(event, MessageComplete):
                return event
    raise AssertionError("the session was closed before the turn ended")


async def test_rewind_takes_back_a_message_and_all_after_it_and_gives_new_ids(bench: MakeBench) -> None:
    async with talk(bench, "one", CALLS, "three") as session:
        old = [row.row_id for row in session.rows]
        with session.subscribe() as events:
            reply = await session.dispatch(Rewind(Cut(row_id=users(session)[1], ordinal=1)))
            [told] = [event for event in events.take() if isinstance(event, TranscriptCut)]
        assert reply.removed == 7 == told.removed
        assert reply.parts == (TextPart(CALLS),)
        assert said(session) == ["one"]
        assert reply.survivors == tuple(users(session)) == told.survivors
        assert not set(old) & {row.row_id for row in session.rows}
        assert end_of(await turn(session, "other")).status == "complete"


@pytest.mark.parametrize(
    ("cut", "problem"),
    [
        (Cut(row_id=0), "not_found"),
        (Cut(row_id=-5, ordinal=1), "not_found"),
        (Cut(row_id=10**30), "not_found"),
        (Cut(ordinal=-1), "not_found"),
        (Cut(ordinal=2), "not_found"),
        (Cut(ordinal=10**9), "not_found"),
        (Cut(ordinal=0), "empty"),
    ],
)
async def test_a_doubtful_cut_is_refused_and_changes_nothing(bench: MakeBench, cut: Cut, problem: str) -> None:
    """HA-087: no fallback from a bad row id to the place beside it."""
    async with talk(bench, "one", "two") as session:
        before = list(session.rows)
        for command in (Rewind(cut), again("x", cut=cut)):
            with pytest.raises(CutRefused) as refused:
                await session.dispatch(command)
            assert refused.value.problem == problem
        assert list(session.rows) == before
        assert session.state == "idle"


async def test_row_and_place_must_agree_and_an_answer_or_a_note_is_no_target(bench: MakeBench) -> None:
    """HA-087."""
    async with talk(bench, "one", "two") as session:
        assistant = session.rows[1].row_id
        await session.transcript.rewrite(
            [(1.0, NoteMessage("a note")), *((row.created_at, row.message) for row in session.rows)]
        )
        first, second = users(session)
        for cut, problem in (
            (Cut(row_id=second, ordinal=0), "mismatch"),
            (Cut(row_id=assistant), "not_found"),
            (Cut(row_id=session.rows[0].row_id), "not_found"),
            (Cut(row_id=first), "empty"),
        ):
            with pytest.raises(CutRefused) as refused:
                await session.dispatch(Rewind(cut))
            assert refused.value.problem == problem
        with pytest.raises(InvalidInput):
            await session.dispatch(Rewind(Cut()))
        reply = await session.dispatch(Rewind(Cut(ordinal=1)))
        assert len(reply.survivors) == 1


async def test_submit_with_a_cut_is_one_act(bench: MakeBench) -> None:
    async with talk(bench, "one", "two", "three") as session:
        with session.subscribe() as events:
            reply = await session.dispatch(again("other", cut=Cut(ordinal=1)))
            told = [type(event) for event in events.take() if isinstance(event, TranscriptCut | UserMessageAdded)]
            assert told == [TranscriptCut, UserMessageAdded]
            await events.batch()
        assert (reply.status, reply.row_id) == ("started", users(session)[1])
        assert reply.survivors == (users(session)[0],)
        assert said(session) == ["one", "other"]


@pytest.mark.parametrize("command", [Rewind(Cut(ordinal=1)), again("x", cut=Cut(ordinal=1)), Undo(), Retry()])
async def test_a_cut_that_cannot_be_stored_changes_nothing_and_works_later(
    bench: MakeBench, command: Rewind | Submit | Undo | Retry
) -> None:
    """HA-086."""
    store = FaultyStore()
    async with talk(bench, "one", "two", store=store) as session:
        before = list(session.rows)
        store.broken["replace"] = StoreError("the disk is full")
        with session.subscribe() as events:
            with pytest.raises(StoreError, match="disk is full"):
                await session.dispatch(command)
            assert not [event for event in events.take() if isinstance(event, TranscriptCut | UserMessageAdded)]
        assert list(session.rows) == before == await store.messages(session.stored_id)
        store.broken.clear()
        await session.dispatch(command)
        assert list(session.rows) != before


async def test_a_running_turn_refuses_every_cut(bench: MakeBench) -> None:
    async with talk(bench, "one") as session:
        await session.dispatch(prompt(HOLD))
        for command in (Rewind(Cut(ordinal=0, allow_empty=True)), again("x", cut=Cut(ordinal=1)), Undo(), Retry()):
            with pytest.raises(SessionBusy):
                await session.dispatch(command)
        assert said(session) == ["one", HOLD]


async def test_undo_takes_back_whole_turns_and_offers_the_first_again(bench: MakeBench) -> None:
    async with talk(bench, "one", CALLS, "three") as session:
        reply = await session.dispatch(Undo(2))
        assert (reply.parts, said(session)) == ((TextPart(CALLS),), ["one"])
        for turns in (0, -1):
            with pytest.raises(InvalidInput):
                await session.dispatch(Undo(turns))
        with pytest.raises(CutRefused):
            await session.dispatch(Undo(2))
        reply = await session.dispatch(Undo())
        assert (reply.removed, reply.survivors, list(session.rows)) == (2, (), [])
        for nothing in (Undo(), Retry(), Branch()):
            with pytest.raises(CutRefused):
                await session.dispatch(nothing)
        assert end_of(await turn(session, "anew")).status == "complete"


async def test_retry_makes_the_last_turn_again(bench: MakeBench) -> None:
    async with talk(bench, "one", "two") as session:
        old = list(session.rows)
        assert (await ended(session, Retry())).status == "complete"
        assert said(session) == ["one", "two"]
        assert not {row.row_id for row in old} & {row.row_id for row in session.rows}
        assert len(session.rows) == len(old)


async def test_what_was_cut_is_found_and_read_in_the_archive(bench: MakeBench) -> None:
    store = MemoryStore()
    async with talk(bench, "one", "[[echo quokka]]", store=store) as session:
        taken = list(session.rows)[2:]
        await session.dispatch(Undo())
        [archive] = await store.archives(session.stored_id)
        assert await store.archived(session.stored_id, archive.generation) == taken
        assert all(hit.archived for hit in await store.search("quokka"))


async def test_a_branch_is_listed_and_goes_its_own_way(bench: MakeBench, tmp_path: Path) -> None:
    """HA-018, HA-019: on the real store, with the original closed and everything opened again."""
    path = tmp_path / "branch.sqlite3"
    async with bench(store=SqliteStore(path)) as world:
        async with world.runtime() as runtime:
            session = await runtime.create(source="test", title="Talk", owner="me")
            for text in ("one", "two"):
                await turn(session, text)
            before = list(session.rows)
            made = await session.dispatch(Branch())
            early = await session.dispatch(Branch(users(session)[0]))
            named = await session.dispatch(Branch(title=" My  branch "))
            assert [made.title, early.title, named.title] == ["Talk (2)", "Talk (3)", "My branch"]
            assert (made.message_count, early.message_count) == (4, 2)
            with pytest.raises(CutRefused):
                await session.dispatch(Branch(made.message_count + 10**6))
            with pytest.raises(InvalidInput):
                await session.dispatch(Branch(title="x" * 300))
            await runtime.close_session(session, "test")
        world.store = SqliteStore(path)
        async with world.runtime() as runtime:
            listed = await runtime.store.list_sessions(SessionQuery(parent=session.stored_id))
            assert {row.record.id: row.message_count for row in listed} == {
                made.stored_id: 4,
                early.stored_id: 2,
                named.stored_id: 4,
            }
            branch = await runtime.resume(early.stored_id)
            assert (branch.record.kind, branch.record.owner, branch.record.parent_id) == (
                "branch",
                "me",
                session.stored_id,
            )
            await turn(branch, "three")
            assert said(branch) == ["one", "three"]
            further = await branch.dispatch(Branch())
            assert further.title == "Talk (4)"
            assert list((await runtime.resume(session.stored_id)).rows) == before


async def test_a_running_session_can_be_branched_and_the_branch_is_usable(bench: MakeBench) -> None:
    async with bench() as world, world.runtime() as runtime:
        session = await runtime.create(source="test")
        await session.dispatch(prompt(HOLD))
        await world.held()
        made = await session.dispatch(Branch())
        branch = await runtime.resume(made.stored_id)
        assert legal(branch.transcript.messages)
        assert end_of(await turn(branch, "hi")).status == "complete"
        world.open()
        await session.dispatch(Interrupt())


async def test_a_branch_that_fails_leaves_the_original_open(bench: MakeBench) -> None:
    """HA-021."""
    store = FaultyStore()
    async with talk(bench, "one", store=store) as session:
        before = await store.summary(session.stored_id)
        store.broken["branch"] = StoreError("the disk is full")
        with pytest.raises(StoreError):
            await session.dispatch(Branch())
        assert await store.summary(session.stored_id) == before
        assert len(await store.list_sessions(SessionQuery())) == 1
        assert end_of(await turn(session, "two")).status == "complete"


async def test_a_submit_with_a_key_is_admitted_once_also_after_a_restart(bench: MakeBench, tmp_path: Path) -> None:
    path = tmp_path / "keys.sqlite3"
    async with bench(store=SqliteStore(path)) as world:
        async with world.runtime() as runtime:
            session = await runtime.create(source="test")
            first = await session.dispatch(again(HOLD, key="k1"))
            await world.held()
            running = await session.dispatch(again(HOLD, key="k1"))
            assert (running.turn_id, running.row_id, running.repeated) == (first.turn_id, first.row_id, True)
            queued = await session.dispatch(again("two", key="k2"))
            repeated = await session.dispatch(again("two", key="k2"))
            assert (queued.status, repeated.status, repeated.turn_id) == ("queued", "queued", queued.turn_id)
            assert (queued.repeated, repeated.repeated) == (False, True)
            with session.subscribe() as events:
                world.open()
                async for event in events:
                    if isinstance(event, MessageComplete) and event.turn_id == queued.turn_id:
                        break
        world.store = SqliteStore(path)
        async with world.runtime() as runtime:
            session = await runtime.resume(session.stored_id)
            requests = len(world.model.requests)
            reply = await session.dispatch(again(HOLD, key="k1"))
            assert (reply.status, reply.row_id, reply.repeated) == ("started", first.row_id, True)
            assert said(session) == [HOLD, "two"]
            await session.dispatch(Undo())
            assert (await session.dispatch(again(HOLD, key="k1"))).row_id == users(session)[0]
            assert (await session.dispatch(again("two", key="k2"))).row_id is None
            assert (session.state, len(world.model.requests)) == ("idle", requests)
            with pytest.raises(InvalidInput):
                await session.dispatch(again("x", key="k" * 300))


async def test_two_submits_of_one_key_at_once_begin_one_turn(bench: MakeBench) -> None:
    async with talk(bench) as session:
        replies = list[bool]()

        async def send() -> None:
            replies.append((await session.dispatch(again("hi", key="k"))).repeated)

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(send)
        assert sorted(replies) == [False, True, True, True, True]
        await session.dispatch(Interrupt())
        assert said(session) == ["hi"]


async def test_a_key_whose_message_could_not_be_stored_is_free_again(bench: MakeBench) -> None:
    store = FaultyStore()
    async with talk(bench, "one", store=store) as session:
        store.broken["append"] = StoreError("the disk is full")
        with pytest.raises(HermesError):
            await session.dispatch(again("two", key="k"))
        store.broken.clear()
        assert not (await session.dispatch(again("two", key="k"))).repeated
