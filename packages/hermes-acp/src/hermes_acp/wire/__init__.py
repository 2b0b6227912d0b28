"""The shapes of the Agent Client Protocol, version 1, as far as this agent reads or writes them.

Field names are the protocol's, in snake case here and in camel case on the wire. What the protocol lets a client
leave out, or set to null, has a default here.
"""
