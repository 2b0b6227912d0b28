"""Rewind: what is refused, in which order, and that a refusal changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hermes_core.commands import Cut
from hermes_core.errors import StoreError
from hermes_core.messages import AssistantMessage, Message, NoteMessage, StoredMessage, user_text
from hermes_core.testing import ScriptedModel
from hermes_tui_gateway.codes import WireError
from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.rewind import wanted_cut
from hermes_tui_gateway.testing import LocalHost, Refused
from hermes_tui_gateway.wire.turns import SubmitParams

ROWS = [
    StoredMessage(row_id=row_id, created_at=0.0, message=message)
    for row_id, message in enumerate[Message](
        [
            user_text("first"),
            AssistantMessage(text="one"),
            NoteMessage(text="a note"),
            user_text("second"),
            AssistantMessage(text="two"),
            user_text("third"),
        ],
        start=11,
    )
]
USERS = [11, 14, 16]


def cut(fields: dict[str, Any], *, running: bool = False) -> Cut | None:
    return wanted_cut(SubmitParams(text="new", **fields), ROWS, running=running)


def refusal(fields: dict[str, Any], *, running: bool = False) -> tuple[int, Any]:
    with pytest.raises(WireError) as refused:
        cut(fields, running=running)
    return refused.value.error.code, refused.value.error.data


ROW, ORDINAL, CONFIRM, EMPTY = (
    "truncate_before_row_id",
    "truncate_before_user_ordinal",
    "confirm_truncate",
    "confirm_empty_truncate",
)


def test_an_ordinary_submit_asks_for_no_cut() -> None:
    assert cut({}) is None


def test_null_is_the_same_as_leaving_a_field_out() -> None:
    assert cut({ROW: None, ORDINAL: None, CONFIRM: None}) is None


def test_a_flag_about_the_empty_cut_alone_asks_for_none() -> None:
    assert cut({EMPTY: True}) is None


@pytest.mark.parametrize("value", [True, False, "2", "x", "", 2.0, 2.5, [], [2], {}])
@pytest.mark.parametrize("field", [ROW, ORDINAL])
@pytest.mark.parametrize("confirm", [None, True])
def test_a_target_that_is_no_integer_is_malformed(field: str, value: Any, confirm: Any) -> None:
    """HA-087: before the missing consent is."""
    assert refusal({field: value, CONFIRM: confirm}) == (4004, None)


def test_a_malformed_ordinal_beside_a_good_row_is_malformed() -> None:
    assert refusal({ROW: 14, ORDINAL: True, CONFIRM: True})[0] == 4004


def test_consent_without_a_target_is_malformed() -> None:
    assert refusal({CONFIRM: True}) == (4004, None)
    assert refusal({CONFIRM: True, ROW: None}) == (4004, None)


@pytest.mark.parametrize("fields", [{ORDINAL: 1}, {ROW: 14}, {ROW: 999}, {ORDINAL: 99}, {ROW: 14, ORDINAL: 2}])
@pytest.mark.parametrize("flag", [None, False, 0, "false", "no", "", 2, [True]])
def test_a_target_without_consent_is_refused_before_it_is_looked_up(fields: dict[str, Any], flag: Any) -> None:
    """HA-084."""
    assert refusal(fields | {CONFIRM: flag}) == (4029, None)


@pytest.mark.parametrize("flag", [True, 1, "1", "true", "yes", "on", "YES"])
def test_consent_may_be_written_in_several_ways(flag: Any) -> None:
    assert cut({ROW: 14, CONFIRM: flag}) == Cut(row_id=14)


@pytest.mark.parametrize("row_id", [0, -5, 12, 13, 999, 10**30])
@pytest.mark.parametrize("ordinal", [None, 1])
def test_a_row_that_is_no_user_message_here_is_gone_and_no_ordinal_helps(row_id: int, ordinal: int | None) -> None:
    """HA-087."""
    code, data = refusal({ROW: row_id, ORDINAL: ordinal, CONFIRM: True})
    assert (code, data["user_turn_count"], data["ordinal"]) == (4018, 3, ordinal)


@pytest.mark.parametrize("ordinal", [-1, 3, 99, 10**9])
def test_an_ordinal_out_of_range_is_gone(ordinal: int) -> None:
    """HA-087."""
    assert refusal({ORDINAL: ordinal, CONFIRM: True})[0] == 4018


@pytest.mark.parametrize("ordinal", [-1, 0, 2, 99])
def test_a_row_and_an_ordinal_that_disagree_are_refused(ordinal: int) -> None:
    assert refusal({ROW: 14, ORDINAL: ordinal, CONFIRM: True}) == (4030, None)


@pytest.mark.parametrize("fields", [{ORDINAL: 0}, {ROW: 11}, {ROW: 11, ORDINAL: 0}])
def test_a_cut_that_leaves_nothing_needs_its_own_consent(fields: dict[str, Any]) -> None:
    assert refusal(fields | {CONFIRM: True}) == (4028, None)
    assert refusal(fields | {CONFIRM: True, EMPTY: "no"}) == (4028, None)
    assert cut(fields | {CONFIRM: True, EMPTY: True}) == Cut(row_id=11, allow_empty=True)


@pytest.mark.parametrize(
    "fields",
    [
        {ROW: 14},
        {ORDINAL: 1},
        {ROW: "x"},
        {ORDINAL: 1, CONFIRM: True},
        {CONFIRM: True},
        {"truncate_before_message_id": "m"},
    ],
)
def test_a_running_session_refuses_every_wish_to_cut(fields: dict[str, Any]) -> None:
    assert refusal(fields, running=True)[0] == 4009


@pytest.mark.parametrize("place", range(1, 3))
def test_rows_and_ordinals_name_the_same_messages(place: int) -> None:
    by_row = cut({ROW: USERS[place], CONFIRM: True})
    assert by_row == cut({ORDINAL: place, CONFIRM: True})
    assert by_row == cut({ROW: USERS[place], ORDINAL: place, CONFIRM: True})


def test_a_target_of_a_kind_that_is_not_kept_here_is_gone() -> None:
    assert refusal({"truncate_before_message_id": "m1", CONFIRM: True})[0] == 4018


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({ORDINAL: 2}, 4029),
        ({ORDINAL: -1, CONFIRM: True}, 4018),
        ({ORDINAL: 2.0, CONFIRM: True}, 4004),
        ({ORDINAL: True, CONFIRM: True}, 4004),
        ({ROW: -5, ORDINAL: 1, CONFIRM: True}, 4018),
    ],
)
async def test_a_refused_rewind_leaves_the_conversation_as_it_was(
    fields: dict[str, Any], code: int, host: LocalHost, gateway: Gateway, model: ScriptedModel
) -> None:
    """HA-084, HA-087."""
    session_id = (await host.call("session.create"))["session_id"]
    for number in range(3):
        await host.call("prompt.submit", session_id=session_id, text=f"prompt {number}")
        await host.event("message.complete")
    before = await host.call("session.history", session_id=session_id)
    stored_id = gateway.runtime.live(session_id).stored_id
    stored = await gateway.runtime.store.messages(stored_id)
    with pytest.raises(Refused) as refused:
        await host.call("prompt.submit", session_id=session_id, text="again", **fields)
    assert refused.value.code == code
    assert await host.call("session.history", session_id=session_id) == before
    assert await gateway.runtime.store.messages(stored_id) == stored
    assert len(model.requests) == 3
    assert len(host.events("message.start")) == 3


@pytest.mark.anyio
async def test_a_rewind_cuts_the_conversation_and_begins_the_turn_anew(
    host: LocalHost, gateway: Gateway, model: ScriptedModel
) -> None:
    session_id, rows = await _conversation(host, 3)
    reply = await host.call("prompt.submit", session_id=session_id, text="other", **{ROW: rows[1], CONFIRM: True})
    await host.event("message.complete")
    survivors = reply["survivor_user_row_ids"]
    assert reply["status"] == "streaming"
    assert len(survivors) == 1
    assert not {*survivors, reply["user_row_id"]} & set(rows), "no row id outlives a rewind"
    history = await host.call("session.history", session_id=session_id)
    assert [row["text"] for row in history["messages"] if row["role"] == "user"] == ["prompt 0", "other"]
    live = gateway.runtime.live(session_id)
    stored = await gateway.runtime.store.messages(live.stored_id)
    assert stored == list(live.rows)
    with pytest.raises(Refused) as refused:
        await host.call("prompt.submit", session_id=session_id, text="late", **{ROW: rows[0], CONFIRM: True})
    assert refused.value.code == 4018
    reply = await host.call(
        "prompt.submit", session_id=session_id, text="anew", **{ORDINAL: 0, CONFIRM: True, EMPTY: True}
    )
    await host.event("message.complete")
    assert reply["survivor_user_row_ids"] == []
    assert live.rows[0].row_id == reply["user_row_id"]


@pytest.mark.anyio
async def test_a_rewind_that_cannot_be_stored_changes_nothing_and_works_later(
    host: LocalHost, gateway: Gateway, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HA-086."""
    session_id, rows = await _conversation(host, 2)
    live = gateway.runtime.live(session_id)
    before = list(live.rows)

    async def full(*_args: object, **_named: object) -> list[int]:
        raise StoreError("The disk is full.")

    wish = {ROW: rows[1], CONFIRM: True}
    with monkeypatch.context() as patch:
        patch.setattr(gateway.runtime.store, "replace", full)
        with pytest.raises(Refused, match="disk is full") as refused:
            await host.call("prompt.submit", session_id=session_id, text="other", **wish)
    assert refused.value.code == 5008
    assert list(live.rows) == before == await gateway.runtime.store.messages(live.stored_id)
    assert len(model.requests) == 2
    reply = await host.call("prompt.submit", session_id=session_id, text="other", **wish)
    assert len(reply["survivor_user_row_ids"]) == 1
    await host.event("message.complete")


async def _conversation(host: LocalHost, turns: int) -> tuple[str, list[int]]:
    """Return a live session of so many turns, and the ids of its user rows."""
    session_id = (await host.call("session.create"))["session_id"]
    rows: list[int] = []
    for number in range(turns):
        reply = await host.call("prompt.submit", session_id=session_id, text=f"prompt {number}")
        await host.event("message.complete")
        rows.append(reply["user_row_id"])
    return session_id, rows
