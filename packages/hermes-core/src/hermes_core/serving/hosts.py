"""By which names a server may be called: the check of the Host header against DNS rebinding."""

from __future__ import annotations

import ipaddress


class HostList:
    """The names by which this server may be called.

    Always the loopback names and the address it listens on; any address (but no name) when it listens on all
    of them, since rebinding needs a name; and the `extra` names that the configuration lists.
    """

    def __init__(self, listening: str, extra: tuple[str, ...] = ()) -> None:
        self._names = {"localhost", listening.lower().strip("[]"), *(name.lower() for name in extra)}
        self._any_address = _address(listening) is not None and bool(_address(listening).is_unspecified)  # pyright: ignore[reportOptionalMemberAccess]

    def allows(self, host: bytes) -> bool:
        """Say whether the value of a Host header names this server; the port does not matter."""
        name = _host_name(host)
        if name in self._names:
            return True
        address = _address(name)
        return address is not None and (address.is_loopback or self._any_address)


def _host_name(host: bytes) -> str:
    text = host.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.rpartition(":")[0] if ":" in text else text


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
