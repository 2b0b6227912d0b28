"""Sessions over the wire: made, listed, resumed, watched by several clients, closed."""

from __future__ import annotations

import pytest
from hermes_core.testing import ScriptedModel
from hermes_tui_gateway.gateway import Gateway
from hermes_tui_gateway.testing import LocalHost, Refused, local_gateway, local_host

pytestmark = pytest.mark.anyio


async def turn(host: LocalHost, session_id: str, text: str) -> dict[str, object]:
    """Submit, and return the end once the session is idle."""
    await host.call("prompt.submit", session_id=session_id, text=text)
    end = await host.event("message.complete")
    while (await host.event("session.info")).get("seq", 0) < end["seq"]:
        continue
    return end["payload"]


async def test_a_new_session_tells_its_settings_and_then_the_model_that_answers(host: LocalHost) -> None:
    created = await host.call("session.create", cols=120, title=" My  title ")
    assert (created["messages"], created["message_count"]) == ([], 0)
    info = created["info"]
    assert (info["model"], info["provider"], info["title"], info["status"]) == ("m", "custom", "My title", "idle")
    assert "terminal" in info["tools"]["terminal"]
    event = await host.event("session.info")
    assert event["session_id"] == created["session_id"]
    assert event["payload"]["stored_session_id"] == created["stored_session_id"]


async def test_the_events_of_a_new_session_come_after_the_reply_that_names_it(host: LocalHost) -> None:
    created = await host.call("session.create")
    await turn(host, created["session_id"], "hello")
    assert "result" in host.frames[0]
    assert all(event["session_id"] == created["session_id"] for event in host.events())


async def test_a_turn_comes_in_the_order_of_the_protocol(host: LocalHost) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    text = '[[think n=1]][[echo Looking.]] [[call terminal {"command":"echo hi"}]] [[echo Done.]]'
    end = await turn(host, session_id, text)
    assert (end["text"], end["status"]) == ("Done.", "complete")
    kinds = [event["type"] for event in host.events()]
    wanted = [
        "message.user",
        "message.start",
        "reasoning.delta",
        "message.delta",
        "tool.generating",
        "message.interim",
        "tool.start",
        "tool.complete",
        "message.delta",
        "message.complete",
    ]
    place = -1
    for kind in wanted:
        place = kinds.index(kind, place + 1)
    seqs = [event["seq"] for event in host.events() if "seq" in event]
    assert seqs == sorted(set(seqs))


async def test_the_history_shows_texts_and_calls_with_the_rows_that_rewind_needs(host: LocalHost) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    await turn(host, session_id, '[[think n=1]][[call terminal {"command":"echo hi"}]] [[echo Done.]]')
    history = await host.call("session.history", session_id=session_id)
    user, tool, answer = history["messages"]
    assert history["count"] == 4
    assert (user["role"], isinstance(user["row_id"], int)) == ("user", True)
    assert (tool["role"], tool["name"], tool["args"]) == ("tool", "terminal", {"command": "echo hi"})
    assert "row_id" not in tool
    assert (answer["text"], answer["row_id"] > user["row_id"]) == ("Done.", True)


async def test_a_long_history_comes_in_pages(host: LocalHost) -> None:
    """HA-015: the whole in stable order, and no result is parted from its call."""
    session_id = (await host.call("session.create"))["session_id"]
    for number in range(4):
        call = f'[[call terminal {{"command":"echo {number}"}}]] [[echo Done.]]'
        await turn(host, session_id, call)
    whole = await host.call("session.history", session_id=session_id)
    assert "before" not in whole
    for limit in (1, 2, 3, 5, 15, 100):
        pages = [await host.call("session.history", session_id=session_id, limit=limit)]
        while "before" in pages[0]:
            more = await host.call("session.history", session_id=session_id, limit=limit, before=pages[0]["before"])
            pages.insert(0, more)
        assert [row for page in pages for row in page["messages"]] == whole["messages"]
        assert all(page["count"] == whole["count"] == 16 for page in pages)
        assert all(len(page["messages"]) <= limit + 1 for page in pages)


async def test_a_submit_names_the_row_that_it_stored(host: LocalHost) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    reply = await host.call("prompt.submit", session_id=session_id, text="hello")
    assert reply["status"] == "streaming"
    event = await host.event("message.user")
    assert event["payload"]["row_id"] == reply["user_row_id"]


