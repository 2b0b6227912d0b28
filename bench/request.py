"""How much a model has to read before it sees the first word of a person."""

from __future__ import annotations

import anyio
import msgspec
from hermes_core import Runtime, Submit, TextPart, load_config
from hermes_core.events import MessageComplete
from hermes_core.testing import ScriptedModel

from bench.children import scratch
from bench.figures import Figure, Figures, WrongContent


async def measure_request(figures: Figures) -> None:
    """Say hello in a session with every tool, and weigh the body of the request."""
    async with ScriptedModel() as model, scratch(model.base_url) as folder:
        async with Runtime(load_config(folder / "home")) as runtime:
            session = await runtime.create(source="bench", cwd=str(folder))
            with session.subscribe() as events, anyio.fail_after(60):
                await session.dispatch(Submit(parts=(TextPart("hello"),)))
                async for event in events:
                    if isinstance(event, MessageComplete):
                        break
            tools = len(runtime.tools)
        request = model.requests[0]
        if len(request["tools"]) != tools or request["messages"][-1]["content"] != "hello":
            raise WrongContent("the first request does not offer every tool, or does not say hello")
        size = len(msgspec.json.encode(request).decode())
        figures.add(Figure(f"first request, {tools} tools", "characters", "<= 10,000"), size)
