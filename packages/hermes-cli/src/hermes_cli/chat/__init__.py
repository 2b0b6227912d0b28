"""The interactive chat: a composer at the foot of the terminal, and everything that was said above it."""
