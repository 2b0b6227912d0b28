"""Which session a chat request works in: a header, or the conversation that the client sends along."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
import pytest
from hermes_api.testing import ApiServer, api_server
from hermes_core.messages import AssistantMessage, UserMessage
from hermes_core.store.protocol import SessionQuery
from hermes_core.testing import Stall, answer, call, refusal
from openai import AsyncOpenAI

pytestmark = pytest.mark.anyio
Sdk = Callable[[ApiServer], AsyncOpenAI]
SLACK = 9
"""Connections to the model and readers of the store come and go; what leaks, leaks more in five rounds."""


async def ask(api: ApiServer, messages: list[Any], *, stream: bool = False, session: str = "") -> tuple[str, str]:
    """Ask as a frontend does; return the answer and the session's id."""
    headers = api.headers | ({"X-Hermes-Session-Id": session} if session else {})
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="x", default_headers=headers, max_retries=0) as ai:
        if stream:
            reply = await ai.chat.completions.with_raw_response.create(
                model="hermes-agent",
                messages=messages,
                stream=True,
            )
            chunks = [chunk async for chunk in reply.parse()]
            text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
            return text, reply.headers["x-hermes-session-id"]
        whole = await ai.chat.completions.with_raw_response.create(model="hermes-agent", messages=messages)
        return whole.parse().choices[0].message.content or "", whole.headers["x-hermes-session-id"]


async def stored_ids(api: ApiServer) -> set[str]:
    """Return the ids of all stored sessions."""
    return {row.record.id for row in await api.runtime.store.list_sessions(SessionQuery(limit=100))}


def says(role: str, content: str) -> dict[str, Any]:
    """Return one message of a request."""
    return {"role": role, "content": content}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_conversation_sent_along_whole_stays_one_session(hermes_home: Path, stream: bool) -> None:
    """HA-108: five messages in the manner of frontends, tools in one of them, are one session without repetition."""
    messages = [says("system", "Today is Monday.")]
    async with api_server(hermes_home) as api:
        ids: set[str] = set()
        for number in range(5):
            steps = "[[echo Wait.]] [[call todo {}]] " if number == 2 else ""
            messages = [says("system", f"Today is day {number}."), *messages[1:]]
            messages.append(says("user", f"{steps}[[echo answer {number}]]"))
            text, session_id = await ask(api, messages, stream=stream)
            messages.append(says("assistant", text))
            ids.add(session_id)
        assert len(ids) == 1
        assert await stored_ids(api) == ids
        rows = await api.runtime.store.messages(ids.pop())
        assert api.model.violations == []
    assert sum(isinstance(row.message, UserMessage) for row in rows) == 5
    assert sum(isinstance(row.message, AssistantMessage) for row in rows) == 6


