"""The two bases of every shape, and the protocol's own numbers."""

from __future__ import annotations

import msgspec

PROTOCOL_VERSION = 1

# Codes that the protocol adds to those of JSON-RPC.
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800


class In(msgspec.Struct, rename="camel", kw_only=True):
    """What a client sends: fields that are not known are ignored."""


class Out(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """What we send: a field that has its default is left out."""
