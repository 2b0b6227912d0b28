"""Parameters and prompts: what is optional may be missing, and what is wrong is named by its path."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hermes_acp.decode import absolute, check_servers, decode, prompt_parts, selected_option, slash_command
from hermes_acp.errors import InvalidParams
from hermes_acp.wire.content import Block
from hermes_acp.wire.params import (
    InitializeParams,
    LoadSessionParams,
    NewSessionParams,
    PromptParams,
    SessionParams,
    SetConfigOptionParams,
)
from hermes_core.content import ImagePart, TextPart
from hermes_core.jsonrpc import Response, RpcError


def raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def blocks(*values: Any) -> list[Block]:
    return decode(raw({"sessionId": "s", "prompt": list(values)}), PromptParams).prompt


WRONG: list[tuple[type[msgspec.Struct], Any, str]] = [
    (SessionParams, {}, "sessionId"),
    (SessionParams, None, "sessionId"),
    (SessionParams, {"sessionId": 5}, "sessionId"),
    (SessionParams, [], "params"),
    (SessionParams, 7, "params"),
    (NewSessionParams, {"mcpServers": []}, "cwd"),
    (NewSessionParams, {"cwd": "/", "mcpServers": {}}, "mcpServers"),
    (NewSessionParams, {"cwd": "/", "mcpServers": [{"command": "x"}]}, "mcpServers[0].name"),
    (NewSessionParams, {"cwd": "/", "mcpServers": [{"name": "x", "headers": {}}]}, "mcpServers[0].headers"),
    (
        NewSessionParams,
        {"cwd": "/", "mcpServers": [{"name": "x", "env": [{"name": "A"}]}]},
        "mcpServers[0].env[0].value",
    ),
    (PromptParams, {"sessionId": "s"}, "prompt"),
    (PromptParams, {"sessionId": "s", "prompt": [{"type": "text"}]}, "prompt[0].text"),
    (PromptParams, {"sessionId": "s", "prompt": [{"type": "video"}]}, "prompt[0].type"),
    (PromptParams, {"sessionId": "s", "prompt": [{"text": "x"}]}, "prompt[0].type"),
    (PromptParams, {"sessionId": "s", "prompt": "x"}, "prompt"),
    (SetConfigOptionParams, {"sessionId": "s", "configId": "mode", "value": True}, "value"),
    (InitializeParams, {"clientInfo": {}}, "protocolVersion"),
]


@pytest.mark.parametrize(("shape", "params", "path"), WRONG)
def test_a_wrong_parameter_is_named_by_its_path(shape: type[msgspec.Struct], params: Any, path: str) -> None:
    """HA-082."""
    with pytest.raises(InvalidParams) as caught:
        decode(raw(params), shape)
    assert caught.value.path == path
    assert path in str(caught.value)


OPTIONAL: list[Any] = [
    {"cwd": "/"},
    {"cwd": "/", "mcpServers": None},
    {"cwd": "/", "mcpServers": [{"name": "x", "command": "/bin/x"}], "future": {"a": 1}, "_meta": None},
    {"cwd": "/", "mcpServers": [{"name": "x", "command": "/bin/x", "args": None, "env": None}]},
    {"cwd": "/", "mcpServers": [{"type": "http", "name": "x", "url": "http://127.0.0.1/", "headers": []}]},
]


@pytest.mark.parametrize("params", OPTIONAL)
def test_what_the_protocol_calls_optional_may_be_missing_or_null(params: Any) -> None:
    """HA-082."""
    decoded = decode(raw(params), NewSessionParams)
    check_servers(decoded.mcp_servers)
    assert decoded.cwd == "/"


@pytest.mark.parametrize(
    ("server", "path"),
    [
        ({"name": "x"}, "mcpServers[0].command"),
        ({"name": "x", "type": "http"}, "mcpServers[0].url"),
        ({"name": "x", "type": "carrier pigeon"}, "mcpServers[0].type"),
    ],
)
def test_a_server_that_can_never_be_started_is_named(server: Any, path: str) -> None:
    """HA-082."""
    params = decode(raw({"sessionId": "s", "cwd": "/", "mcpServers": [server]}), LoadSessionParams)
    with pytest.raises(InvalidParams) as caught:
        check_servers(params.mcp_servers)
    assert caught.value.path == path


def test_the_version_may_come_as_text_and_capabilities_as_anything() -> None:
    params = decode(raw({"protocolVersion": "1", "clientCapabilities": 5}), InitializeParams, strict=False)
    assert (params.protocol_version, params.notices) == (1, False)
    capable: dict[str, Any] = {"session": {"notices": {}}}
    params = decode(raw({"protocolVersion": 2, "clientCapabilities": capable}), InitializeParams, strict=False)
    assert params.notices
    with pytest.raises(InvalidParams):
        decode(raw({"protocolVersion": "new"}), InitializeParams, strict=False)


@pytest.mark.parametrize("cwd", ["", ".", "a/b", "~"])
def test_a_folder_must_be_absolute(cwd: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        absolute(cwd, "cwd")
    assert caught.value.path == "cwd"
    assert absolute("/w", "cwd") == "/w"


def test_every_kind_of_content_becomes_what_the_model_reads() -> None:
    parts = prompt_parts(
        blocks(
            {"type": "text", "text": "Look at"},
            {"type": "text", "text": ""},
            {"type": "image", "data": "AA\nAA", "mimeType": "image/png", "uri": None},
            {"type": "resource_link", "uri": "file:///w/a%20b.py", "name": "a b.py"},
            {"type": "resource_link", "uri": "https://example.org/x", "name": "x"},
            {"type": "resource", "resource": {"uri": "file:///w/c.py", "text": "c = 1"}},
            {"type": "resource", "resource": {"uri": "file:///w/d.png", "blob": "AAAA", "mimeType": "image/png"}},
            {"type": "resource", "resource": {"uri": "file:///w/e.bin", "blob": "AAAA"}},
        )
    )
    assert parts == (
        TextPart("Look at"),
        ImagePart("data:image/png;base64,AAAA"),
        TextPart("[a b.py](/w/a b.py)"),
        TextPart("[x](https://example.org/x)"),
        TextPart('<file path="/w/c.py">\nc = 1\n</file>'),
        ImagePart("data:image/png;base64,AAAA"),
        TextPart("[/w/e.bin: a file of 3 bytes that is not text]"),
    )


@pytest.mark.parametrize(
    ("block", "path"),
    [
        ({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}, "prompt[0]"),
        ({"type": "image", "data": "AAAA", "mimeType": "text/plain"}, "prompt[0].mimeType"),
        ({"type": "image", "data": "not base64!", "mimeType": "image/png"}, "prompt[0].data"),
        ({"type": "resource", "resource": {"uri": "file:///w/a"}}, "prompt[0].resource"),
    ],
)
def test_content_that_cannot_be_read_is_refused_by_its_path(block: Any, path: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        prompt_parts(blocks(block))
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("words", "name", "argument"),
    [
        ("/help", "help", ""),
        ("  /model  a:b ", "model", "a:b"),
        ("/model\na:b", "model", "a:b"),
        ("/x y z", "x", "y z"),
    ],
)
def test_a_prompt_that_begins_with_a_slash_and_a_word_is_a_command(words: str, name: str, argument: str) -> None:
    command = slash_command((TextPart(words),))
    assert command is not None
    assert (command.name, command.argument) == (name, argument)


@pytest.mark.parametrize("words", ["/etc/hosts has a typo", "/", "/ help", "/Help", "hello", "a /help", "//help"])
def test_a_prompt_that_begins_with_a_path_is_a_message(words: str) -> None:
    assert slash_command((TextPart(words),)) is None


def test_a_command_with_an_image_is_a_message() -> None:
    assert slash_command((TextPart("/help"), ImagePart("data:image/png;base64,AAAA"))) is None


@pytest.mark.parametrize(
    ("result", "option"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "deny"}}, "deny"),
        ({"outcome": {"outcome": "selected"}}, None),
        ({"outcome": {"outcome": "cancelled"}}, None),
        ({"outcome": {"outcome": "cancelled", "optionId": "allow_once"}}, None),
        ({"outcome": "selected"}, None),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)
def test_only_a_selection_is_a_choice(result: Any, option: str | None) -> None:
    """HA-079."""
    assert selected_option(Response(1, raw(result))) == option


def test_an_error_is_no_choice() -> None:
    """HA-079."""
    assert selected_option(Response(1, msgspec.Raw(), RpcError(-32601, "no such method"))) is None
