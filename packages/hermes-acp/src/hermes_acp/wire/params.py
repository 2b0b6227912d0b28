"""What clients send: the parameters of each method, and the answer to a permission request."""

from __future__ import annotations

from typing import Any

import msgspec

from hermes_acp.wire.content import Block
from hermes_acp.wire.shape import In


class InitializeParams(In):
    """`client_capabilities` is read leniently: what is not of its kind counts as left out."""

    protocol_version: int
    client_capabilities: Any = None

    @property
    def notices(self) -> bool:
        """Whether the client shows notices."""
        match self.client_capabilities:
            case {"session": {"notices": {}}}:
                return True
            case _:
                return False


class AuthenticateParams(In):
    """Parameters of `authenticate`."""

    method_id: str


class EnvVariable(In):
    """A name and a value: of an environment, or a header."""

    name: str
    value: str


class McpServer(In):
    """A server that the client wants used. Read so that a wrong one is named; none is started yet."""

    name: str
    type: str | None = None
    command: str | None = None
    args: list[str] | None = None
    env: list[EnvVariable] | None = None
    url: str | None = None
    headers: list[EnvVariable] | None = None


class NewSessionParams(In):
    """Parameters of `session/new`. `cwd` is absolute."""

    cwd: str
    mcp_servers: list[McpServer] | None = None


class LoadSessionParams(In):
    """Also the parameters of `session/resume`."""

    session_id: str
    cwd: str
    mcp_servers: list[McpServer] | None = None


class ListSessionsParams(In):
    """Parameters of `session/list`: a folder to look in, and where the page before ended."""

    cwd: str | None = None
    cursor: str | None = None


class SessionParams(In):
    """What names a session and nothing more: close, delete, cancel."""

    session_id: str


class PromptParams(In):
    """Parameters of `session/prompt`."""

    session_id: str
    prompt: list[Block]


class SetModeParams(In):
    """Parameters of `session/set_mode`."""

    session_id: str
    mode_id: str


class SetModelParams(In):
    """Parameters of `session/set_model`."""

    session_id: str
    model_id: str


class SetConfigOptionParams(In):
    """Parameters of `session/set_config_option`; all our options are selections, so the value is text."""

    session_id: str
    config_id: str
    value: str


class CancelRequestParams(In):
    """Parameters of `$/cancel_request`: the JSON text of the id."""

    request_id: msgspec.Raw


class PermissionOutcome(In):
    """`selected` with an option, or `cancelled`."""

    outcome: str
    option_id: str | None = None


class PermissionResult(In):
    """The client's answer to `session/request_permission`."""

    outcome: PermissionOutcome