async def test_a_prompt_may_be_made_of_parts(host: LocalHost, model: ScriptedModel) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    await host.call("prompt.submit", session_id=session_id, text=[{"type": "text", "text": "What is this?"}, image])
    await host.event("message.complete")
    (event,) = host.events("message.user")
    assert (event["payload"]["text"], event["payload"]["images"]) == ("What is this?", 1)
    assert "image_url" in str(model.requests[0]["messages"][-1])


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/a.png",
        "http://169.254.169.254/latest",
        "https://example.org/a.png",
        "file:///etc/passwd",
        "data:text/plain;base64,AAAA",
        "data:image/png;base64,",
        "",
    ],
)
async def test_an_image_that_would_have_to_be_fetched_is_refused(
    url: str, host: LocalHost, model: ScriptedModel
) -> None:
    """HA-144."""
    session_id = (await host.call("session.create"))["session_id"]
    with pytest.raises(Refused, match="4015"):
        part = {"type": "image_url", "image_url": {"url": url}}
        await host.call("prompt.submit", session_id=session_id, text=[part])
    assert model.requests == []
    assert (await host.call("session.history", session_id=session_id))["count"] == 0


@pytest.mark.parametrize("text", ["", "  \n ", []])
async def test_an_empty_prompt_is_refused(text: object, host: LocalHost) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    with pytest.raises(Refused, match="4002"):
        await host.call("prompt.submit", session_id=session_id, text=text)


@pytest.mark.parametrize(
    "text", ["/etc/hosts explain", "/tmp", "/usr/bin/x:45", "// note", "/approved plan", "/stop it"]
)
async def test_a_message_that_begins_with_a_path_is_a_message(text: str, host: LocalHost, model: ScriptedModel) -> None:
    """HA-132."""
    session_id = (await host.call("session.create"))["session_id"]
    reply = await host.call("prompt.submit", session_id=session_id, text=text)
    await host.event("message.complete")
    assert reply["status"] == "streaming"
    assert text in str(model.requests[0]["messages"])


async def test_a_failed_turn_ends_once_with_its_error_and_no_error_event(host: LocalHost) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    end = await turn(host, session_id, "[[status 401 No such key.]]")
    assert (end["status"], end["code"]) == ("error", "auth")
    assert end["error"]
    assert end["text"] == end["error"]
    assert len(host.events("message.complete")) == 1
    assert host.events("error") == []


async def test_without_a_model_the_host_is_told_so_that_it_opens_its_set_up(
    hermes_home: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_core.models.resolve.find_weights", _no_weights)
    monkeypatch.setattr("hermes_core.models.resolve.find_servers", _no_servers)
    async with local_gateway() as gateway, local_host(gateway) as host:
        assert (await host.call("setup.status"))["provider_configured"] is False
        await host.call("session.create")
        error = await host.event("error")
    assert error["payload"]["message"].startswith("No inference provider configured")
    assert error["payload"]["code"] == "no_model"


def _no_weights(*_: object) -> None:
    return None


async def _no_servers(*_: object) -> tuple[()]:
    return ()


async def test_a_session_begins_with_the_history_it_is_given(host: LocalHost, model: ScriptedModel) -> None:
    seed = [{"role": "user", "content": "Remember 7."}, {"role": "assistant", "text": "Seven."}]
    created = await host.call("session.create", messages=seed)
    assert [row["text"] for row in created["messages"]] == ["Remember 7.", "Seven."]
    await turn(host, created["session_id"], "hello")
    assert [m["content"] for m in model.requests[0]["messages"] if m["role"] != "system"][:2] == [
        "Remember 7.",
        "Seven.",
    ]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"cwd": "/no/such/folder"}, 4017),
        ({"title": "x" * 201}, 4022),
        ({"model": "nobody:gpt", "provider": "nobody"}, 4002),
        ({"messages": [{"role": "user"}]}, 4002),
        ({"messages": [{"role": "robot", "text": "x"}]}, -32602),
    ],
)
async def test_a_session_that_cannot_be_made_leaves_nothing_behind(
    params: dict[str, object], code: int, host: LocalHost
) -> None:
    with pytest.raises(Refused) as refused:
        await host.call("session.create", **params)
    assert refused.value.code == code
    assert (await host.call("session.active_list"))["sessions"] == []


async def test_sessions_are_listed_with_the_newest_activity_first(host: LocalHost) -> None:
    first = await host.call("session.create")
    second = await host.call("session.create")
    for created, text in ((first, "one"), (second, "two"), (first, "three")):
        await turn(host, created["session_id"], text)
    listed = (await host.call("session.list"))["sessions"]
    assert [row["id"] for row in listed] == [first["stored_session_id"], second["stored_session_id"]]
    assert listed[0]["preview"] == "one"
    assert (await host.call("session.list", limit=1, after=listed[0]["id"]))["sessions"] == listed[1:]
    recent = await host.call("session.most_recent")
    assert (recent["session_id"], recent["source"]) == (first["stored_session_id"], "tui")


async def test_with_nothing_stored_no_session_is_the_most_recent(host: LocalHost) -> None:
    assert await host.call("session.most_recent") == {"session_id": None}


