"""The command: run every measurement, print the table."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import anyio
import msgspec

from bench.children import model_process
from bench.delivery import measure_delivery
from bench.figures import Figures, WrongContent
from bench.load import measure_load
from bench.request import measure_request
from bench.startup import measure_import, measure_startup


class Size(msgspec.Struct, frozen=True):
    """How much is measured."""

    starts: int
    rounds: int
    requests: int
    paced: int
    deltas: int = 20_000


SHORT = Size(starts=5, rounds=3, requests=256, paced=25)
FULL = Size(starts=15, rounds=7, requests=2_000, paced=100)


async def run(figures: Figures, size: Size) -> None:
    """Measure everything. Raises WrongContent."""
    measure_import(figures, size.starts)
    await measure_startup(figures, size.starts)
    await measure_request(figures)
    async with model_process() as base_url:
        await measure_delivery(figures, base_url, size.rounds, size.deltas)
        await measure_load(figures, base_url, size.rounds, size.requests, size.paced)


def main() -> int:
    """Run the command; return 0, or 1 when what came back was wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure the surfaces of Hermes.")
    parser.add_argument("--full", action="store_true", help="more rounds, for calmer figures")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every value to this file")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING)
    figures = Figures()
    faults: list[str] = []
    try:
        anyio.run(run, figures, FULL if options.full else SHORT)
    except* WrongContent as wrong:
        faults = [f"bench: wrong content: {error}\n" for error in leaves(wrong)]
    sys.stdout.write(figures.table())
    sys.stderr.writelines(faults)
    if options.json:
        figures.save(options.json)
    return 1 if faults else 0


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors inside groups of errors."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaves(inner)
    else:
        yield error


if __name__ == "__main__":
    sys.exit(main())
