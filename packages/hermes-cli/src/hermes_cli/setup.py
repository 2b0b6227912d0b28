"""`hermes setup`: choose a provider, give its key, choose a model."""
