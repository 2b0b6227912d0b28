"""The `hermes` command: chat in a terminal, and a door to every installed surface."""