async def test_live_sessions_are_listed_in_the_order_in_which_they_were_opened(host: LocalHost) -> None:
    first = await host.call("session.create", title="A")
    second = await host.call("session.create", title="B")
    await turn(host, second["session_id"], "hello there")
    rows = (await host.call("session.active_list", current_session_id=second["session_id"]))["sessions"]
    assert [(row["id"], row["title"], row["current"]) for row in rows] == [
        (first["session_id"], "A", False),
        (second["session_id"], "B", True),
    ]
    assert (rows[1]["preview"], rows[1]["status"], rows[1]["message_count"]) == ("ok", "idle", 2)


async def test_a_stored_session_is_resumed_by_its_id_and_by_its_title(host: LocalHost, gateway: Gateway) -> None:
    created = await host.call("session.create", title="The plan")
    await turn(host, created["session_id"], "hello")
    assert (await host.call("session.close", session_id=created["session_id"]))["closed"] is True
    for wanted in (created["stored_session_id"], "The plan"):
        resumed = await host.call("session.resume", session_id=wanted)
        assert resumed["resumed"] == created["stored_session_id"]
        assert resumed["session_id"] != created["session_id"]
        assert [row["text"] for row in resumed["messages"]] == ["hello", "ok"]
        assert (resumed["running"], resumed["status"], resumed["inflight"]) == (False, "idle", None)
        await host.call("session.close", session_id=resumed["session_id"])
    assert dict(gateway.runtime.sessions) == {}


@pytest.mark.parametrize(
    ("wanted", "code"), [("", 4006), ("  ", 4006), ("20200101_000000_abcdef", 4007), ("../x", 4007)]
)
async def test_what_is_not_stored_cannot_be_resumed(wanted: str, code: int, host: LocalHost) -> None:
    with pytest.raises(Refused) as refused:
        await host.call("session.resume", session_id=wanted)
    assert refused.value.code == code


async def test_resuming_twice_at_once_gives_one_live_session(host: LocalHost, gateway: Gateway) -> None:
    """HA-009: also from two connections."""
    created = await host.call("session.create")
    await turn(host, created["session_id"], "hello")
    await host.call("session.close", session_id=created["session_id"])
    async with local_host(gateway) as other:
        stored_id = created["stored_session_id"]
        asked = await host.send("session.resume", session_id=stored_id)
        asked_too = await other.send("session.resume", session_id=stored_id)
        first, second = await host.reply(asked), await other.reply(asked_too)
        assert first["session_id"] == second["session_id"]
        assert len(gateway.runtime.sessions) == 1
        await turn(host, first["session_id"], "hello again")
        end = await other.event("message.complete")
        assert end["payload"]["text"] == "ok"


async def test_two_clients_see_the_same_events_and_replies_go_to_the_caller(host: LocalHost, gateway: Gateway) -> None:
    """HA-092, HA-099."""
    created = await host.call("session.create")
    async with local_host(gateway) as other:
        await other.call("session.activate", session_id=created["session_id"])
        await turn(host, created["session_id"], "[[text n=20 size=4]]")
        await other.event("message.complete")
        mine = [event for event in host.events() if "seq" in event and event["seq"] <= 5]
        theirs = [event for event in other.events() if event["seq"] <= 5]
        assert mine == theirs
        assert len([frame for frame in other.frames if "id" in frame]) == 1


async def test_a_client_that_joins_in_mid_turn_gets_what_was_said_and_what_follows(
    host: LocalHost, gateway: Gateway, model: ScriptedModel
) -> None:
    """HA-092, HA-093: the text of the snapshot and the deltas after it are the whole answer."""
    session_id = (await host.call("session.create"))["session_id"]
    await host.call("prompt.submit", session_id=session_id, text="[[text n=2 size=4]] [[stall]] [[echo end]]")
    await host.event("message.delta")
    async with local_host(gateway) as other:
        joined = await other.call("session.activate", session_id=session_id)
        assert (joined["running"], joined["status"]) == (True, "working")
        model.release()
        end = await other.event("message.complete")
        said = joined["inflight"]["assistant"]
        later = "".join(event["payload"]["text"] for event in other.events("message.delta"))
        assert said
        assert said + later == end["payload"]["text"]


async def test_a_client_that_leaves_takes_nothing_from_the_others(
    host: LocalHost, gateway: Gateway, model: ScriptedModel
) -> None:
    """HA-092."""
    session_id = (await host.call("session.create"))["session_id"]
    async with local_host(gateway) as other:
        await other.call("session.activate", session_id=session_id)
        await other.call("prompt.submit", session_id=session_id, text="[[echo a]] [[stall]] [[echo b]]")
        await other.event("message.delta")
    model.release()
    end = await host.event("message.complete")
    assert end["payload"]["text"] == "ab"


