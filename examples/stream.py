"""Watch a turn as it happens: print the answer, allow what the agent asks for once, and steer it meanwhile.

python examples/stream.py "Remove the folder ./old, then tell me what is left."
"""

import asyncio
import sys

from hermes_core import AIAgent, AnswerQuestion, Steer
from hermes_core.events import ApprovalRequest, MessageComplete, MessageDelta, SteerDelivered, ToolComplete
from hermes_core.questions import ApprovalAnswer


async def main(message: str) -> None:
    async with AIAgent(answerable=True) as agent:
        async for event in agent.stream(message):
            match event:
                case MessageDelta():
                    print(event.text, end="", flush=True)
                case ApprovalRequest():
                    print(f"\n[allowed once: {event.question.command}]")
                    await agent.session.dispatch(Steer("Name the files that are left."))
                    await agent.session.dispatch(AnswerQuestion(event.question.id, ApprovalAnswer("once")))
                case ToolComplete():
                    print(f"[{event.name}: {event.outcome}]")
                case SteerDelivered():
                    print(f"[the model reads: {event.text}]")
                case MessageComplete():
                    print(f"\n[{event.status}, {event.usage.total} tokens]")
                case _:
                    pass


asyncio.run(main(" ".join(sys.argv[1:]) or "Remove the folder ./old, then tell me what is left."))
