"""What we can do, as `initialize` says it. Nothing here needs a setting, a file or the network, so it is quick."""

from __future__ import annotations

from hermes_acp import __version__
from hermes_acp.wire.results import (
    AgentCapabilities,
    AuthMethod,
    Empty,
    Implementation,
    InitializeResult,
    PromptCapabilities,
    SessionCapabilities,
)
from hermes_acp.wire.shape import PROTOCOL_VERSION

SETTINGS = AuthMethod(
    id="hermes-settings",
    name="Hermes settings",
    description="Use the provider and the model that Hermes is set up with.",
)
SETUP = AuthMethod(
    id="hermes-setup",
    name="Set up Hermes",
    description="Choose a provider and a model in a terminal.",
    type="terminal",
    args=("--setup",),
)
AUTH_METHODS = (SETTINGS, SETUP)

CAPABILITIES = AgentCapabilities(
    load_session=True,
    prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
    session_capabilities=SessionCapabilities(list=Empty(), resume=Empty(), close=Empty(), delete=Empty()),
)

INITIALIZED = InitializeResult(
    protocol_version=PROTOCOL_VERSION,
    agent_capabilities=CAPABILITIES,
    auth_methods=AUTH_METHODS,
    agent_info=Implementation(name="hermes", title="Hermes", version=__version__),
)
"""The answer to `initialize`, whatever version was asked for: version 1 is the only one that we speak."""
