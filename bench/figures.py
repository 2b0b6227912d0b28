"""Figures: what was measured, round by round, and the table of it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import msgspec


class WrongContent(Exception):
    """What came back is not what the model said: the figures would mean nothing."""


class Figure(msgspec.Struct, frozen=True):
    """One thing that is measured. `aim` is what we want of it, empty where we only look."""

    name: str
    unit: str
    aim: str = ""


class Figures:
    """Keeps the values of each figure in the order in which the figures first came."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}
        self._figures: dict[str, Figure] = {}

    def add(self, figure: Figure, value: float) -> None:
        """Note one value."""
        self._figures.setdefault(figure.name, figure)
        self._values.setdefault(figure.name, []).append(value)

    def table(self) -> str:
        """Return the table: the median of each figure, its extremes, and the aim."""
        rows = [("figure", "unit", "median", "(min-max)", "aim")]
        for name, values in self._values.items():
            figure = self._figures[name]
            extremes = f"({shown(min(values))}-{shown(max(values))})" if len(values) > 1 else ""
            rows.append((name, figure.unit, shown(median(values)), extremes, figure.aim))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(_padded(row, widths)).rstrip() for row in rows]
        return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]]) + "\n"

    def save(self, path: Path) -> None:
        """Write every value as JSON: `{"at", "load", "cores", "figures": {name: {"unit", "aim", "values"}}}`."""
        figures = {
            name: {"unit": self._figures[name].unit, "aim": self._figures[name].aim, "values": values}
            for name, values in self._values.items()
        }
        head = {"at": time.strftime("%FT%TZ", time.gmtime()), "load": os.getloadavg(), "cores": os.cpu_count()}
        path.write_bytes(msgspec.json.format(msgspec.json.encode({**head, "figures": figures})) + b"\n")


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the cells of a row: words to the left, numbers to the right."""
    right = (False, False, True, True, False)
    return [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(row, widths, right, strict=True)
    ]


def shown(value: float) -> str:
    """Return a number with three digits that matter, or all of those before the point."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def share(values: Sequence[float], part: float) -> float:
    """Return the value below which `part` (0-1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
