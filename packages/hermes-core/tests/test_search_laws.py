"""Laws of search: the index and the twin that reads every text agree, and what was stored is found."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio
import pytest
from hermes_core.messages import AssistantMessage, Message, ToolCall, ToolMessage, user_text
from hermes_core.store.limits import SNIPPET
from hermes_core.store.memory import MemoryStore
from hermes_core.store.protocol import SessionRecord
from hermes_core.store.search import fold, searchable, snippet_of, terms_of
from hermes_core.store.sqlite import SqliteStore
from hypothesis import example, given, settings
from hypothesis import strategies as st

# Few characters, so that terms meet: case pairs, quotes and operators, wide and astral characters, NUL, a surrogate.
ALPHABET = "aAbß İıΣςσ\"'%_*-()\0数据库的😀\ud800\n"
texts = st.text(ALPHABET, max_size=40)


def as_message(text: str, place: int) -> Message:
    match place % 3:
        case 0:
            return user_text(text)
        case 1:
            return AssistantMessage(text=text[:3], tool_calls=(ToolCall("c", "t", text[3:]),))
        case _:
            return ToolMessage("c", "t", text)


@settings(max_examples=60, deadline=None)
@given(st.lists(texts, min_size=1, max_size=6), st.lists(st.text(ALPHABET, max_size=8), min_size=1, max_size=4))
@example(["aΣ", "aς b"], ["ας"])
def test_search_with_an_index_finds_what_reading_every_text_finds(stored: list[str], queries: list[str]) -> None:
    """HA-002, HA-012, HA-013 and HA-020 as one law."""

    async def compare() -> None:
        with tempfile.TemporaryDirectory() as folder:
            indexed, twin = SqliteStore(Path(folder) / "s.sqlite3", clock=lambda: 1.0), MemoryStore(clock=lambda: 1.0)
            for store in (indexed, twin):
                await store.open()
                await store.create_session(SessionRecord(id="a", source="cli"))
                await store.append("a", [as_message(text, place) for place, text in enumerate(stored)])
            for query in queries:
                assert await indexed.search(query) == await twin.search(query)
            await indexed.close()

    anyio.run(compare)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400), st.data())
def test_search_finds_every_part_of_a_text_and_shows_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + SNIPPET // 3)))
    for term in terms_of(text[start:end]):
        assert term in fold(searchable(user_text(text)))
        assert term in fold(snippet_of(text, (term,)))


@given(st.text())
def test_folding_keeps_every_character_in_its_place_and_is_final(text: str) -> None:
    folded = fold(text)
    assert len(folded) == len(text)
    assert fold(folded) == folded


@pytest.mark.anyio
async def test_search_in_a_text_beyond_the_bound_finds_its_head_only(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.sqlite3")
    await store.open()
    await store.create_session(SessionRecord(id="a", source="cli"))
    await store.append("a", [ToolMessage("c", "t", "needle " + "x" * 100_000 + " haystack")])
    assert len(await store.search("needle")) == 1
    assert await store.search("haystack") == []
    assert len(await store.messages("a")) == 1
    await store.close()
