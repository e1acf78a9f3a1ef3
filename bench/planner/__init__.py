"""Plans of published instances against their published optima.

python -m bench planner [--data ../shared/benchmarks] [part ...]

A part is a module of this folder with `measure(data: Path | None) -> Iterator[Row]`; it prints its own tables and
yields one row for each figure that was promised. Without --data it measures generated instances and says what to fetch.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from ..report import Row
from . import clusters, dnn_partitioning, piper

__all__ = ["measure"]

PARTS = {
    "dnn_partitioning": dnn_partitioning.measure,
    "piper": piper.measure,
    "clusters": clusters.measure,
}


def measure(arguments: list[str]) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m bench planner", description="plans against published optima")
    parser.add_argument(
        "--data", type=Path, help="folder with dnn-partitioning/, piper/, ... (default: generated instances)"
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"among {', '.join(PARTS)} (default: all)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"parts must be among {', '.join(PARTS)}, got: {' '.join(unknown)}")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data must be a folder, got: {options.data}")
    for name in options.parts or PARTS:
        yield from PARTS[name](options.data)
