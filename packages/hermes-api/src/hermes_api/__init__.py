"""The OpenAI-compatible HTTP surface of Hermes: chat completions and runs over HTTP and server-sent events."""

__version__ = "2026.12.0"
