"""Sub-agents: child sessions that work on a part of their parent's task."""
