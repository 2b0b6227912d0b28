"""The part of the store's contract that is about transcripts as a whole: replacing, archives, branches, keys."""

from __future__ import annotations

from hermes_core.errors import SessionNotFound, StoreConflict, StoreError
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, user_text
from hermes_core.store.protocol import SessionQuery, SessionRecord, Store
from hermes_core.testing.store_contract_values import Check, expect, found_texts, refused
from hermes_core.usage import Usage

_SAID: tuple[Message, ...] = (
    user_text("first wombat"),
    AssistantMessage(text="one", tool_calls=(ToolCall("c1", "terminal", "{}"),)),
    ToolMessage("c1", "terminal", "numbat"),
    user_text("second wombat"),
    AssistantMessage(text="two"),
)


async def a_replaced_transcript_has_new_ids_throughout(store: Store) -> None:
    old = await _stored(store)
    rows = await store.messages("a")
    kept = [(row.created_at, row.message) for row in rows[:3]]
    new = await store.replace("a", [*kept, (7.5, user_text("third"))], expected=old[-1], archive=False)
    after = await store.messages("a")
    expect([row.row_id for row in after], new, "row ids of messages() after replace()")
    expect([(row.created_at, row.message) for row in after], [*kept, (7.5, user_text("third"))], "the new transcript")
    expect(min(new) > max(old), True, "every row has a new id")
    summary = await store.summary("a")
    expect(summary and (summary.message_count, summary.preview), (4, "first wombat"), "summary after replace()")
    expect(summary and summary.usage, Usage(input=3), "usage totals stay")
    await refused(StoreError, store.settle("a", old[2], ToolMessage("c1", "terminal", "late")), "settle() of an old id")
    await refused(StoreConflict, store.replace("a", [], expected=old[-1], archive=True), "replace() of an old end")
    expect(await store.messages("a"), after, "a refused replace() changes nothing")
    expect(await store.replace("a", [], expected=new[-1], archive=False), [], "an empty transcript")
    emptied = await store.summary("a")
    expect(emptied and (emptied.message_count, emptied.preview), (0, ""), "summary of an empty transcript")
    expect(len(await store.replace("a", kept[:1], expected=0, archive=False)), 1, "expected=0 means no rows")
    await refused(SessionNotFound, store.replace("nobody", [], expected=0, archive=True), "an unknown session")


async def what_is_archived_can_be_found_and_read_and_what_is_not_is_gone(store: Store) -> None:
    old = await _stored(store)
    rows = await store.messages("a")
    kept = [(row.created_at, row.message) for row in rows[:3]]
    new = await store.replace("a", kept, expected=old[-1], archive=True)
    archives = await store.archives("a")
    expect([(each.generation, each.message_count) for each in archives], [(1, 2)], "archives() after one replacement")
    expect(await store.archived("a", 1), rows[3:], "what was taken out, under its old ids")
    for generation in (-1, 0, 2):
        expect(len(await store.archived("a", generation)), 0, "an archive that is not there")
    hits = await store.search("wombat")
    expect([(hit.row_id, hit.archived) for hit in hits], [(old[3], True), (new[0], False)], "each text is found once")
    expect(await found_texts(store, "numbat"), [new[2]], "a row that lives on is found under its new id")
    await store.append("a", [NoteMessage("n")])
    (*_, note) = await store.messages("a")
    await store.replace("a", [], expected=note.row_id, archive=False)
    expect(await found_texts(store, "numbat"), [], "what is not archived is not found")
    expect(await found_texts(store, "wombat"), [old[3]], "an earlier archive stays")
    await store.replace("a", [(1.0, user_text("x"))], expected=0, archive=True)
    expect(len(await store.archives("a")), 1, "where nothing is taken out there is no archive")
    await store.delete_session("a")
    expect((len(await store.archives("a")), len(await store.archived("a", 1))), (0, 0), "archives go along")
    expect(await store.search("wombat"), [], "search after deletion")


