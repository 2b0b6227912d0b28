"""Runs: turns that go on without a client, with a status and a journal of events that outlive it."""
