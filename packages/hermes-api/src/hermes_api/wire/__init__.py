"""The shapes that clients send and get, and pure functions from requests to what the core takes."""
