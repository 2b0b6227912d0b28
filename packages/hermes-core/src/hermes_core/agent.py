"""`AIAgent`: the agent inside a Python program, without a server.

Synchronous programs call `chat` or `run_conversation`; the agent then keeps one event loop in a thread of its own,
which ends with `close`. Asynchronous programs write `async with AIAgent(...) as agent` and iterate over
`agent.stream(...)`; everything else a session can do is behind `agent.session`.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Any, Self

import anyio
import msgspec

from hermes_core import ids
from hermes_core.agent_callbacks import Callbacks
from hermes_core.agent_history import from_openai, to_openai
from hermes_core.commands import EditMode, Interrupt, Steer, Submit
from hermes_core.config.config import load_config
from hermes_core.config.settings import Config
from hermes_core.content import TextPart
from hermes_core.errors import HermesError, InvalidInput, TurnFailed
from hermes_core.events import Event, MessageComplete, QueueChanged, StepDone
from hermes_core.messages import Message
from hermes_core.models.provider import ApiMode
from hermes_core.runtime import Runtime
from hermes_core.session.session import Session
from hermes_core.store.protocol import Store

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal


class AIAgent:
    """One conversation with the agent.

    `model` (also `provider:name`), `provider`, `base_url`, `api_key`, `api_mode` choose what answers; without them
    the configuration does. `max_iterations` bounds the model calls of a turn. `enabled_toolsets` and
    `disabled_toolsets` choose the tools by toolset name. `session_id` goes on with a stored session, or names a new
    one. `ephemeral_system_prompt` is added to the system prompt and never stored. `reasoning_config` is
    `{"effort": "low" | "medium" | "high" | ...}`. `quiet_mode`, `skip_context_files` and `skip_memory` are accepted:
    the embedded agent prints nothing, and reads neither context files nor memory. `config`, `store` and `cwd` replace
    the defaults; `answerable` says that the program answers approvals through `session`, else they are denied at once.

    Callbacks are called in the agent's event loop, `clarify_callback` in a worker thread.
    """

    def __init__(
        self,
        model: str = "",
        *,
        provider: str = "",
        base_url: str = "",
        api_key: str = "",
        api_mode: ApiMode | None = None,
        max_iterations: int = 0,
        enabled_toolsets: Sequence[str] | None = None,
        disabled_toolsets: Sequence[str] = (),
        ephemeral_system_prompt: str = "",
        session_id: str = "",
        max_tokens: int = 0,
        reasoning_config: dict[str, Any] | None = None,
        fallback_model: str = "",
        skip_context_files: bool = True,
        skip_memory: bool = True,
        parent_session_id: str = "",
        quiet_mode: bool = True,
        cwd: str = "",
        edits: EditMode = "allow",
        answerable: bool = False,
        config: Config | None = None,
        store: Store | None = None,
        stream_delta_callback: Callable[[str], Any] | None = None,
        tool_start_callback: Callable[[str, str, dict[str, Any]], Any] | None = None,
        tool_complete_callback: Callable[[str, str, dict[str, Any], str], Any] | None = None,
        tool_progress_callback: Callable[[str, str], Any] | None = None,
        reasoning_callback: Callable[[str], Any] | None = None,
        clarify_callback: Callable[[str, list[str]], str] | None = None,
        step_callback: Callable[[int], Any] | None = None,
        status_callback: Callable[[str, str], Any] | None = None,
    ) -> None:
        if fallback_model:
            raise InvalidInput("fallback_model is not supported yet.", "fallback_model")
        self._config = _configured(
            config or load_config(), model, provider, base_url, api_key, api_mode, max_iterations
        )
        self._store = store
        self._session_id = session_id
        self._parent_id = parent_session_id
        self._toolsets = (enabled_toolsets, tuple(disabled_toolsets))
        self._system = ephemeral_system_prompt
        self._max_tokens = max_tokens
        self._effort = str((reasoning_config or {}).get("effort", ""))
        self._cwd = cwd
        self._edits: EditMode = edits
        self._answerable = answerable or clarify_callback is not None
        self._callbacks = Callbacks(
            delta=stream_delta_callback,
            tool_start=tool_start_callback,
            tool_complete=tool_complete_callback,
            tool_progress=tool_progress_callback,
            reasoning=reasoning_callback,
            clarify=clarify_callback,
            step=step_callback,
            status=status_callback,
            approve=answerable,
        )
        self._runtime: Runtime | None = None
        self._session: Session | None = None
        self._async_stack = AsyncExitStack()
        self._sync_stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._lock = threading.Lock()

    # -- asynchronous programs

    async def __aenter__(self) -> Self:
        self._runtime = await self._async_stack.enter_async_context(Runtime(self._config, self._store))
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        self._session = self._runtime = None
        await self._async_stack.__aexit__(*exc_info)

    @property
    def session(self) -> Session:
        """The live session, once the first message was sent (or `start` was awaited)."""
        if self._session is None:
            raise InvalidInput("The conversation has not begun: await agent.start(), or send a message first.")
        return self._session

    async def start(self, history: Sequence[Message] = ()) -> Session:
        """Open the session, and return it: to subscribe, or to send commands of your own."""
        runtime = self._runtime
        if runtime is None:
            raise InvalidInput("Write `async with AIAgent(...) as agent:` around asynchronous use.")
        if self._session is None:
            tools = self._tool_names(runtime)
            if self._session_id and await runtime.store.session(self._session_id) is not None:
                self._session = await runtime.resume(
                    self._session_id, cwd=self._cwd, edits=self._edits, answerable=self._answerable, tools=tools
                )
            else:
                self._session = await runtime.create(
                    source="embed",
                    cwd=self._cwd,
                    edits=self._edits,
                    answerable=self._answerable,
                    stored_id=self._session_id,
                    parent_id=self._parent_id,
                    seed=history,
                    tools=tools,
                )
        return self._session

    async def stream(self, message: str, *, system: str = "") -> AsyncIterator[Event]:
        """Send a message and yield the events of its turn, the last one `MessageComplete`.

        Leaving the loop early interrupts the turn. Raises InvalidInput, NoModelError, StoreError.
        """
        session = await self.start()
        turn_id = ids.turn_id()  # known beforehand: leaving while the message is being stored ends the turn too
        ended = False
        with session.subscribe() as events:
            try:
                await session.dispatch(self._submit(message, system, turn_id))
                async for event in events:
                    if isinstance(event, QueueChanged) and turn_id in event.dropped:
                        event = _never_begun(event, turn_id)
                    if event.turn_id in {"", turn_id}:
                        await self._callbacks.call(event, session)
                    if event.turn_id == turn_id:
                        ended = isinstance(event, MessageComplete)
                        yield event
                        if ended:
                            return
            finally:
                if not ended and not session.closed:
                    with anyio.CancelScope(shield=True):
                        await session.dispatch(Interrupt(turn_id))

    # -- synchronous programs

    def chat(self, message: str) -> str:
        """Send a message and return the answer's text. Raises TurnFailed when there is none."""
        result = self.run_conversation(message)
        if result["failed"]:
            raise TurnFailed(result["error"], result["code"], result["final_response"])
        return result["final_response"]

    def run_conversation(
        self,
        user_message: str,
        system_message: str | None = None,
        conversation_history: Sequence[dict[str, Any]] | None = None,
        task_id: str | None = None,
    ) -> dict[str, Any]:
        """Send a message and return how the turn ended.

        `system_message` is added to the system prompt for this turn. `conversation_history` (OpenAI chat messages) is
        what the conversation begins with; it is taken only before the first turn. `task_id` is accepted and comes
        back in the result. Keys of the result: `final_response`, `messages` (OpenAI chat messages), `api_calls`,
        `completed`, `failed`, `interrupted`, `partial`, `error`, `code`, `usage`, `session_id`, `task_id`.
        """
        result = self._loop().call(self._converse, user_message, system_message or "", conversation_history)
        return {**result, "task_id": task_id or ""}

    def interrupt(self) -> None:
        """Stop the running turn, from any thread. Does nothing when none runs."""
        if self._session is not None:
            self._loop().call(self._session.dispatch, Interrupt())

    def steer(self, text: str) -> bool:
        """Give the running turn a text to read after its next tools, from any thread; False when none runs."""
        if self._session is None:
            return False
        return self._loop().call(self._session.dispatch, Steer(text)).status == "queued"

    def close(self) -> None:
        """End the conversation and the agent's thread. Calling it twice is harmless."""
        self._sync_stack.close()
        self._portal = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.close()

    # -- how it is done

    def _loop(self) -> BlockingPortal:
        with self._lock:
            if self._portal is None:
                from anyio.from_thread import start_blocking_portal

                with ExitStack() as opening:  # what does not open leaves no thread behind
                    portal = opening.enter_context(start_blocking_portal("asyncio"))
                    opening.enter_context(portal.wrap_async_context_manager(self))
                    self._sync_stack = opening.pop_all()
                self._portal = portal
            return self._portal

    async def _converse(self, message: str, system: str, history: Sequence[dict[str, Any]] | None) -> dict[str, Any]:
        session = await self.start(from_openai(history or ()))
        end, calls = MessageComplete(status="error", error="The turn did not end.", code="internal"), 0
        try:
            async for event in self.stream(message, system=system):
                calls += isinstance(event, StepDone)
                if isinstance(event, MessageComplete):
                    end = event
        except HermesError as error:
            end = MessageComplete(status="error", error=error.message, code=error.code)
        return {
            "final_response": end.text,
            "messages": to_openai(session.transcript.messages),
            "api_calls": calls,
            "completed": end.status == "complete",
            "failed": end.status == "error",
            "interrupted": end.status == "interrupted",
            "partial": end.partial,
            "error": end.error,
            "code": end.code,
            "usage": msgspec.to_builtins(end.usage),
            "session_id": session.stored_id,
        }

    def _submit(self, message: str, system: str, turn_id: str) -> Submit:
        return Submit(
            parts=(TextPart(message),) if message else (),
            busy="queue",
            system="\n\n".join(text for text in (self._system, system) if text),
            max_tokens=self._max_tokens,
            reasoning_effort=self._effort,
            turn_id=turn_id,
        )

    def _tool_names(self, runtime: Runtime) -> list[str] | None:
        enabled, disabled = self._toolsets
        known = {tool.toolset for tool in runtime.tools.values()}
        unknown = [name for name in (*(enabled or ()), *disabled) if name not in known]
        if unknown:
            raise InvalidInput(
                f"There is no toolset {unknown[0]!r}; there are: {', '.join(sorted(known))}.", "toolsets"
            )
        return [
            tool.name
            for tool in runtime.tools.values()
            if (enabled is None or tool.toolset in enabled) and tool.toolset not in disabled
        ]


def _never_begun(dropped: QueueChanged, turn_id: str) -> MessageComplete:
    """Return the end of a turn that an interrupt took out of the queue: no event of its own tells."""
    return MessageComplete(
        status="interrupted",
        code="interrupted",
        finish="interrupted",
        turn_id=turn_id,
        session_id=dropped.session_id,
        seq=dropped.seq,
        time=dropped.time,
    )


def _configured(
    config: Config,
    model: str,
    provider: str,
    base_url: str,
    api_key: str,
    api_mode: ApiMode | None,
    max_iterations: int,
) -> Config:
    """Return the configuration with the arguments laid over it: an explicit argument wins."""
    given: dict[str, Any] = {
        "default": model,
        "provider": provider or ("custom" if base_url else ""),
        "base_url": base_url,
        "api_key": api_key,
        "api_mode": api_mode,
    }
    settings = msgspec.structs.replace(config.model, **{name: value for name, value in given.items() if value})
    agent = msgspec.structs.replace(config.agent, max_turns=max_iterations) if max_iterations else config.agent
    return msgspec.structs.replace(config, model=settings, agent=agent)