async def test_the_id_of_a_new_conversation_comes_from_its_first_words(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api:
        _, first = await ask(api, [says("system", "Be nice."), says("user", "hi")])
        _, again = await ask(api, [says("system", "Be nice."), says("user", "hi")])
        assert len(await stored_ids(api)) == 2
    assert first != again
    assert {session_id.rpartition("-")[0] for session_id in (first, again)} == {"api-28412334868503c2"}


async def test_an_edited_or_repeated_message_begins_a_session_with_the_history_that_was_sent(
    hermes_home: Path,
) -> None:
    async with api_server(hermes_home) as api:
        begin = [says("user", "[[echo one]]"), says("assistant", "one")]
        _, first = await ask(api, begin[:1])
        _, same = await ask(api, [*begin, says("user", "[[echo two]]")])
        _, regenerated = await ask(api, [*begin, says("user", "[[echo two]]")])
        _, edited = await ask(api, [says("user", "[[echo one]]"), says("assistant", "ONE"), says("user", "hi")])
        assert first == same
        assert len({first, regenerated, edited}) == 3
        rows = await api.runtime.store.messages(regenerated)
        assert len(await api.runtime.store.messages(first)) == 4
    texts = [row.message.text for row in rows]
    assert texts == ["[[echo one]]", "one", "[[echo two]]", "two"]


async def test_a_session_header_goes_on_with_the_stored_history(hermes_home: Path) -> None:
    """HA-108: with the header, what the body says of earlier turns does not count, and the id comes back."""
    async with api_server(hermes_home) as api:
        for number in range(3):
            history = [says("user", "old"), says("assistant", "older")] if number else []
            _, session_id = await ask(api, [*history, says("user", f"turn {number}")], session="my-session")
            assert session_id == "my-session"
        sent = [message["content"] for message in api.model.requests[-1]["messages"][1:]]
        assert await stored_ids(api) == {"my-session"}
    assert sent == ["turn 0", "ok", "turn 1", "ok", "turn 2"]


async def test_a_new_session_named_by_header_begins_with_the_history_of_the_body(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api:
        await ask(api, [says("user", "a"), says("assistant", "b"), says("user", "c")], session="fresh")
        rows = await api.runtime.store.messages("fresh")
    assert [row.message.text for row in rows] == ["a", "b", "c", "ok"]


async def test_a_session_of_another_key_is_not_there(hermes_home: Path) -> None:
    body = {"messages": [says("user", "hi")]}
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        session = await api.runtime.create(source="api", stored_id="theirs", owner="key:somebody-else")
        url = f"{api.url}/v1/chat/completions"
        live = await http.post(url, json=body, headers={"X-Hermes-Session-Id": "theirs"})
        await api.runtime.store.create_session(session.record)
        await api.runtime.close_session(session, "test")
        stored = await http.post(url, json=body, headers={"X-Hermes-Session-Id": "theirs"})
        assert api.model.requests == []
    for reply in (live, stored):
        assert reply.status_code == 404
        assert reply.json()["error"]["code"] == "session_not_found"


async def test_a_session_of_another_surface_is_continued(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api:
        session = await api.runtime.create(source="tui", stored_id="from-the-terminal")
        _, session_id = await ask(api, [says("user", "hi")], session="from-the-terminal")
        assert api.runtime.find("from-the-terminal") is session
        assert len(session.rows) == 2
    assert session_id == "from-the-terminal"


async def test_no_session_stays_live_after_its_turn(hermes_home: Path) -> None:
    """HA-160: what a finished request leaves in memory is nothing."""
    async with api_server(hermes_home) as api:
        for number in range(5):
            await ask(api, [says("user", f"number {number}")], stream=bool(number % 2))
        with anyio.fail_after(5):
            while api.runtime.sessions:
                await anyio.lowlevel.checkpoint()
        assert api.runtime.sessions == {}


async def test_two_requests_for_one_session_take_turns_and_the_second_gets_its_first_byte_at_once(
    hermes_home: Path,
) -> None:
    """HA-106: the role chunk comes while another turn still holds the session."""
    rest = ""
    async with (
        api_server(hermes_home, answer(Stall(), "first"), answer("second")) as api,
        anyio.create_task_group() as tasks,
        httpx2.AsyncClient(headers=api.headers | {"X-Hermes-Session-Id": "shared"}) as http,
    ):
        first: list[tuple[str, str]] = []

        async def ask_first() -> None:
            first.append(await ask(api, [says("user", "one")], session="shared"))

        tasks.start_soon(ask_first)
        await api.model.wait_for_stall()
        body = {"messages": [says("user", "two")], "stream": True}
        async with http.stream("POST", f"{api.url}/v1/chat/completions", json=body) as reply:
            lines = reply.aiter_lines()
            assert '"role":"assistant"' in await anext(lines)
            api.model.release()
            rest = "\n".join([line async for line in lines])
    assert "[DONE]" in rest


async def test_questions_are_answered_at_once_because_nobody_can(hermes_home: Path) -> None:
    """DECISIONS rule 2: what needs an approval is denied with a result that says so; the turn goes on."""
    script = (answer(call("terminal", command="rm -rf /tmp/some-folder/x")), answer("I could not."))
    async with api_server(hermes_home, *script) as api:
        text, _ = await ask(api, [says("user", "delete it")])
        result = api.model.requests[-1]["messages"][-1]
    assert text == "I could not."
    assert result["role"] == "tool"
    assert "approv" in result["content"].lower() or "nobody" in result["content"].lower()


async def test_a_session_may_be_named_in_any_script_on_every_endpoint(hermes_home: Path) -> None:
    """HA-147: an id that is valid on one surface is valid on all, also where the turn fails."""
    name = "会话-é"
    headers = [(b"X-Hermes-Session-Id", name.encode())]
    body = {"messages": [says("user", "hi")], "input": "hi"}
    async with (
        api_server(hermes_home, answer("one"), answer("two"), refusal(400)) as api,
        httpx2.AsyncClient(headers=api.headers, timeout=30) as http,
    ):
        chat = await http.post(f"{api.url}/v1/chat/completions", json=body, headers=headers)
        run = await http.post(f"{api.url}/v1/runs", json={"input": "go", "session_id": name})
        await http.get(f"{api.url}/v1/runs/{run.json()['run_id']}/events")
        failed = await http.post(f"{api.url}/v1/chat/completions", json=body, headers=headers)
        assert len(await api.runtime.store.messages(name)) >= 5
        assert await stored_ids(api) == {name}
    assert run.json()["session_id"] == name
    assert failed.status_code == 502
    for reply in (chat, run, failed):
        assert dict(reply.headers.raw)[b"x-hermes-session-id"] == name.encode()


async def test_requests_leave_neither_descriptors_nor_tasks_nor_sessions_behind(hermes_home: Path) -> None:
    """HA-158, HA-161: answers, refusals, failures and clients that leave in mid-answer."""
    process = psutil.Process()

    async def round_of(api: ApiServer) -> None:
        async with httpx2.AsyncClient(headers=api.headers, timeout=30) as http, anyio.create_task_group() as tasks:
            url = f"{api.url}/v1/chat/completions"
            for text in ("hi", "[[status 400 no]]", " ", "[[text n=50]]"):
                tasks.start_soon(partial(http.post, url, json={"messages": [says("user", text)]}))
            tasks.start_soon(partial(http.post, f"{api.url}/v1/runs", json={"input": "[[text n=50]]"}))
            body = {"messages": [says("user", "[[text n=10]] [[stall]]")], "stream": True}
            async with http.stream("POST", url, json=body) as reply:
                assert await anext(reply.aiter_lines())

    def held() -> tuple[int, int]:
        return process.num_fds(), len(asyncio.all_tasks())

    async with api_server(hermes_home, config=["gateway: {api_server: {max_concurrent_runs: 0}}"]) as api:
        await round_of(api)
        await round_of(api)
        with anyio.fail_after(20):
            while api.runtime.sessions:
                await anyio.lowlevel.checkpoint()
        before = held()
        for _ in range(5):
            await round_of(api)
        await round_of(api)
        with anyio.fail_after(20):
            while api.runtime.sessions or any(now > then + SLACK for now, then in zip(held(), before, strict=True)):
                await anyio.lowlevel.checkpoint()
        assert api.runtime.sessions == {}
