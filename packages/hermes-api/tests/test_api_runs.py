"""Runs: begun, watched by any number of clients, approved, steered, stopped, and found again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import msgspec
import pytest
from hermes_api.testing import ApiServer, api_server
from hermes_core.messages import ToolMessage, UserMessage
from hermes_core.testing import Finish, Stall, Tokens, answer, call, refusal

pytestmark = pytest.mark.anyio

DANGEROUS = call("terminal", command="rm -rf ./some-folder")


class Runs:
    """The runs of a server, over plain HTTP."""

    def __init__(self, api: ApiServer, http: httpx2.AsyncClient) -> None:
        self.api = api
        self.http = http

    async def start(self, text: str = "go", **fields: Any) -> str:
        """Begin a run and return its id."""
        reply = await self.http.post(f"{self.api.url}/v1/runs", json={"input": text, **fields})
        assert reply.status_code == 202, reply.text
        assert reply.json()["status"] == "started"
        return reply.json()["run_id"]

    async def status(self, run_id: str) -> dict[str, Any]:
        """Return the status object."""
        reply = await self.http.get(f"{self.api.url}/v1/runs/{run_id}")
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def post(self, run_id: str, what: str, **body: Any) -> httpx2.Response:
        """Do something to a run."""
        return await self.http.post(f"{self.api.url}/v1/runs/{run_id}/{what}", json=body)

    async def events(self, run_id: str, query: str = "", **headers: str) -> list[dict[str, Any]]:
        """Read the stream to its end and return the events, having checked the frames."""
        return [event async for event in self.live(run_id, query, **headers)]

    async def live(self, run_id: str, query: str = "", **headers: str) -> AsyncGenerator[dict[str, Any]]:
        """Yield the events as they come."""
        url = f"{self.api.url}/v1/runs/{run_id}/events{query}"
        async with self.http.stream("GET", url, headers=headers) as reply:
            assert reply.status_code == 200
            assert reply.headers["content-type"].startswith("text/event-stream")
            fields: dict[str, str] = {}
            async for line in reply.aiter_lines():
                name, _, value = line.partition(": ")
                if line:
                    fields[name] = value
                    continue
                if "data" in fields:
                    event = msgspec.json.decode(fields["data"])
                    assert event["event"] == fields["event"]
                    assert event["run_id"] == run_id
                    assert event.get("seq") == (int(fields["id"]) if "id" in fields else None)
                    yield event
                fields = {}

    async def until(self, run_id: str, name: str) -> dict[str, Any]:
        """Return the first event of a name."""
        stream = self.live(run_id)
        try:
            async for event in stream:
                if event["event"] == name:
                    return event
        finally:
            await stream.aclose()
        raise AssertionError(f"{name} never came")

    async def ended(self, run_id: str) -> dict[str, Any]:
        """Wait for the end and return the status object."""
        await self.events(run_id)
        return await self.status(run_id)


@asynccontextmanager
async def served(home: Path, *answers: Any, **options: Any) -> AsyncGenerator[Runs]:
    """Serve runs over a scripted model."""
    async with (
        api_server(home, *answers, **options) as api,
        httpx2.AsyncClient(headers=api.headers, timeout=30) as http,
    ):
        yield Runs(api, http)


def names(events: list[dict[str, Any]]) -> list[str]:
    """Return the names of events, deltas only once."""
    found = [event["event"] for event in events]
    return [name for at, name in enumerate(found) if name != "message.delta" or found[at - 1 : at] != [name]]


async def test_a_run_tells_what_it_does_and_keeps_its_status(hermes_home: Path) -> None:
    """HA-125, HA-126: the order of events, the terminal status afterwards, the usage of all calls."""
    script = (
        answer("Let me see.", call("todo"), Tokens(1000, 5, cached=800)),
        answer("All done.", Tokens(1000, 5, cached=800)),
    )
    async with served(hermes_home, *script) as runs:
        run_id = await runs.start("go", model="gpt-4o")
        events = await runs.events(run_id)
        status = await runs.status(run_id)
        again = await runs.status(run_id)
    assert names(events) == [
        "message.delta",
        "message.interim",
        "tool.started",
        "tool.completed",
        "message.delta",
        "run.completed",
    ]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    text = "".join(event["delta"] for event in events if event["event"] == "message.delta")
    assert text == "Let me see.\n\nAll done."
    tool = next(event for event in events if event["event"] == "tool.completed")
    assert (tool["tool"], tool["error"]) == ("todo", False)
    last = events[-1]
    assert (last["output"], last["completed"], last["partial"], last["interrupted"]) == (
        "All done.",
        True,
        False,
        False,
    )
    assert status == again
    assert status["object"] == "hermes.run"
    assert (status["status"], status["output"], status["last_event"]) == ("completed", "All done.", "run.completed")
    assert (status["model"], status["session_id"]) == ("gpt-4o", run_id)
    assert status["usage"] == {
        "input_tokens": 2000,
        "output_tokens": 10,
        "total_tokens": 2010,
        "cache_read_tokens": 1600,
        "cache_write_tokens": 0,
        "reasoning_tokens": 0,
    }
    assert status["created_at"] <= status["updated_at"]
    assert "pending_steer" not in status


async def test_any_number_of_clients_read_the_same_events_live_and_afterwards(hermes_home: Path) -> None:
    async with served(hermes_home, answer("One ", Stall(), "two.")) as runs:
        run_id = await runs.start()
        seen: list[list[dict[str, Any]]] = []

        async def watch() -> None:
            seen.append(await runs.events(run_id))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            tasks.start_soon(watch)
            await runs.until(run_id, "message.delta")
            runs.api.model.release()
        afterwards = await runs.events(run_id)
    assert len(seen) == 2
    assert seen[0] == seen[1] == afterwards
    assert afterwards[-1]["event"] == "run.completed"


async def test_a_client_that_comes_back_goes_on_where_it_was(hermes_home: Path) -> None:
    """DECISIONS rule 23: the header wins over the query; after and last_seq mean the same; nonsense is the start."""
    async with served(hermes_home, answer("a", call("todo")), answer("b")) as runs:
        run_id = await runs.start()
        whole = await runs.events(run_id)
        assert await runs.events(run_id, "?after=2") == whole[2:]
        assert await runs.events(run_id, "?last_seq=3") == whole[3:]
        assert await runs.events(run_id, "?after=1", **{"Last-Event-ID": "4"}) == whole[4:]
        assert await runs.events(run_id, **{"Last-Event-ID": "x"}) == whole
        assert await runs.events(run_id, "?after=-1") == whole
        assert await runs.events(run_id, f"?after={len(whole)}") == []


async def test_a_client_that_leaves_does_not_stop_the_run(hermes_home: Path) -> None:
    async with served(hermes_home, answer("One ", Stall(), "two.")) as runs:
        run_id = await runs.start()
        await runs.until(run_id, "message.delta")
        assert (await runs.status(run_id))["status"] == "running"
        runs.api.model.release()
        status = await runs.ended(run_id)
    assert (status["status"], status["output"]) == ("completed", "One two.")


@pytest.mark.parametrize(("choice", "error"), [("Approve ", False), ("deny", True)])
async def test_a_run_waits_for_an_approval_and_goes_on(hermes_home: Path, choice: str, error: bool) -> None:
    """HA-118: the request is an event with id, command and choices; the status shows it; the answer is told."""
    async with served(hermes_home, answer(DANGEROUS), answer("Done.")) as runs:
        run_id = await runs.start()
        request = await runs.until(run_id, "approval.request")
        waiting = await runs.status(run_id)
        assert waiting["status"] == "waiting_for_approval"
        assert waiting["approval"]["request_id"] == request["request_id"]
        assert waiting["last_event"] == "approval.request"
        assert "some-folder" in request["command"]
        assert {"once", "deny"} <= set(request["choices"])
        reply = await runs.post(run_id, "approval", choice=choice)
        assert reply.status_code == 200
        normal = "deny" if error else "once"
        assert reply.json() == {
            "object": "hermes.run.approval_response",
            "run_id": run_id,
            "choice": normal,
            "resolved": 1,
        }
        assert (await runs.status(run_id))["status"] != "waiting_for_approval"
        events = await runs.events(run_id)
        status = await runs.status(run_id)
    assert names(events) == [
        "tool.started",
        "approval.request",
        "approval.responded",
        "tool.completed",
        "message.delta",
        "run.completed",
    ]
    assert next(event for event in events if event["event"] == "approval.responded")["choice"] == normal
    assert next(event for event in events if event["event"] == "tool.completed")["error"] is error
    assert status["status"] == "completed"
    assert "approval" not in status


async def test_wrong_answers_to_approvals_decide_nothing(hermes_home: Path) -> None:
    """DECISIONS rule 21, HA-053: in the order of the checks, each with its code."""
    async with served(hermes_home, answer(DANGEROUS), answer("Done."), answer(Stall(), "x")) as runs:
        run_id = await runs.start()
        request = await runs.until(run_id, "approval.request")
        for body, status, code in (
            ({"choice": "once", "request_id": " "}, 400, "invalid_approval_request"),
            ({"choice": "maybe", "request_id": "x" * 257}, 400, "invalid_approval_request"),
            ({"choice": "once", "request_id": 5}, 400, "invalid_type"),
            ({"choice": "maybe"}, 400, "invalid_approval_choice"),
            ({}, 400, "invalid_approval_choice"),
            ({"choice": "once", "request_id": "another"}, 409, "approval_not_pending"),
        ):
            reply = await runs.post(run_id, "approval", **body)
            assert (reply.status_code, reply.json()["error"]["code"]) == (status, code), body
        assert (await runs.status(run_id))["status"] == "waiting_for_approval"
        reply = await runs.post(run_id, "approval", choice="deny", request_id=request["request_id"])
        assert reply.json()["request_id"] == request["request_id"]
        await runs.events(run_id)
        late = await runs.post(run_id, "approval", choice="once")
        assert (late.status_code, late.json()["error"]["code"]) == (409, "approval_not_active")
        other = await runs.start()
        await runs.api.model.wait_for_stall()
        none = await runs.post(other, "approval", choice="once")
        assert (none.status_code, none.json()["error"]["code"]) == (409, "approval_not_pending")
        runs.api.model.release()


async def test_an_approval_nobody_gives_expires_and_the_run_goes_on(hermes_home: Path) -> None:
    """The waiting state ends everywhere: event, status, and the run."""
    async with served(hermes_home, answer(DANGEROUS), answer("Not done."), config=["approvals: {timeout: 1}"]) as runs:
        run_id = await runs.start()
        events = await runs.events(run_id)
    expired = next(event for event in events if event["event"] == "approval.expire")
    assert expired["reason"] == "expired"
    assert events[-1]["event"] == "run.completed"


async def test_steering_is_queued_and_read_after_the_tools(hermes_home: Path) -> None:
    async with served(hermes_home, answer(Stall(), call("todo")), answer("Done.")) as runs:
        run_id = await runs.start()
        await runs.api.model.wait_for_stall()
        reply = await runs.post(run_id, "steer", text="And be quick.")
        assert reply.json() == {"object": "hermes.run.steer", "run_id": run_id, "accepted": True}
        assert (await runs.status(run_id))["last_event"] == "run.steered"
        runs.api.model.release()
        events = await runs.events(run_id)
        result = runs.api.model.requests[-1]["messages"][-1]
    assert "run.steered" in names(events)
    assert result["role"] == "tool"
    assert "And be quick." in result["content"]
    assert "pending_steer" not in events[-1]


async def test_steering_that_came_too_late_comes_back(hermes_home: Path) -> None:
    """HA-119: on the event and on the status, and never as a user turn."""
    async with served(hermes_home, answer("Nearly ", Stall(), "done.")) as runs:
        run_id = await runs.start()
        await runs.api.model.wait_for_stall()
        for text in ("One.", "Two."):
            assert (await runs.post(run_id, "steer", input=[{"type": "text", "text": text}])).status_code == 200
        runs.api.model.release()
        events = await runs.events(run_id)
        status = await runs.status(run_id)
        rows = await runs.api.runtime.store.messages(run_id)
    assert events[-1]["pending_steer"] == status["pending_steer"] == "One.\nTwo."
    assert sum(isinstance(row.message, UserMessage) for row in rows) == 1


async def test_steering_is_refused_unless_the_run_is_running(hermes_home: Path) -> None:
    """HA-120: waiting, stopping, ended; unknown; and only then is the body looked at."""
    async with served(hermes_home, answer(DANGEROUS), answer(Stall(), "y")) as runs:
        unknown = await runs.post("run_nope", "steer", text="x")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "run_not_found")
        run_id = await runs.start()
        await runs.until(run_id, "approval.request")
        url = f"{runs.api.url}/v1/runs/{run_id}/steer"
        for body in (b'{"text": "x"}', b"", b"{"):
            waiting = await runs.http.post(url, content=body)
            assert (waiting.status_code, waiting.json()["error"]["code"]) == (409, "run_not_accepting_steer")
        await runs.post(run_id, "stop")
        assert (await runs.post(run_id, "steer", text="x")).status_code == 409
        await runs.events(run_id)
        assert (await runs.post(run_id, "steer", text="x")).status_code == 409
        running = await runs.start()
        await runs.api.model.wait_for_stall()
        url = f"{runs.api.url}/v1/runs/{running}/steer"
        for body, code in (
            (b"", "invalid_steer_input"),
            (b'{"text": " "}', "invalid_steer_input"),
            (b"{", "invalid_json"),
            (b"[]", "invalid_body"),
            (b'{"text": 5}', "invalid_type"),
        ):
            reply = await runs.http.post(url, content=body)
            assert (reply.status_code, reply.json()["error"]["code"]) == (400, code)
        await runs.post(running, "stop")


async def test_a_stopped_run_ends_cancelled_with_its_tools(hermes_home: Path) -> None:
    command = call("terminal", command="echo begun > began; sleep 600")
    async with served(hermes_home, answer("Working.", command)) as runs:
        run_id = await runs.start()
        with anyio.fail_after(10):
            while not await anyio.Path(hermes_home / "began").exists():
                await anyio.lowlevel.checkpoint()
        first = await runs.post(run_id, "stop")
        assert first.json() == {"run_id": run_id, "status": "stopping"}
        again = await runs.post(run_id, "stop")
        assert again.status_code == 200
        events = await runs.events(run_id)
        status = await runs.status(run_id)
        finished = await runs.post(run_id, "stop")
        rows = await runs.api.runtime.store.messages(run_id)
    assert events[-2]["event"] == "tool.completed"
    assert events[-2]["error"] is True
    assert events[-1]["event"] == "run.cancelled"
    assert (status["status"], status["interrupted"], status["completed"]) == ("cancelled", True, False)
    assert status["turn_exit_reason"] == "interrupted_by_user"
    assert "output" not in status
    assert finished.json() == status
    assert any(isinstance(row.message, ToolMessage) and row.message.outcome == "interrupted" for row in rows)


async def test_a_run_that_waits_for_its_session_can_be_stopped_and_the_next_one_is_not_hurt(hermes_home: Path) -> None:
    """HA-067: stopping what has not begun, or is over, reaches nothing else."""
    async with served(hermes_home, answer(Stall(), "first"), answer("third")) as runs:
        first = await runs.start(session_id="shared")
        await runs.api.model.wait_for_stall()
        second = await runs.start(session_id="shared")
        assert (await runs.status(second))["status"] == "queued"
        await runs.post(second, "stop")
        assert (await runs.ended(second))["status"] == "cancelled"
        assert (await runs.status(first))["status"] == "running"
        runs.api.model.release()
        assert (await runs.ended(first))["output"] == "first"
        await runs.post(first, "stop")
        third = await runs.start(session_id="shared")
        assert (await runs.ended(third))["output"] == "third"
        assert len(runs.api.model.requests) == 2


@pytest.mark.parametrize(
    ("script", "code", "partial"),
    [
        ([refusal(400, "No.")], "provider_error", False),
        ([answer(), answer(), answer()], "empty_answer", False),
        ([answer("As far as it we", Finish("length"))], "truncated", True),
        ([answer(call("todo")), answer(call("todo")), answer(call("todo"))], "budget", False),
    ],
)
async def test_a_run_that_does_not_finish_is_failed_with_a_code(
    hermes_home: Path, script: list[Any], code: str, partial: bool
) -> None:
    """HA-124: an answer without a word in it is one of these."""
    async with served(hermes_home, *script, config=["agent: {max_turns: 2}"]) as runs:
        run_id = await runs.start()
        events = await runs.events(run_id)
        status = await runs.status(run_id)
    assert events[-1]["event"] == "run.failed"
    assert (status["status"], status["code"], status["partial"], status["completed"]) == (
        "failed",
        code,
        partial,
        False,
    )
    assert events[-1]["code"] == code
    assert status["error"]
    assert status.get("output", "") == ("As far as it we" if partial else "")


async def test_one_session_is_continued_by_header_and_by_body_on_chat_and_runs(hermes_home: Path) -> None:
    """HA-117, HA-108: one rule everywhere, the id comes back, the history is there."""
    async with served(hermes_home) as runs:
        header = {"X-Hermes-Session-Id": "one"}
        chat = {"messages": [{"role": "user", "content": "first"}]}
        await runs.http.post(f"{runs.api.url}/v1/chat/completions", json=chat, headers=header)
        begun = await runs.http.post(f"{runs.api.url}/v1/runs", json={"input": "second"}, headers=header)
        assert begun.headers["x-hermes-session-id"] == begun.json()["session_id"] == "one"
        await runs.ended(begun.json()["run_id"])
        history = [{"role": "user", "content": "not this"}]
        third = await runs.start("third", session_id="one", conversation_history=history)
        assert (await runs.ended(third))["session_id"] == "one"
        sent = [message["content"] for message in runs.api.model.requests[-1]["messages"][1:]]
    assert sent == ["first", "ok", "second", "ok", "third"]


async def test_input_may_be_a_conversation_and_history_may_be_given(hermes_home: Path) -> None:
    async with served(hermes_home) as runs:
        asked = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, "c"]
        await runs.ended(await runs.start(asked, instructions="Be brief."))  # pyright: ignore[reportArgumentType]
        history = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
        await runs.ended(await runs.start("z", conversation_history=history))
        sent = [request["messages"] for request in runs.api.model.requests]
        unknown = await runs.http.post(f"{runs.api.url}/v1/runs", json={"input": "x", "previous_response_id": "resp_1"})
    assert [message["content"] for message in sent[0][1:]] == ["a", "b", "c"]
    assert sent[0][0]["content"].endswith("Be brief.")
    assert [message["content"] for message in sent[1][1:]] == ["x", "y", "z"]
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "response_not_found")


async def test_unknown_runs_are_404_everywhere(hermes_home: Path) -> None:
    async with served(hermes_home) as runs:
        for method, path in (
            ("GET", ""),
            ("GET", "/events"),
            ("POST", "/stop"),
            ("POST", "/approval"),
            ("POST", "/steer"),
        ):
            reply = await runs.http.request(method, f"{runs.api.url}/v1/runs/run_nope{path}")
            assert (reply.status_code, reply.json()["error"]["code"]) == (404, "run_not_found")


async def test_a_run_gives_its_place_back(hermes_home: Path) -> None:
    lines = ["gateway: {api_server: {max_concurrent_runs: 1}}"]
    async with served(hermes_home, config=lines) as runs:
        for _ in range(3):
            run_id = await runs.start()
            await runs.ended(run_id)
            with anyio.fail_after(5):
                while runs.api.runtime.sessions:
                    await anyio.lowlevel.checkpoint()
        bad = await runs.http.post(f"{runs.api.url}/v1/runs", json={"input": ""})
        assert bad.status_code == 400
        assert (await runs.ended(await runs.start()))["status"] == "completed"