async def a_branch_is_a_session_of_its_own(store: Store) -> None:
    """Prove the store's part of HA-018, HA-019 and HA-021."""
    rows = await _stored(store)
    source = await store.messages("a"), await store.summary("a")
    record = SessionRecord(id="b", source="cli", kind="branch", parent_id="a", title="B", created_at=2.0)
    expect(await store.branch("a", record, rows[2]), 3, "branch() tells its message count")
    copies = await store.messages("b")
    told = [(row.created_at, row.message) for row in copies]
    expect(told, [(row.created_at, row.message) for row in source[0][:3]], "rows of the branch")
    expect(min(row.row_id for row in copies) > max(rows), True, "a branch's rows have ids of their own")
    summary = await store.summary("b")
    expect(summary and (summary.record, summary.message_count), (record, 3), "summary of the branch")
    expect(summary and (summary.preview, summary.usage), ("first wombat", Usage()), "preview and usage of the branch")
    await store.append("b", [user_text("only in b")])
    await store.settle("b", copies[2].row_id, ToolMessage("c1", "terminal", "quoll"))
    expect((await store.messages("a"), await store.summary("a")), source, "the original is as it was")
    expect(await found_texts(store, "numbat"), [rows[2]], "the original's text is found although its copy has changed")
    expect([hit.session_id for hit in await store.search("quoll")], ["b"], "the branch's own text")
    expect({hit.session_id for hit in await store.search("first")}, {"a", "b"}, "a shared text is found in both")
    children = await store.list_sessions(SessionQuery(parent="a"))
    expect([child.record.id for child in children], ["b"], "the list of a session's children")
    await store.delete_session("a")
    expect([hit.session_id for hit in await store.search("first")], ["b"], "a shared text outlives the original")
    expect([each.record.id for each in await store.list_sessions(SessionQuery())], ["b"], "the branch is still listed")


async def a_branch_that_cannot_be_made_leaves_nothing(store: Store) -> None:
    """Prove HA-021."""
    rows = await _stored(store)
    before = await store.summary("a")
    record = SessionRecord(id="b", source="cli", kind="branch", parent_id="a")
    await refused(SessionNotFound, store.branch("nobody", record, rows[0]), "branch() of an unknown session")
    for row_id in (-1, rows[-1] + 1, 10**30):
        await refused(StoreConflict, store.branch("a", record, row_id), "branch() at an unknown row")
    taken = SessionRecord(id="a", source="cli", kind="branch", parent_id="a")
    await refused(StoreError, store.branch("a", taken, rows[0]), "branch() under a taken id")
    expect(await store.session("b"), None, "no session is left of a failed branch")
    expect((await store.summary("a"), len(await store.messages("a"))), (before, 5), "the original is as it was")
    expect(await store.branch("a", record, 0), 0, "a branch of nothing")


async def search_is_narrowed_to_an_owner_or_a_session(store: Store) -> None:
    for session_id, owner in (("a", "x"), ("b", "y"), ("c", "")):
        await store.create_session(SessionRecord(id=session_id, source="api", owner=owner))
        await store.append(session_id, [user_text("shared wombat")])
    for named, wanted in (
        (await store.search("wombat", owner="x"), ["a"]),
        (await store.search("wombat", owner=""), ["c"]),
        (await store.search("wombat", session="b"), ["b"]),
        (await store.search("wombat", session="b", owner="x"), []),
        (await store.search("wombat"), ["c", "b", "a"]),
    ):
        expect([hit.session_id for hit in named], wanted, "sessions of the hits")


async def a_key_names_one_row_of_its_session(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    await store.create_session(SessionRecord(id="b", source="cli"))
    rows = await store.append("a", [AssistantMessage(text="closing"), user_text("hi")], at=4.5, key="k")
    expect(await store.keyed("a", "k"), rows[1], "keyed(): the last row of the append")
    expect(
        (await store.keyed("a", "x"), await store.keyed("b", "k"), await store.keyed("a", "")), (None,) * 3, "others"
    )
    expect([row.created_at for row in await store.messages("a")], [4.5, 4.5], "the time given")
    await refused(StoreConflict, store.append("a", [user_text("again")], key="k"), "append() with a taken key")
    expect(len(await store.messages("a")), 2, "a refused append() adds nothing")
    await store.append("b", [user_text("hi")], key="k")
    kept = [(row.created_at, row.message) for row in await store.messages("a")]
    (_, moved) = await store.replace("a", kept, expected=rows[1], archive=True)
    expect(await store.keyed("a", "k"), moved, "a row that lives on keeps its key")
    await store.branch("a", SessionRecord(id="c", source="cli"), moved)
    expect(await store.keyed("c", "k"), None, "a branch has no keys")
    await store.replace("a", [], expected=moved, archive=True)
    expect(await store.keyed("a", "k"), 0, "an archived row is known, and no row of the transcript")


async def _stored(store: Store) -> list[int]:
    await store.create_session(SessionRecord(id="a", source="cli"))
    return await store.append("a", _SAID, Usage(input=3))


HISTORY_CHECKS: tuple[Check, ...] = (
    a_replaced_transcript_has_new_ids_throughout,
    what_is_archived_can_be_found_and_read_and_what_is_not_is_gone,
    a_branch_is_a_session_of_its_own,
    a_branch_that_cannot_be_made_leaves_nothing,
    search_is_narrowed_to_an_owner_or_a_session,
    a_key_names_one_row_of_its_session,
)