async def test_a_session_that_one_client_closes_tells_the_others(host: LocalHost, gateway: Gateway) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    async with local_host(gateway) as other:
        await other.call("session.activate", session_id=session_id)
        assert await host.call("session.close", session_id=session_id) == {"closed": True}
        assert (await other.event("session.closed"))["payload"] == {"reason": "tui_close"}
        with pytest.raises(Refused, match="4001"):
            await other.call("session.history", session_id=session_id)
    assert await host.call("session.close", session_id=session_id) == {"closed": False}


async def test_a_title_is_set_told_and_kept(host: LocalHost) -> None:
    created = await host.call("session.create")
    session_id = created["session_id"]
    assert await host.call("session.title", session_id=session_id) == {
        "title": "",
        "session_key": created["stored_session_id"],
    }
    reply = await host.call("session.title", session_id=session_id, title="A\nplan")
    assert (reply["title"], reply["pending"]) == ("A plan", False)
    event = await host.event("session.title")
    assert event["payload"] == {"session_id": created["stored_session_id"], "title": "A plan"}
    for title, code in (("", 4021), ("  ", 4021), ("x" * 201, 4022)):
        with pytest.raises(Refused) as refused:
            await host.call("session.title", session_id=session_id, title=title)
        assert refused.value.code == code
    assert (await host.call("session.title", session_id=session_id))["title"] == "A plan"


async def test_usage_and_status_tell_what_the_session_has_used(host: LocalHost) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    assert (await host.call("session.usage", session_id=session_id))["total"] == 0
    await turn(host, session_id, "[[echo hi]] [[usage input=9 output=3]]")
    usage = await host.call("session.usage", session_id=session_id)
    assert (usage["input"], usage["output"], usage["total"], usage["calls"], usage["model"]) == (9, 3, 12, 1, "m")
    output = (await host.call("session.status", session_id=session_id))["output"]
    assert "Model: m (custom)" in output
    assert "Running: no" in output


@pytest.mark.parametrize("name", ["session.activate", "session.history", "session.usage", "session.status"])
async def test_a_session_that_is_not_live_is_told_by_its_code(name: str, host: LocalHost) -> None:
    with pytest.raises(Refused, match="4001"):
        await host.call(name, session_id="cafe0123")


async def test_half_a_surrogate_pair_in_a_title_breaks_no_frame(host: LocalHost) -> None:
    """HA-098."""
    session_id = (await host.call("session.create"))["session_id"]
    line = b'{"id":9,"method":"session.title","params":{"session_id":"%s","title":"a\\ud83d"}}' % session_id.encode()
    await host.write(line)
    assert (await host.reply(9))["title"] == "a\ufffd"
    assert (await host.call("session.active_list"))["sessions"][0]["title"] == "a\ufffd"


async def test_so_many_sessions_are_live_at_once_and_closing_one_makes_room(
    host: LocalHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui_gateway.methods.lifecycle.MAX_LIVE", 2)
    first, second = [await host.call("session.create") for _ in range(2)]
    await turn(host, first["session_id"], "hello")
    with pytest.raises(Refused) as refused:
        await host.call("session.create")
    assert refused.value.code == 4090
    assert (await host.call("session.resume", session_id=first["stored_session_id"]))["running"] is False
    await host.call("session.close", session_id=first["session_id"])
    await host.call("session.create")
    with pytest.raises(Refused) as refused:
        await host.call("session.resume", session_id=first["stored_session_id"])
    assert refused.value.code == 4090
    assert (await host.call("session.activate", session_id=second["session_id"]))["messages"] == []


async def test_a_session_that_is_resumed_while_it_is_being_closed_works_afterwards(
    host: LocalHost, model: ScriptedModel
) -> None:
    session_id = (await host.call("session.create"))["session_id"]
    await host.call("prompt.submit", session_id=session_id, text="[[echo a]] [[stall]]")
    await model.wait_for_stall()
    closing = await host.send("session.close", session_id=session_id)
    resumed = await host.call("session.resume", session_id=session_id)
    assert await host.reply(closing) == {"closed": True}
    submitted = await host.call("prompt.submit", session_id=resumed["session_id"], text="[[echo alive]]")
    assert submitted["status"] == "streaming"


@pytest.mark.parametrize("method", ["session.activate", "session.list", "session.create", "x" * 300_000])
async def test_no_error_repeats_all_that_was_sent(host: LocalHost, method: str) -> None:
    long = "/" + "x" * 300_000
    with pytest.raises(Refused) as refused:
        await host.call(method, session_id=long, after=long, cwd=long)
    assert len(refused.value.message) < 3_000
