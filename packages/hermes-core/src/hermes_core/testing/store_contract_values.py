"""The part of the store's contract that is about texts and values: search, encoding, grants, small values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hermes_core.errors import HermesError, InvalidInput
from hermes_core.messages import AssistantMessage, Message, NoteMessage, ToolCall, ToolMessage, user_text
from hermes_core.store.protocol import SessionPatch, SessionQuery, SessionRecord, Store

Check = Callable[[Store], Awaitable[None]]


def expect(found: object, wanted: object, what: str) -> None:
    """Raise AssertionError, also under `python -O`, unless both are equal."""
    if found != wanted:
        raise AssertionError(f"{what}: expected {wanted!r}, found {found!r}")


async def refused(kind: type[HermesError], action: Awaitable[object], what: str) -> None:
    """Await `action` and raise AssertionError unless it raises an error of `kind`."""
    try:
        await action
    except kind:
        return
    raise AssertionError(f"{what}: expected {kind.__name__}")


async def found_texts(store: Store, query: str, *, source: str = "") -> list[int]:
    """Return the row ids that a search finds."""
    return [hit.row_id for hit in await store.search(query, limit=1000, source=source)]


async def every_term_is_taken_literally(store: Store) -> None:
    """Prove HA-020: no character is a wildcard or an operator."""
    texts = (
        "a_b",
        "axb",
        "50%",
        "500",
        'say "hi there" now',
        "AND OR NOT",
        "c:\\dir\\*",
        "it's (so)",
        "-x --y",
        "a\0end",
    )
    rows: dict[str, int] = dict(zip(texts, await _stored(store, *texts), strict=True))
    for query, wanted in {
        "a_b": ["a_b"],
        "50%": ["50%"],
        '"hi there"': ['say "hi there" now'],
        "and or": ["AND OR NOT"],
        "OR": ["AND OR NOT"],
        "dir\\*": ["c:\\dir\\*"],
        "it's": ["it's (so)"],
        "(so)": ["it's (so)"],
        "--y": ["-x --y"],
        "-x": ["-x --y"],
        "%": ["50%"],
        "_": ["a_b"],
        "end": ["a\0end"],
        "*": ["c:\\dir\\*"],
        "''": [],
    }.items():
        expect(await found_texts(store, query), [rows[text] for text in wanted], f"search({query!r})")
    for query in ("", " \n\t", "\u3000"):
        expect(await store.search(query), [], f"search({query!r})")


async def east_asian_text_is_found(store: Store) -> None:
    """Prove HA-002, HA-012 and HA-013: terms of any length, anywhere, all of the hits."""
    chinese, japanese, korean, glued, *_ = await _stored(
        store,
        "我们昨天讨论了数据库的性能问题",
        "設定ファイルを読み込みます",
        "데이터베이스를 백업합니다",
        "请用Hermes网关连接PostgreSQL数据库",
    )
    expect(await found_texts(store, "数据库的"), [chinese], "four characters from the middle")
    expect(await found_texts(store, "数据库"), [glued, chinese], "three characters, newest first")
    expect(await found_texts(store, "ファイル"), [japanese], "Japanese")
    expect(await found_texts(store, "백업"), [korean], "two Korean characters")
    expect(await found_texts(store, "题"), [chinese], "one character")
    expect(await found_texts(store, "hermes"), [glued], "a Latin word glued to Chinese")
    expect(await found_texts(store, "hermes 网关 postgresql"), [glued], "mixed terms")
    many = await _stored(
        store, *(f"第{number}次{'甲乙丙丁'[number % 4]}天气{number}好" for number in range(100)), session="many"
    )
    expect(await found_texts(store, "天气"), many[::-1], "all of 100 hits of a two-character word")
    expect([hit.row_id for hit in await store.search("天气", limit=7)], many[:-8:-1], "the limit is kept")


async def search_ignores_case_and_keeps_filters(store: Store) -> None:
    first, second = await _stored(store, "Straße nach ΟΔΟΣ", "İstanbul und Große Worte")
    await store.create_session(SessionRecord(id="b", source="acp", title="Other"))
    (third,) = await store.append("b", [user_text("große worte")])
    expect(await found_texts(store, "STRAßE οδος"), [first], "case of any alphabet")
    expect(await found_texts(store, "δοσ"), [first], "a letter that has two small forms")
    expect(await found_texts(store, "worte GROSSE"), [], "ß is no ss: terms are literal")
    expect(await found_texts(store, "GROßE wor"), [third, second], "every term, newest first")
    expect(await found_texts(store, "große", source="acp"), [third], "the source filter")
    expect(await found_texts(store, "große", source="x"), [], "a source without sessions")
    (hit,) = await store.search("große", limit=1)
    expect((hit.session_id, hit.title, hit.role), ("b", "Other", "user"), "what a hit tells")
    expect(await store.search("große", limit=0), [], "no hits at limit 0")


async def all_that_was_said_is_searched(store: Store) -> None:
    await store.create_session(SessionRecord(id="a", source="cli"))
    arguments = '{"command": "grep \\"wombat\\" caf\\u00e9", "list": [{"deep": "numbat"}, 4711]}'
    said: list[Message] = [
        AssistantMessage(
            text="an echidna", reasoning="secretly a dingo", tool_calls=(ToolCall("1", "terminal", arguments),)
        ),
        ToolMessage("1", "terminal", "two platypuses"),
        AssistantMessage(tool_calls=(ToolCall("2", "write_file", "{broken quoll"),)),
        NoteMessage("a bilby was here"),
    ]
    call, result, broken, _note = await store.append("a", said)
    for query in ('"wombat"', "café", "numbat", "4711", "echidna", "terminal wombat"):
        expect(await found_texts(store, query), [call], f"search({query!r}) in text and argument values")
    expect(await found_texts(store, "platypuses"), [result], "tool results")
    expect(await found_texts(store, "quoll"), [broken], "arguments that are not JSON")
    for query in ("dingo", "bilby"):
        expect(await found_texts(store, query), [], f"search({query!r}): neither reasoning nor notes")


async def a_snippet_shows_the_first_match(store: Store) -> None:
    await _stored(store, "lead " * 200 + "the NEEDLE\nhere " + "tail " * 200, "short needle")
    short, long = await store.search("needle")
    expect(short.snippet, "short needle", "a short text is its own snippet")
    expect("the NEEDLE here tail" in long.snippet, True, "the match in its own case, on one line")
    expect(long.snippet.startswith("…") and long.snippet.endswith("…"), True, "cuts are marked")
    expect(100 <= len(long.snippet) <= 162, True, "some 160 characters")


async def a_query_beyond_bounds_is_refused(store: Store) -> None:
    await _stored(store, "x" * 2000)
    expect(len(await store.search("x" * 1000)), 1, "a long term")
    for query in ("x" * 1001, " ".join(f"t{number}" for number in range(40))):
        try:
            await store.search(query)
        except InvalidInput as error:
            expect(error.field, "query", "the field at fault")
        else:
            raise AssertionError("a query beyond bounds: expected InvalidInput")


async def lone_surrogates_poison_nothing(store: Store) -> None:
    """Prove the store's part of HA-011."""
    await store.create_session(SessionRecord(id="a", source="cli", title="half \ud83d", cwd="/\udcff"))
    call = ToolCall("c\udc00", "terminal", '{"x": "\ud800 koala"}')
    row_ids = await store.append(
        "a",
        [
            user_text("pair \ud83d\ude00, half \ud83d"),
            AssistantMessage(tool_calls=(call,)),
            ToolMessage("c\udc00", "t", ""),
        ],
    )
    await store.settle("a", row_ids[2], ToolMessage("c\udc00", "t", "file \udcff"))
    await store.update_session("a", SessionPatch(title="new \udfff"))
    await store.add_grants(["rm \ud800"])
    await store.put("s", "k\ud800", b"v")
    everything = (
        await store.messages("a"),
        await store.list_sessions(SessionQuery()),
        await store.search("koala"),
        await store.grants(),
        await store.keys("s"),
    )
    repr(everything).encode()
    for part in everything:
        expect(len(part) > 0, True, "everything is still there")
    expect(await store.get("s", "k\ud800"), b"v", "a key is found as it was given")
    expect(await store.search("\ud800 nothing"), [], "a query with a lone surrogate")
    first = (await store.messages("a"))[0].message
    expect(first, user_text("pair 😀, half \ufffd"), "pairs are joined, halves replaced")


