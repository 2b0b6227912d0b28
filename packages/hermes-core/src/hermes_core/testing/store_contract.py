"""The contract of a session store as checks that run against any Store.

    await run_contract(lambda: MyStore(...))              # each check gets a fresh, empty store

or one test per check, under any test runner:

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    async def test_my_store(check): await run_check(check, lambda: MyStore(...))

A broken promise raises AssertionError with what was found and what was promised.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
import msgspec

from hermes_core.errors import InvalidInput, SessionNotFound, StoreError
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, user_text
from hermes_core.store.protocol import SessionKind, SessionPatch, SessionQuery, SessionRecord, Store
from hermes_core.testing.store_contract_history import HISTORY_CHECKS
from hermes_core.testing.store_contract_values import VALUE_CHECKS, Check, expect, refused
from hermes_core.usage import Usage

__all__ = ["CHECKS", "Check", "run_check", "run_contract"]


async def run_contract(make: Callable[[], Store]) -> int:
    """Run every check, each against a new store from `make`, opened and closed here; return how many there were."""
    for check in CHECKS:
        await run_check(check, make)
    return len(CHECKS)


async def run_check(check: Check, make: Callable[[], Store]) -> None:
    """Run one check against a new store from `make`."""
    store = make()
    await store.open()
    try:
        await check(store)
    finally:
        await store.close()


# -- sessions


async def a_session_comes_back_as_it_was_made(store: Store) -> None:
    record = SessionRecord(
        id="20260101_000000_aaaaaa",
        source="acp",
        cwd="/w",
        title="Übung",
        model="m",
        provider="p",
        reasoning_effort="high",
        edits="ask",
        parent_id="x",
        kind="branch",
        created_at=5.5,
        owner="key",
    )
    await store.create_session(record)
    expect(await store.session(record.id), record, "session() after create_session()")
    expect(await store.session("other"), None, "session() of an unknown id")
    expect(await store.summary("other"), None, "summary() of an unknown id")
    await refused(StoreError, store.create_session(record), "create_session() with a taken id")


async def a_session_without_a_time_is_made_now(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    record = await store.session("a")
    expect(record is not None and record.created_at > 1_000_000_000, True, "created_at is filled in")


async def a_patch_changes_only_what_it_sets(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli", title="old", model="m", created_at=1.0))
    await store.update_session("a", SessionPatch(title="new", ended_at=9.0, end_reason="tui_close"))
    wanted = SessionRecord(
        id="a", source="cli", title="new", model="m", created_at=1.0, ended_at=9.0, end_reason="tui_close"
    )
    expect(await store.session("a"), wanted, "session() after update_session()")
    await store.update_session("a", SessionPatch())
    expect(await store.session("a"), wanted, "session() after an empty patch")
    await refused(SessionNotFound, store.update_session("b", SessionPatch(title="x")), "update of an unknown session")


async def lists_are_filtered_and_paged_without_gaps(store: Store) -> None:
    for number in range(25):
        kind = "subagent" if number % 5 == 4 else "root"
        source, cwd, owner = ("acp", "/a", "k") if number % 2 else ("cli", "/b", "")
        record = SessionRecord(id=f"s{number:02}", source=source, cwd=cwd, owner=owner, kind=kind, created_at=1.0)
        await store.create_session(record)
        if number < 20:
            await store.append(record.id, [user_text(f"hello {number}")])
    everything = await store.list_sessions(SessionQuery(children=True, only_used=False, limit=100))
    places = [(summary.updated_at, summary.record.id) for summary in everything]
    expect(len(places), 25, "list_sessions() of everything")
    expect(places, sorted(places, reverse=True), "the order of a list: newest activity, ties by id, both descending")
    for query in (
        SessionQuery(limit=3),
        SessionQuery(limit=4, children=True, only_used=False),
        SessionQuery(limit=3, source="acp"),
        SessionQuery(limit=3, cwd="/b", only_used=False),
        SessionQuery(limit=3, owner=""),
        SessionQuery(limit=3, owner="k", source="acp", cwd="/a"),
    ):
        wanted = [
            summary
            for summary in everything
            if (query.children or summary.record.kind != "subagent")
            and (not query.only_used or summary.message_count)
            and query.source in ("", summary.record.source)
            and query.cwd in ("", summary.record.cwd)
            and query.owner in (None, summary.record.owner)
        ]
        found = page = await store.list_sessions(query)
        while page:
            expect(len(page) <= query.limit, True, "a page is at most as long as its limit")
            query = msgspec.structs.replace(query, after=page[-1].record.id)
            page = await store.list_sessions(query)
            found = found + page
        expect(found, wanted, f"the pages of {query}")
    await refused(InvalidInput, store.list_sessions(SessionQuery(after="nobody")), "a page after an unknown session")


async def a_summary_counts_what_was_said(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli", created_at=7.0))
    empty = await store.summary("a")
    expect(empty and (empty.preview, empty.message_count, empty.usage), ("", 0, Usage()), "summary of a new session")
    await store.append("a", [NoteMessage("model changed")])
    await store.append("a", [user_text("first\n  line " + "x" * 300)], Usage(input=3, cached=1))
    await store.append("a", [user_text("second"), *_call("c1")], Usage(output=2, calls=1, estimated=True))
    summary = await store.summary("a")
    rows = await store.messages("a")
    assert summary is not None
    expect(summary.message_count, 4, "message_count: user, assistant and tool rows")
    expect(summary.preview.startswith("first line xxx"), True, "preview: the first user text on one line")
    expect(len(summary.preview) <= 160, True, "preview: at most 160 characters")
    expect(summary.usage, Usage(input=3, output=2, cached=1, calls=1, estimated=True), "usage totals")
    expect(summary.updated_at, rows[-1].created_at, "updated_at: the time of the newest row")
    expect(await store.list_sessions(SessionQuery()), [summary], "the list shows the summary")


async def deleting_takes_sub_agents_along_and_detaches_branches(store: Store) -> None:
    """Prove the rule of HA-008."""
    family: tuple[tuple[str, str, SessionKind], ...] = (
        ("parent", "", "root"),
        ("child", "parent", "subagent"),
        ("grandchild", "child", "subagent"),
        ("branch", "parent", "branch"),
        ("offshoot", "child", "branch"),
        ("other", "", "root"),
    )
    for session_id, parent, kind in family:
        await store.create_session(SessionRecord(id=session_id, source="cli", parent_id=parent, kind=kind))
        await store.append(session_id, [user_text(f"needle in {session_id}")])
    expect(await store.delete_session("parent"), True, "delete_session() of a stored session")
    expect(await store.delete_session("parent"), False, "delete_session() of a session that is gone")
    for session_id in ("parent", "child", "grandchild"):
        expect(await store.session(session_id), None, f"{session_id} after deletion")
        expect(await store.messages(session_id), [], f"messages of {session_id} after deletion")
    for session_id in ("branch", "offshoot"):
        record = await store.session(session_id)
        expect(record and record.parent_id, "", f"parent of {session_id} after deletion")
    found = {hit.session_id for hit in await store.search("needle")}
    expect(found, {"branch", "offshoot", "other"}, "search after deletion")


# -- messages


async def rows_come_back_in_order_and_by_range(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    await store.create_session(SessionRecord(id="b", source="cli"))
    sent: list[Message] = [user_text("hi"), *_call("c1"), NoteMessage("n"), AssistantMessage(text="é😀\0")]
    row_ids = await store.append("a", sent[:3])
    await store.append("b", [user_text("elsewhere")])
    row_ids += await store.append("a", sent[3:])
    rows = await store.messages("a")
    expect([row.message for row in rows], sent, "messages() after append()")
    expect([row.row_id for row in rows], row_ids, "row ids of messages()")
    expect(row_ids, sorted(set(row_ids)), "row ids grow")
    expect(await store.messages("a", after=row_ids[0], before=row_ids[3]), rows[1:3], "messages(after, before)")
    expect(await store.messages("a", limit=2), rows[:2], "messages(limit)")
    expect(await store.messages("a", limit=2, newest=True), rows[-2:], "messages(limit, newest)")
    expect(await store.messages("a", before=row_ids[2], limit=1, newest=True), rows[1:2], "messages(before, newest)")
    expect(await store.messages("nobody"), [], "messages() of an unknown session")
    await refused(SessionNotFound, store.append("nobody", [user_text("x")]), "append() to an unknown session")


async def row_ids_are_never_given_twice(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    before = await store.append("a", [user_text("x")] * 3)
    await store.delete_session("a")
    await store.create_session(SessionRecord(id="a", source="cli"))
    after = await store.append("a", [user_text("x")] * 3)
    expect(min(after) > max(before), True, "row ids after deletion go on growing")


async def appending_opens_an_ended_session(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli", created_at=1.0))
    await store.update_session("a", SessionPatch(ended_at=2.0, end_reason="done"))
    await store.append("a", [user_text("again")])
    expect(await store.session("a"), SessionRecord(id="a", source="cli", created_at=1.0), "the session is open again")


async def a_result_is_settled_in_its_place(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    await store.create_session(SessionRecord(id="b", source="cli"))
    row_ids = await store.append("a", [*_call("c1"), user_text("later")])
    before = await store.messages("a")
    result = ToolMessage("c1", "terminal", "quokka", "ok", 1.5)
    await store.settle("a", row_ids[1], result)
    after = await store.messages("a")
    expect(after[1].message, result, "the row after settle()")
    expect([row.row_id for row in after], row_ids, "row ids after settle()")
    expect(after[1].created_at, before[1].created_at, "created_at after settle()")
    expect([hit.row_id for hit in await store.search("quokka")], [row_ids[1]], "search finds the settled text")
    expect(await store.search("unsettled"), [], "search no longer finds the text before")
    await refused(StoreError, store.settle("a", row_ids[0], result), "settle() of an assistant row")
    await refused(StoreError, store.settle("b", row_ids[1], result), "settle() of a row of another session")
    await refused(StoreError, store.settle("a", row_ids[1], ToolMessage("c2", "x", "y")), "settle() of another call")
    await refused(SessionNotFound, store.settle("nobody", row_ids[1], result), "settle() in an unknown session")


async def callers_at_the_same_time_each_get_their_own_outcome(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    given: dict[str, list[int]] = {}
    missing: list[str] = []

    async def add(number: int) -> None:
        if number % 3:
            given[f"m{number}"] = await store.append("a", [user_text(f"m{number}")], Usage(calls=1))
            return
        try:
            await store.append(f"nobody{number}", [user_text("lost")])
        except SessionNotFound as error:
            missing.append(error.session_id)

    async with anyio.create_task_group() as group:
        for number in range(60):
            group.start_soon(add, number)
    rows = await store.messages("a")
    expect({text: [row.row_id for row in rows if row.message == user_text(text)] for text in given}, given, "rows")
    expect(sorted(missing), sorted(f"nobody{number}" for number in range(0, 60, 3)), "errors go to their callers")
    summary = await store.summary("a")
    expect(summary and (summary.message_count, summary.usage.calls), (40, 40), "counts after concurrent appends")


def _call(call_id: str) -> list[Message]:
    call = ToolCall(call_id, "terminal", '{"command": "ls"}')
    return [
        AssistantMessage(text="look", tool_calls=(call,), finish="tool_calls", model="m"),
        ToolMessage(call_id, "terminal", "unsettled", "unknown"),
    ]


CHECKS: tuple[Check, ...] = (
    a_session_comes_back_as_it_was_made,
    a_session_without_a_time_is_made_now,
    a_patch_changes_only_what_it_sets,
    lists_are_filtered_and_paged_without_gaps,
    a_summary_counts_what_was_said,
    deleting_takes_sub_agents_along_and_detaches_branches,
    rows_come_back_in_order_and_by_range,
    row_ids_are_never_given_twice,
    appending_opens_an_ended_session,
    a_result_is_settled_in_its_place,
    callers_at_the_same_time_each_get_their_own_outcome,
    *HISTORY_CHECKS,
    *VALUE_CHECKS,
)
"""Every check of the contract; its name says what it proves."""
