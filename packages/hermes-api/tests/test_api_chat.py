"""Chat completions as the official client sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hermes_api.testing import ApiServer, api_server
from hermes_core.testing import Think, Tokens, answer, call
from openai import AsyncOpenAI, BadRequestError

pytestmark = pytest.mark.anyio
Sdk = Callable[[ApiServer], AsyncOpenAI]


async def test_a_question_is_answered_whole(hermes_home: Path, sdk: Sdk) -> None:
    async with api_server(hermes_home, answer("Hello.", Tokens(11, 7, cached=3, reasoning=2))) as api, sdk(api) as ai:
        reply = await ai.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hi"}])
    assert reply.object == "chat.completion"
    assert reply.id.startswith("chatcmpl-")
    assert reply.model == "gpt-4o"
    assert reply.choices[0].message.content == "Hello."
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (11, 7, 18)
    assert reply.usage.prompt_tokens_details is not None
    assert reply.usage.prompt_tokens_details.cached_tokens == 3
    assert reply.usage.completion_tokens_details is not None
    assert reply.usage.completion_tokens_details.reasoning_tokens == 2


async def test_a_stream_is_made_of_legal_chunks_and_says_only_what_the_assistant_said(
    hermes_home: Path, sdk: Sdk
) -> None:
    """HA-102, HA-104: tool marks stay out of the content, every chunk has all five keys, no usage chunk unasked."""
    (hermes_home / "a.txt").parent.mkdir(parents=True)
    (hermes_home / "a.txt").write_text("x")
    calls = answer("Let me look.", call("read_file", path="a.txt"), call("read_file", path="b.txt"), call("todo"))
    async with api_server(hermes_home, calls, answer("It is x.")) as api, sdk(api) as ai:
        stream = await ai.chat.completions.create(
            model="hermes-agent", messages=[{"role": "user", "content": "What is in a.txt?"}], stream=True
        )
        chunks = [chunk async for chunk in stream]
    assert chunks[0].choices[0].delta.role == "assistant"
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == "Let me look.\n\nIt is x."
    assert {(c.id, c.object, c.created, c.model) for c in chunks} == {
        (chunks[0].id, "chat.completion.chunk", chunks[0].created, "hermes-agent")
    }
    finish = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert finish == ["stop"]
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert chunks[-1].usage is not None
    progress = [chunk.model_extra for chunk in chunks if not chunk.choices]
    assert len(progress) == 6
    assert progress[0] is not None
    assert progress[0]["tool"] == "read_file"
    assert progress[0]["status"] == "running"


async def test_usage_has_a_chunk_of_its_own_only_when_asked_for(hermes_home: Path, sdk: Sdk) -> None:
    """HA-104"""
    async with api_server(hermes_home) as api, sdk(api) as ai:
        for asked in (True, False):
            stream = await ai.chat.completions.create(
                model="hermes-agent",
                messages=[{"role": "user", "content": "hi"}],
                stream=True,
                stream_options={"include_usage": asked},
            )
            chunks = [chunk async for chunk in stream]
            empty = [chunk for chunk in chunks if not chunk.choices]
            assert len(empty) == (1 if asked else 0)
            if asked:
                assert chunks[-1] is empty[0]
                assert chunks[-1].usage is not None


async def test_the_streaming_helper_of_the_official_client_joins_the_answer(hermes_home: Path, sdk: Sdk) -> None:
    async with (
        api_server(hermes_home, answer("One ", "two.")) as api,
        sdk(api) as ai,
        ai.chat.completions.stream(
            model="hermes-agent",
            messages=[{"role": "user", "content": "count"}],
            stream_options={"include_usage": True},
        ) as stream,
    ):
        kinds = [event.type async for event in stream]
        final = await stream.get_final_completion()
    assert "content.delta" in kinds
    assert final.choices[0].message.content == "One two."


async def test_the_stream_ends_with_the_end_mark_and_names_its_session(hermes_home: Path) -> None:
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        reply = await http.post(
            f"{api.url}/v1/chat/completions",
            json={"messages": [{"role": "user", "content": "hi"}], "stream": True},
            headers={"X-Hermes-Session-Key": "channel-7"},
        )
    assert reply.headers["content-type"].startswith("text/event-stream")
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["x-accel-buffering"] == "no"
    assert reply.headers["x-hermes-session-id"].startswith("api-")
    assert reply.headers["x-hermes-session-key"] == "channel-7"
    assert reply.text.endswith("data: [DONE]\n\n")


async def test_progress_of_tools_is_an_event_of_its_own_and_can_be_turned_off(hermes_home: Path) -> None:
    body = {"messages": [{"role": "user", "content": "[[call todo {}]] [[echo done]]"}], "stream": True}
    for lines, expected in (([], 2), (["gateway: {api_server: {tool_progress_events: false}}"], 0)):
        async with api_server(hermes_home, config=lines) as api, httpx2.AsyncClient(headers=api.headers) as http:
            reply = await http.post(f"{api.url}/v1/chat/completions", json=body)
        assert reply.text.count("event: hermes.tool.progress\n") == expected


async def test_reasoning_is_streamed_apart_where_it_is_shown(hermes_home: Path, sdk: Sdk) -> None:
    thinking = answer(Think("Hmm, what now."), "Hello.")
    async with api_server(hermes_home, thinking, config=["display: {show_reasoning: true}"]) as api, sdk(api) as ai:
        stream = await ai.chat.completions.create(
            model="hermes-agent", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        deltas = [chunk.choices[0].delta async for chunk in stream if chunk.choices]
    assert "".join((delta.model_extra or {}).get("reasoning_content", "") for delta in deltas) == "Hmm, what now."
    assert "".join(delta.content or "" for delta in deltas) == "Hello."


async def test_reasoning_is_kept_back_by_default(hermes_home: Path) -> None:
    async with (
        api_server(hermes_home, answer(Think("secret thoughts"), "Hello.")) as api,
        httpx2.AsyncClient(headers=api.headers) as http,
    ):
        body = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
        reply = await http.post(f"{api.url}/v1/chat/completions", json=body)
    assert "secret thoughts" not in reply.text
    assert "Hello." in reply.text


async def test_system_and_developer_texts_lie_over_the_core_prompt_for_this_call_only(
    hermes_home: Path, sdk: Sdk
) -> None:
    """HA-107: layered in order, never in place of the core prompt, and gone with the next call."""
    async with api_server(hermes_home) as api, sdk(api) as ai:
        for system in (
            [{"role": "system", "content": "Speak like a pirate."}, {"role": "developer", "content": "Be brief."}],
            [],
        ):
            await ai.chat.completions.create(
                model="hermes-agent",
                messages=[*system, {"role": "user", "content": "hi"}],  # pyright: ignore[reportArgumentType]
                extra_headers={"X-Hermes-Session-Id": "one-session"},
            )
        first, second = (request["messages"] for request in api.model.requests)
        stored = await api.runtime.store.messages("one-session")
    assert first[0]["role"] == "system"
    assert first[0]["content"].endswith("Speak like a pirate.\nBe brief.")
    assert first[0]["content"].startswith(second[0]["content"])
    assert "pirate" not in str(second)
    assert len(second) == 4
    assert all("pirate" not in str(row) for row in stored)


async def test_the_turn_is_the_last_user_message_and_foreign_tool_history_is_left_out(
    hermes_home: Path, sdk: Sdk
) -> None:
    messages: list[Any] = [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": {}}]},
        {"role": "tool", "tool_call_id": "1", "content": "from another model"},
        {"role": "assistant", "content": "an answer"},
        {"role": "user", "content": [{"type": "text", "text": "second"}, {"type": "input_text", "text": "part"}]},
        {"role": "assistant", "content": "a prefill"},
    ]
    async with api_server(hermes_home) as api, sdk(api) as ai:
        await ai.chat.completions.create(model="hermes-agent", messages=messages)  # pyright: ignore[reportArgumentType]
        sent = api.model.requests[0]["messages"][1:]
    assert [(message["role"], message["content"]) for message in sent] == [
        ("user", "first"),
        ("assistant", "an answer"),
        ("user", "second\npart"),
    ]


async def test_images_that_carry_their_data_reach_the_model(hermes_home: Path, sdk: Sdk) -> None:
    url = "data:image/png;base64,iVBORw0KGgo="
    content = [{"type": "image_url", "image_url": {"url": url, "detail": "low"}}]
    async with api_server(hermes_home) as api, sdk(api) as ai:
        await ai.chat.completions.create(
            model="hermes-agent",
            messages=[{"role": "user", "content": content}],  # pyright: ignore[reportArgumentType]
        )
        sent = api.model.requests[0]["messages"][-1]["content"]
    assert url in str(sent)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/a.png",
        "http://[::1]/a.png",
        "http://169.254.169.254/latest/meta-data",
        "http://2130706433/a.png",
        "https://example.com/a.png",
        "file:///etc/passwd",
        "/etc/passwd",
        "data:text/html;base64,PGI+",
        "data:image/png,raw",
        "",
    ],
)
async def test_images_that_would_have_to_be_fetched_or_read_are_refused(hermes_home: Path, sdk: Sdk, url: str) -> None:
    """HA-144, HA-153: nobody fetches or reads anything for an image, so nobody can be led anywhere."""
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]
    async with api_server(hermes_home) as api, sdk(api) as ai:
        with pytest.raises(BadRequestError) as refused:
            await ai.chat.completions.create(
                model="hermes-agent",
                messages=[{"role": "user", "content": content}],  # pyright: ignore[reportArgumentType]
            )
        assert api.model.requests == []
    assert refused.value.param == "messages[0].content"
    assert refused.value.code in ("invalid_image_url", "unsupported_content_type")


async def test_a_known_model_is_used_and_an_unknown_provider_means_the_default(hermes_home: Path, sdk: Sdk) -> None:
    async with api_server(hermes_home) as api, sdk(api) as ai:
        for name in ("hermes-agent", "custom:other-model", "other-model"):
            reply = await ai.chat.completions.create(model=name, messages=[{"role": "user", "content": "hi"}])
            assert reply.model == name
        assert [request["model"] for request in api.model.requests] == ["m", "other-model", "other-model"]


async def test_task_prompts_of_frontends_run_without_tools_and_leave_no_session(hermes_home: Path, sdk: Sdk) -> None:
    prompt = '### Task:\nGenerate a title as JSON. [[echo {"title": "Greetings"}]]'
    async with api_server(hermes_home) as api, sdk(api) as ai:
        reply = await ai.chat.completions.with_raw_response.create(
            model="hermes-agent", messages=[{"role": "user", "content": prompt}], max_tokens=1000
        )
        completion = reply.parse()
        assert "tools" not in api.model.requests[0]
        assert api.model.requests[0].get("max_tokens", api.model.requests[0].get("max_completion_tokens")) == 1000
        from hermes_core.store.protocol import SessionQuery

        assert await api.runtime.store.list_sessions(SessionQuery(only_used=False)) == []
        assert api.runtime.sessions == {}
    assert completion.choices[0].message.content == '{"title": "Greetings"}'
    assert "x-hermes-session-id" not in reply.headers


async def test_what_clients_send_beside_the_message_is_accepted(hermes_home: Path) -> None:
    body = {
        "messages": [{"role": "user", "content": "hi", "name": "ann"}],
        "temperature": 1,
        "top_p": 0.5,
        "presence_penalty": 0,
        "user": "u",
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "stream": None,
        "stop": None,
        "unknown": {"x": 1},
    }
    async with api_server(hermes_home) as api, httpx2.AsyncClient(headers=api.headers) as http:
        reply = await http.post(f"{api.url}/v1/chat/completions", json=body)
    assert reply.status_code == 200
    assert reply.json()["choices"][0]["finish_reason"] == "stop"


async def test_path_at_the_start_of_a_message_is_no_command(hermes_home: Path, sdk: Sdk) -> None:
    """HA-132"""
    async with api_server(hermes_home) as api, sdk(api) as ai:
        for text in ("/etc/hosts explain", "/tmp", "// note"):
            await ai.chat.completions.create(model="hermes-agent", messages=[{"role": "user", "content": text}])
        assert [request["messages"][-1]["content"] for request in api.model.requests] == [
            "/etc/hosts explain",
            "/tmp",
            "// note",
        ]
