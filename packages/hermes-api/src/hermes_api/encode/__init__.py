"""Pure functions from the core's events to frames of the wire."""
