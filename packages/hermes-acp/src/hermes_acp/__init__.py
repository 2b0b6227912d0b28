"""Agent Client Protocol server: Hermes in editors that speak ACP, over standard input and output."""

__version__ = "2026.12.0"
