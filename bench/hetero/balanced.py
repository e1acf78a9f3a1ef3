"""Two equal devices: what is lost must be the fill and drain of the schedule, m / (m + 1), and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from ..report import Row
from .decoder import Size
from .devices import BALANCED
from .lab import Lab
from .statistic import median

MICROBATCHES = (1, 2, 4, 8, 16, 32, 64)
MARGIN = 1.0  # points
SELDOM = 4  # one round of SELDOM


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    with Lab(scratch / "balanced", BALANCED, Size()) as lab:
        yield from rows(lab, options)


def rows(lab: Lab, options: argparse.Namespace) -> Iterator[Row]:
    counts = [count for count in MICROBATCHES if count <= options.microbatches]
    types = list(lab.cell.devices)
    alone = lab.program(types[:1], True, counts[-1])
    both = {count: lab.program(types, True, count) for count in counts}
    shares: dict[int, list[float]] = {count: [] for count in counts}
    # These are steady: nothing but the table and the runtime is between them and the bound.
    for _ in range(max(1, options.rounds // SELDOM)):
        bound = len(types) * lab.rate(alone, options.steps)
        for count, each in both.items():
            steps = max(options.steps, options.steps * 8 // count)
            shares[count].append(100 * lab.rate(each, steps) / bound)
    for count, values in shares.items():
        limit = 100 * count / (count + 1)
        found = median(values)
        # The plan's own imbalance is not the schedule's.
        loads = [stage["forward_seconds"] + stage["backward_seconds"] for stage in both[count].output.plan["stages"]]
        details = f"95 % interval [{found.low:.2f}, {found.high:.2f}], stages {max(loads) / min(loads):.3f} : 1"
        reached = found.value >= limit - MARGIN
        yield Row(
            f"training, two equal devices, m = {count}",
            f"{found.value:.2f} %",
            f"at least {limit - MARGIN:.2f} %",
            reached,
            details,
        )
