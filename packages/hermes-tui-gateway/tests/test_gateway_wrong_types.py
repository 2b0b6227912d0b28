"""HA-089: a value of the wrong type gets one error, whichever method it is sent to, and disturbs nothing."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import pytest
from hermes_tui_gateway.registry import METHODS
from hermes_tui_gateway.testing import LocalHost, Refused

pytestmark = pytest.mark.anyio

WRONG: dict[str, bytes] = {
    "text": b'"abc"',
    "list": b'[1,"a"]',
    "null": b"null",
    "object": b'{"a":1}',
    "huge": b"1e400",
    "big": b"9" * 400,
    "fraction": b"80.5",
    "flag": b"true",
}
NOT_JSON = (b"NaN", b"-Infinity", b"'a'", b"")


def fields(name: str) -> list[str]:
    return list(METHODS[name].params.__struct_fields__)


@pytest.mark.parametrize("name", METHODS)
async def test_every_param_of_every_type_gets_one_answer(name: str, host: LocalHost) -> None:
    """HA-089."""
    created = await host.call("session.create")
    before = await host.call("session.status", session_id=created["session_id"])
    for field in fields(name):
        for kind, value in WRONG.items():
            identity = f"{field}-{kind}"
            line = b'{"id":"%s","method":"%s","params":{"%s":%s}}' % (
                identity.encode(),
                name.encode(),
                field.encode(),
                value,
            )
            await host.write(line)
    for field in fields(name):
        for kind in WRONG:
            with contextlib.suppress(Refused):
                await host.reply(f"{field}-{kind}")
    after = await host.call("session.status", session_id=created["session_id"])
    assert after == before
    for field in fields(name):
        for kind in WRONG:
            found = [frame for frame in host.frames if frame.get("id") == f"{field}-{kind}"]
            assert len(found) == 1, (field, kind)


@pytest.mark.parametrize("name", [name for name in METHODS if fields(name)])
async def test_what_no_type_of_the_field_allows_is_an_invalid_param(name: str, host: LocalHost) -> None:
    """HA-089."""
    for field in msgspec.structs.fields(METHODS[name].params):
        if field.type is Any:
            continue  # the rewind fields are judged by the method itself
        await host.write(
            b'{"id":"%s","method":"%s","params":{"%s":{"a":1}}}'
            % (field.name.encode(), name.encode(), field.encode_name.encode())
        )
    for field in msgspec.structs.fields(METHODS[name].params):
        if field.type is Any:
            continue
        with pytest.raises(Refused) as refused:
            await host.reply(field.name)
        assert refused.value.code == -32602
        assert field.name in refused.value.message


@pytest.mark.parametrize("value", NOT_JSON)
async def test_what_is_no_json_is_a_parse_error_and_the_next_line_is_served(value: bytes, host: LocalHost) -> None:
    """HA-089."""
    await host.write(b'{"id":1,"method":"terminal.resize","params":{"cols":%s}}' % value)
    assert "sessions" in await host.call("session.active_list")
    assert host.frames[0]["error"]["code"] == -32700
