"""Agent core: sessions, turns, tools, models, store."""
