"""The endpoints, one file a resource. Each is an ASGI app that raises ApiError or HermesError for what it refuses."""
