"""The official clients of the two public protocols complete their turns against the real processes."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import acp
import anyio
import anyio.to_thread
import pytest
from acp.connection import StreamDirection, StreamEvent
from acp.schema import AllowedOutcome, ClientCapabilities, PermissionOption, RequestPermissionResponse, TextContentBlock
from acp_editor import COMMAND
from acp_schema import FrameSchema
from hermes_core.testing import ScriptedModel
from openai import AsyncOpenAI, OpenAI
from surfaces import PATIENCE, write_home
from surfaces.web import KEY, api_process

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]

READ = '[[call read_file {"path": "note.txt"}]]'
REMOVE = '[[call terminal {"command": "rm -rf gone"}]]'


@pytest.fixture
async def model(hermes_home: Path) -> AsyncGenerator[ScriptedModel]:
    """Answer by directives in the prompt, for the home of the test."""
    async with ScriptedModel() as model:
        write_home(hermes_home, model.base_url)
        yield model
        assert model.violations == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to work in, with a file."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("forty-two\n", encoding="utf-8")
    return folder


def results(model: ScriptedModel) -> list[str]:
    """Return the tool results in the last request that the model was sent."""
    return [message["content"] for message in model.requests[-1]["messages"] if message["role"] == "tool"]


# -- the Agent Client Protocol ----------------------------------------------------------------------


class SdkEditor:
    """An editor on the official SDK: keeps what it is told, and allows what it is asked. It offers nothing else."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked: list[list[PermissionOption]] = []
        self.frames: dict[StreamDirection, list[dict[str, Any]]] = {way: [] for way in StreamDirection}
        self.words = anyio.Event()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[PermissionOption], **kwargs: Any
    ) -> RequestPermissionResponse:
        self.asked.append(options)
        chosen = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)
        if "Beginning" in self.said:
            self.words.set()

    def on_connect(self, conn: acp.Agent) -> None:
        pass

    def observe(self, event: StreamEvent) -> None:
        """Keep every frame of either way."""
        self.frames[event.direction].append(event.message)

    @property
    def said(self) -> str:
        """The agent's words so far."""
        chunks = (update for update in self.updates if update.session_update == "agent_message_chunk")
        return "".join(chunk.content.text for chunk in chunks if isinstance(chunk.content, TextContentBlock))

    def kinds(self) -> set[str]:
        """The kinds of updates so far."""
        return {update.session_update for update in self.updates}


@asynccontextmanager
async def sdk_editor() -> AsyncGenerator[tuple[SdkEditor, Any]]:
    """Start the agent as the SDK does, and initialize the connection."""
    editor = SdkEditor()
    client = cast("acp.Client", editor)
    watching = [editor.observe]
    with anyio.fail_after(PATIENCE):
        async with acp.spawn_agent_process(client, str(COMMAND), env=os.environ, observers=watching) as (agent, _):
            await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
            yield editor, agent


async def test_the_official_acp_sdk_completes_a_turn_with_tools(model: ScriptedModel, folder: Path) -> None:
    async with sdk_editor() as (editor, agent):
        session = (await agent.new_session(cwd=str(folder), mcp_servers=[])).session_id
        text = f"{READ} {REMOVE} [[echo Both done.]]"
        reply = await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
    assert reply.stop_reason == "end_turn"
    assert editor.said == "Both done."
    assert len(editor.asked) == 1
    assert "1|forty-two" in results(model)[0]
    assert {"tool_call", "tool_call_update", "agent_message_chunk"} <= editor.kinds()


