"""One law: whatever is done, the SQLite store and its twin in memory tell the same."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anyio
import msgspec
from hermes_core.content import ImagePart
from hermes_core.errors import HermesError
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, UserMessage, user_text
from hermes_core.store.memory import MemoryStore
from hermes_core.store.protocol import SessionPatch, SessionQuery, SessionRecord, Store
from hermes_core.store.sqlite import SqliteStore
from hermes_core.usage import Usage
from hypothesis import given, settings
from hypothesis import strategies as st

words = st.sampled_from(["", "hello", "数据", "a_b", "\ud800", "x y\nz"])
ids = st.sampled_from(["a", "b", "c", "d", "a\udfff"])
spaces = st.sampled_from(["s", "t\ud800"])
row_ids = st.integers(-1, 12)
times = st.sampled_from([0.0, 1.0, 20.0, 1e9])
tool_calls = st.lists(st.builds(ToolCall, ids, words, words), max_size=2).map(tuple)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(user_text, words),
    st.just(UserMessage((ImagePart("data:image/png;base64,AA=="),))),
    st.builds(
        AssistantMessage, text=words, tool_calls=st.lists(st.builds(ToolCall, ids, words, words), max_size=2).map(tuple)
    ),
    st.builds(ToolMessage, ids, words, words),
    st.builds(NoteMessage, words),
)
records = st.builds(
    SessionRecord,
    id=ids,
    source=st.sampled_from(["cli", "acp"]),
    cwd=words,
    title=words,
    parent_id=st.one_of(st.just(""), ids),
    kind=st.sampled_from(["root", "branch", "subagent"]),
    created_at=times,
    owner=words,
)
queries = st.builds(
    SessionQuery,
    limit=st.integers(-1, 3),
    after=st.one_of(st.just(""), ids),
    source=st.sampled_from(["", "cli"]),
    cwd=words,
    owner=st.one_of(st.none(), words),
    parent=st.one_of(st.just(""), ids),
    children=st.booleans(),
    only_used=st.booleans(),
)
patches = st.builds(SessionPatch, title=words, ended_at=times) | st.builds(SessionPatch)
usages = st.none() | st.builds(Usage, input=st.integers(0, 9), calls=st.just(1), estimated=st.booleans())


keys = st.sampled_from(["", "k", "k\ud800"])


class Call(msgspec.Struct, frozen=True):
    """One call of a method of a store."""

    method: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]

    async def outcome(self, store: Store) -> object:
        """Return what the call returns, or which error it raises."""
        try:
            if self.method == "rewrite":
                return await rewrite(store, *self.arguments, **self.named)
            return await getattr(store, self.method)(*self.arguments, **self.named)
        except HermesError as error:
            return type(error), str(error)


async def rewrite(
    store: Store, session_id: str, fresh: list[Message], cut: slice, archive: bool, key: str
) -> list[int]:
    """Replace a transcript by a part of its own rows and some new ones, in any order of the two."""
    rows = await store.messages(session_id)
    kept = [(row.created_at, row.message) for row in rows[cut]]
    new = [(1.0, message) for message in fresh]
    wanted = new + kept if cut.start else kept + new
    last = rows[-1].row_id if rows else 0
    return await store.replace(session_id, wanted, expected=last, archive=archive, key=key)


def call(method: str, *arguments: st.SearchStrategy[Any], **named: st.SearchStrategy[Any]) -> st.SearchStrategy[Call]:
    return st.builds(Call, st.just(method), st.tuples(*arguments), st.fixed_dictionaries(named))


limits = st.integers(-1, 4)
tails = st.lists(messages, min_size=1, max_size=3)
calls = st.one_of(
    call("create_session", records),
    call("update_session", ids, patches),
    call("append", ids, tails, usages),
    call("append", ids, tails),
    call("append", ids, st.just([]), usages),
    call("settle", ids, row_ids, st.builds(ToolMessage, ids, words, words)),
    call("append", ids, tails, at=times, key=keys),
    call("keyed", ids, keys),
    call(
        "rewrite",
        ids,
        st.lists(messages, max_size=2),
        st.builds(slice, st.sampled_from([None, 1, 2]), row_ids),
        archive=st.booleans(),
        key=keys,
    ),
    call("replace", ids, st.just([]), expected=row_ids, archive=st.booleans()),
    call("archives", ids),
    call("archived", ids, row_ids),
    call("branch", ids, records, row_ids),
    call("delete_session", ids),
    call("session", ids),
    call("list_sessions", queries),
    call("messages", ids, after=row_ids, before=row_ids, limit=limits, newest=st.booleans()),
    call(
        "search",
        words,
        limit=limits,
        source=st.sampled_from(["", "cli"]),
        owner=st.one_of(st.none(), words),
        session=st.sampled_from(["", "a", "b"]),
    ),
    call("put", spaces, words, st.binary(max_size=3), expires_at=times),
    call("get", spaces, words),
    call("drop", spaces, words),
    call("keys", spaces, prefix=words, limit=limits),
    call("add_grants", st.lists(words, max_size=2)),
    call("revoke_grant", words),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(records, max_size=4), st.lists(calls, max_size=40))
def test_store_and_its_twin_tell_the_same_after_any_history(first: list[SessionRecord], history: list[Call]) -> None:
    async def compare() -> None:
        moment = 10.0
        twin = MemoryStore(clock=lambda: moment)
        with tempfile.TemporaryDirectory() as folder:
            real = SqliteStore(Path(folder) / "s.sqlite3", clock=lambda: moment)
            await real.open()
            for step in [*(Call("create_session", (record,), {}) for record in first), *history]:
                moment += 1.0
                assert await step.outcome(real) == await step.outcome(twin), step
            everything = SessionQuery(children=True, only_used=False)
            assert await real.list_sessions(everything) == await twin.list_sessions(everything)
            for session_id in "abcd":
                assert await real.messages(session_id) == await twin.messages(session_id)
                assert await real.archives(session_id) == await twin.archives(session_id)
            assert list((await real.grants()).items()) == list((await twin.grants()).items())
            await real.close()

    anyio.run(compare)
