"""The methods, by topic: each takes the call and its params, and returns its result or raises."""