async def test_every_acp_frame_is_what_the_official_schema_says(
    model: ScriptedModel, folder: Path, frame_schema: FrameSchema
) -> None:
    """Both ways: thoughts, words, cards with diffs, a plan, permissions, lists, replay, settings, errors, a cancel."""
    plan = '[[call todo {"todos": [{"id": "1", "content": "x", "status": "in_progress"}]}]]'
    write = '[[call write_file {"path": "new.txt", "content": "n\\n"}]]'
    edit = '[[call patch {"path": "note.txt", "old_string": "forty", "new_string": "fifty"}]]'
    fail = '[[call read_file {"path": "missing.txt"}]] [[call terminal {"command": "echo out; exit 3"}]]'
    async with sdk_editor() as (editor, agent):
        opened = await agent.new_session(cwd=str(folder), mcp_servers=[])
        session = opened.session_id
        text = f"[[think n=3]] [[echo Let me see.]] {plan} {write} [[echo Next.]] {edit} {fail} [[text n=5]]"
        await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
        await agent.prompt(session_id=session, prompt=[acp.text_block("/help")])
        with pytest.raises(acp.RequestError):
            await agent.prompt(session_id=session, prompt=[acp.text_block("[[status 401 No such key.]]")])
        async with anyio.create_task_group() as beside:

            async def stop() -> None:
                await editor.words.wait()
                await agent.cancel(session_id=session)

            beside.start_soon(stop)
            prompt = [acp.text_block("[[echo Beginning.]] [[stall]]")]
            assert (await agent.prompt(session_id=session, prompt=prompt)).stop_reason == "cancelled"
        for mode in opened.modes.available_modes:
            await agent.set_session_mode(session_id=session, mode_id=mode.id)
        for option in opened.config_options:
            await agent.set_config_option(config_id=option.id, session_id=session, value=option.current_value)
        await agent.list_sessions(cwd=str(folder))
        await agent.load_session(cwd=str(folder), session_id=session, mcp_servers=[])
        await agent.resume_session(cwd=str(folder), session_id=session, mcp_servers=[])
        await agent.close_session(session_id=session)
        with pytest.raises(acp.RequestError):
            await agent.prompt(session_id=session, prompt=[acp.text_block("hello?")])
    ours, theirs = editor.frames[StreamDirection.OUTGOING], editor.frames[StreamDirection.INCOMING]
    assert frame_schema.faults(ours, theirs) == []
    assert {"agent_thought_chunk", "plan", "usage_update", "user_message_chunk"} <= editor.kinds()
    spoilt = [{**theirs[0], "result": {**theirs[0]["result"], "protocolVersion": "one"}}]
    assert len(frame_schema.faults(ours, spoilt)) > 0, "the check would pass anything"


# -- the OpenAI wire --------------------------------------------------------------------------------

ASKED: list[Any] = [{"role": "user", "content": f"{READ} [[echo It says 42.]]"}]


async def test_the_official_openai_client_completes_turns_with_a_tool(model: ScriptedModel, folder: Path) -> None:
    """Whole and streamed, from a program with threads and from one with an event loop."""

    def with_threads(url: str) -> list[str]:
        with OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=PATIENCE) as client:
            whole = client.chat.completions.create(model="hermes-agent", messages=ASKED)
            assert whole.choices[0].finish_reason == "stop"
            streamed = ""
            with client.chat.completions.create(model="hermes-agent", messages=ASKED, stream=True) as chunks:
                for chunk in chunks:
                    streamed += "".join(choice.delta.content or "" for choice in chunk.choices)
            return [whole.choices[0].message.content or "", streamed]

    async def with_a_loop(url: str) -> list[str]:
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0, timeout=PATIENCE) as client:
            whole = await client.chat.completions.create(model="hermes-agent", messages=ASKED)
            assert whole.usage is not None
            assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens > 0
            streamed = ""
            ends: list[str] = []
            stream = await client.chat.completions.create(
                model="hermes-agent", messages=ASKED, stream=True, stream_options={"include_usage": True}
            )
            async for chunk in stream:
                streamed += "".join(choice.delta.content or "" for choice in chunk.choices)
                ends += [choice.finish_reason for choice in chunk.choices if choice.finish_reason]
            assert ends == ["stop"]
            return [whole.choices[0].message.content or "", streamed]

    async with api_process(folder) as url:
        answers = await anyio.to_thread.run_sync(with_threads, url)
        answers += await with_a_loop(url)
        async with AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY) as client:
            assert [found.id async for found in await client.models.list()] == ["hermes-agent"]
    assert answers == ["It says 42."] * 4
    assert len(model.requests) == 8
    assert "1|forty-two" in results(model)[0]
