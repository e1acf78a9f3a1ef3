"""Predicted step times and memory against measured ones on this machine.

python -m bench predictor [--models NAME ...] [--rounds N] [--data ../shared/benchmarks] [part ...]

Costs come from profiles that were taken in runs of their own. A part is a module of this folder with
`measure(scratch, options) -> Iterator[Row]`; it prints a line for each configuration and yields one row for each figure
that was promised. Figures mean little while the machine does other work.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..report import Row
from . import emulated, iterations, quotas, real, training

__all__ = ["measure"]

PARTS = {
    "real": real.measure,
    "quotas": quotas.measure,
    "emulated": emulated.measure,
    "training": training.measure,
    "vtrain": iterations.measure,
}


def measure(arguments: list[str]) -> Iterator[Row]:
    parser = argparse.ArgumentParser(prog="python -m bench predictor", description="predictions against measurements")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="of the first part, e.g. gpt2.dyn (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each configuration, in turns (5)")
    parser.add_argument("--data", type=Path, help="folder with vtrain/ in it, for that part (default: left out)")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"among {', '.join(PARTS)} (default: all)")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"parts must be among {', '.join(PARTS)}, got: {' '.join(unknown)}")
    if options.data is not None and not options.data.is_dir():
        parser.error(f"--data must be a folder, got: {options.data}")
    if options.rounds < 1:
        parser.error(f"--rounds must be at least 1, got: {options.rounds}")
    for name in options.parts or PARTS:
        with tempfile.TemporaryDirectory(prefix="hethub-predictor-") as folder:
            yield from PARTS[name](Path(folder), options)
