"""Sub-agents and background prompts as payloads: one flat shape for all six events of a sub-agent."""

from __future__ import annotations

from typing import assert_never

import msgspec
from hermes_core.events import (
    AgentComplete,
    AgentProgress,
    AgentRequested,
    AgentStarted,
    AgentThinking,
    AgentTool,
    BackgroundComplete,
)
from hermes_core.subagents.info import AgentInfo

from hermes_tui_gateway.wire import agents as wire
from hermes_tui_gateway.wire.shapes import UNSET

AgentEvent = AgentRequested | AgentStarted | AgentThinking | AgentTool | AgentProgress | AgentComplete


def told(event: AgentEvent) -> tuple[str, wire.Agent]:
    """Return the name and the payload of a sub-agent's event."""
    payload = agent_payload(event.agent)
    match event:
        case AgentRequested():
            return "subagent.spawn_requested", payload
        case AgentStarted():
            return "subagent.start", payload
        case AgentThinking():
            return "subagent.thinking", msgspec.structs.replace(payload, text=event.text)
        case AgentTool():
            named = msgspec.structs.replace(payload, tool_name=event.tool, tool_preview=event.preview or UNSET)
            return "subagent.tool", named
        case AgentProgress():
            return "subagent.progress", msgspec.structs.replace(payload, text=event.text)
        case AgentComplete():
            return "subagent.complete", _ended(payload, event.agent)
        case _:
            assert_never(event)


def background(event: BackgroundComplete) -> wire.Background:
    """Return the answer of a background prompt; a failure is told by how its text begins."""
    failed = event.status != "complete" and not event.text.startswith("error:")
    return wire.Background(task_id=event.task_id, text=f"error: {event.text}" if failed else event.text)


def agent_payload(agent: AgentInfo) -> wire.Agent:
    """Return what every event of a sub-agent tells of it."""
    return wire.Agent(
        goal=agent.goal,
        task_count=agent.task_count,
        task_index=agent.task_index,
        subagent_id=agent.id,
        parent_id=agent.parent_id,
        depth=agent.depth,
        status=agent.status,
        child_session_id=agent.session_id or UNSET,
        model=agent.model or UNSET,
        tool_count=agent.tool_count,
        toolsets=list(agent.toolsets) or UNSET,
    )


def _ended(payload: wire.Agent, agent: AgentInfo) -> wire.Agent:
    return msgspec.structs.replace(
        payload,
        summary=agent.summary,
        duration_seconds=agent.duration,
        input_tokens=agent.usage.input,
        output_tokens=agent.usage.output,
        reasoning_tokens=agent.usage.reasoning,
        api_calls=agent.usage.calls,
        files_read=list(agent.files_read),
        files_written=list(agent.files_written),
        output_tail=[
            wire.ToolNote(tool=note.tool, preview=note.preview, is_error=note.is_error) for note in agent.output_tail
        ],
        missed_steer=agent.missed_steer or UNSET,
    )
