"""A listening socket, or a sentence why there is none."""

from __future__ import annotations

import os
import socket

from hermes_core.errors import ConfigError
from hermes_core.serving.connections import BACKLOG


def listener(host: str, port: int, *, name: str) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raises ConfigError, which calls the server `name`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ConfigError(f"{name} cannot listen on {host}:{port}: {reason}.") from error
