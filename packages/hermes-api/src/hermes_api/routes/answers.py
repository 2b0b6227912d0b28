"""Whole JSON answers, and bodies that are read as structs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from starlette.types import Receive, Scope, Send

from hermes_api.limits import read_body
from hermes_api.wire.decode import decode

Body = TypeVar("Body", bound=msgspec.Struct)


async def send_json(
    send: Send,
    body: bytes | msgspec.Struct | dict[str, object],
    status: int = 200,
    headers: Sequence[tuple[bytes, bytes]] = (),
) -> None:
    """Answer with JSON, given as bytes or as what is encoded."""
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    all_headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": data})


async def read(scope: Scope, receive: Receive, kind: type[Body]) -> Body:
    """Return the request's body as a struct; an empty body is an empty object. Raises ApiError 400, 408, 413."""
    return decode(await read_body(scope, receive) or b"{}", kind)
