"""The toolbox of a session: which tools it offers to the model, looked up anew for each turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_core.tools.tool import Tool

Tools = Mapping[str, Tool[Any]]


class Toolbox:
    """The tools of one session: those of the process, limited to `names` where some were named, and its own.

    `common` gives the tools that the process has at this moment, so that a reload takes effect with the next turn
    of every session and changes no running one.
    """

    def __init__(self, common: Callable[[], Tools], names: Sequence[str] | None = None) -> None:
        self._common = common
        self._names = None if names is None else tuple(names)

    def offered(self) -> dict[str, Tool[Any]]:
        """Return the tools for one turn by name, in their order."""
        common = self._common()
        if self._names is None:
            return dict(common)
        return {name: common[name] for name in self._names if name in common}
