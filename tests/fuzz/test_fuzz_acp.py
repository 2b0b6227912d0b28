"""The editor surface's decoding of any params."""

from __future__ import annotations

from typing import Any

import msgspec
from fuzz.generated import FUZZ, as_json, damaged, fields, objects, values, words_of
from hermes_acp.decode import absolute, check_servers, decode, prompt_parts, selected_option, slash_command
from hermes_acp.errors import InvalidParams, rpc_error
from hermes_acp.methods import METHODS
from hermes_acp.wire.params import (
    CancelRequestParams,
    InitializeParams,
    LoadSessionParams,
    McpServer,
    PermissionResult,
    PromptParams,
    SessionParams,
)
from hermes_core.jsonrpc import Response, RpcError
from hypothesis import given
from hypothesis import strategies as st

SHAPES = sorted(
    {shape for shape, _ in METHODS.values()} | {InitializeParams, CancelRequestParams, SessionParams},
    key=lambda shape: shape.__name__,
)
KINDS = ["text", "image", "audio", "resource", "resource_link", "stdio", "http", "selected", "cancelled"]
VALUES = values([*words_of(SHAPES), *words_of([PermissionResult]), *KINDS, "image/png", "file:///a", "AAAA"])
BLOCKS = fields(
    type=st.sampled_from(KINDS),
    text=VALUES,
    data=VALUES,
    mimeType=VALUES,
    uri=VALUES,
    name=VALUES,
    resource=VALUES,
    blob=VALUES,
)


@st.composite
def params(draw: st.DrawFn) -> tuple[type[msgspec.Struct], msgspec.Raw]:
    """Return a shape, and params for it that are mostly of its kind."""
    shape = draw(st.sampled_from(SHAPES))
    return shape, msgspec.Raw(draw((objects(shape, VALUES) | VALUES).map(as_json)))


@FUZZ
@given(params(), st.booleans())
def test_params_are_a_struct_or_an_error_that_names_the_field(
    given_params: tuple[type[msgspec.Struct], msgspec.Raw], strict: bool
) -> None:
    shape, raw = given_params
    try:
        assert isinstance(decode(raw, shape, strict=strict), shape)
    except InvalidParams as error:
        refused(error)


@FUZZ
@given(damaged(objects(PromptParams, VALUES).map(as_json)) | st.binary(max_size=40))
def test_params_of_any_bytes_are_a_struct_or_an_error(raw: bytes) -> None:
    try:
        assert isinstance(decode(msgspec.Raw(raw), PromptParams), PromptParams)
    except InvalidParams as error:
        refused(error)


@FUZZ
@given(st.lists(BLOCKS, max_size=4))
def test_a_prompt_becomes_parts_or_an_error(blocks: list[Any]) -> None:
    try:
        prompt = decode(msgspec.Raw(as_json({"sessionId": "s", "prompt": blocks})), PromptParams)
        parts = prompt_parts(prompt.prompt)
    except InvalidParams as error:
        refused(error)
    else:
        assert all(msgspec.json.encode(part) for part in parts)
        command = slash_command(parts)
        assert command is None or command.name


@FUZZ
@given(st.lists(objects(McpServer, VALUES), max_size=3), st.text())
def test_servers_and_folders_are_good_or_an_error(servers: list[Any], cwd: str) -> None:
    raw = msgspec.Raw(as_json({"sessionId": "s", "cwd": cwd, "mcpServers": servers}))
    try:
        opened = decode(raw, LoadSessionParams)
        check_servers(opened.mcp_servers)
        assert absolute(opened.cwd, "cwd") == opened.cwd
    except InvalidParams as error:
        refused(error)


@FUZZ
@given(objects(PermissionResult, VALUES) | VALUES, st.booleans())
def test_an_answer_to_a_permission_chooses_an_option_or_nothing(result: Any, failed: bool) -> None:
    error = RpcError(-32601, "no such method") if failed else None
    option = selected_option(Response(1, msgspec.Raw(as_json(result)), error))
    assert option is None or (isinstance(option, str) and not failed)


def refused(error: InvalidParams) -> None:
    """Check that an error can be sent and says something."""
    answer = rpc_error(error)
    assert answer.code == -32602
    assert msgspec.json.encode(answer)
    assert answer.message