async def grants_are_kept_once(store: Store) -> None:
    expect(await store.grants(), {}, "grants of a new store")
    await store.add_grants(["ls *", "git status"])
    first = await store.grants()
    await store.add_grants(["ls *"])
    await store.add_grants([])
    expect(await store.grants(), first, "grants(), each with the time of its first grant")
    expect(set(first), {"ls *", "git status"}, "the patterns of grants()")
    expect(all(at > 0 for at in first.values()), True, "the times of grants()")


async def grants_are_revoked_one_by_one(store: Store) -> None:
    await store.add_grants(["ls *", "git status", "rm \ud800"])
    expect(await store.revoke_grant("ls *"), True, "revoke_grant() of a grant")
    expect(await store.revoke_grant("ls *"), False, "revoke_grant() of a grant that is gone")
    expect(await store.revoke_grant("git*"), False, "revoke_grant() takes the exact pattern, no wildcard")
    expect(await store.revoke_grant("rm \ud800"), True, "revoke_grant() of a pattern as it was given")
    expect(set(await store.grants()), {"git status"}, "grants() after revoking")


async def values_are_kept_by_space_until_they_expire(store: Store) -> None:
    await store.put("runs", "a", b"1")
    await store.put("runs", "a", b"2\0\xff")
    await store.put("other", "a", b"", expires_at=4e9)
    await store.put("runs", "gone", b"x", expires_at=1.0)
    expect(await store.get("runs", "a"), b"2\0\xff", "the last value put")
    expect(await store.get("other", "a"), b"", "an empty value")
    expect(await store.get("runs", "gone"), None, "a value that has expired")
    expect(await store.get("runs", "b"), None, "a value that never was")
    expect(await store.drop("runs", "gone"), False, "drop() of a value that has expired")
    expect(await store.keys("runs"), ["a"], "keys() without expired ones")
    expect(await store.drop("runs", "a"), True, "drop() of a value")
    expect(await store.drop("runs", "a"), False, "drop() of nothing")
    expect(await store.get("other", "a"), b"", "another space is untouched")


