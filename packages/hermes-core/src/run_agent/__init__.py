"""`from run_agent import AIAgent`: the name under which the specification embeds the agent."""

from hermes_core.agent import AIAgent

__all__ = ["AIAgent"]