async def keys_are_listed_in_order_and_by_prefix(store: Store) -> None:
    keys = ["a", "a%", "a%b", "ab", "a\U0010ffff", "a\U0010ffffz", "b", "é"]
    for key in reversed(keys):
        await store.put("s", key, key.encode())
    expect(await store.keys("s"), sorted(keys), "keys()")
    expect(await store.keys("s", prefix="a%"), ["a%", "a%b"], "keys(prefix)")
    expect(await store.keys("s", prefix="a\U0010ffff"), ["a\U0010ffff", "a\U0010ffffz"], "keys(last of all prefixes)")
    expect(await store.keys("s", limit=2), sorted(keys)[:2], "keys(limit)")
    expect(await store.keys("s", prefix="zzz"), [], "keys of a prefix that none has")


async def _stored(store: Store, *texts: str, session: str = "a") -> list[int]:
    await store.create_session(SessionRecord(id=session, source="cli"))
    return await store.append(session, [user_text(text) for text in texts])


VALUE_CHECKS: tuple[Check, ...] = (
    every_term_is_taken_literally,
    east_asian_text_is_found,
    search_ignores_case_and_keeps_filters,
    all_that_was_said_is_searched,
    a_snippet_shows_the_first_match,
    a_query_beyond_bounds_is_refused,
    lone_surrogates_poison_nothing,
    grants_are_kept_once,
    grants_are_revoked_one_by_one,
    values_are_kept_by_space_until_they_expire,
    keys_are_listed_in_order_and_by_prefix,
)
