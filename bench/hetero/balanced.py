"""Two equal devices: what is lost must be the fill and drain of the schedule, m / (m + 1), and nothing else."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import hethub

from ..report import Row
from .decoder import Size, export
from .devices import Cell
from .ours import program
from .statistic import median

CELL = Cell("two equal devices", {"first": 4, "second": 4})
MICROBATCHES = (1, 2, 4, 8, 16, 32, 64)
MARGIN = 1.0  # points


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    size = Size()
    scratch = scratch / "balanced"
    scratch.mkdir()
    model, profile = export(size, scratch / "model.onnx"), scratch / "profile.json"
    hethub.profile(model, profile)
    counts = [count for count in MICROBATCHES if count <= options.microbatches]
    alone = program(scratch, model, profile, CELL, ["first"], True, counts[-1], size)
    both = {count: program(scratch, model, profile, CELL, list(CELL.slowdowns), True, count, size) for count in counts}
    shares: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(options.rounds):
        bound = 2 * alone.samples_per_second(options.steps)
        for count, each in both.items():
            steps = max(options.steps, options.steps * 8 // count)
            shares[count].append(100 * each.samples_per_second(steps) / bound)
    for count, values in shares.items():
        limit = 100 * count / (count + 1)
        found = median(values)
        # The plan's own imbalance is not the schedule's.
        loads = [stage["forward_seconds"] + stage["backward_seconds"] for stage in both[count].plan["stages"]]
        details = f"95 % interval [{found.low:.2f}, {found.high:.2f}], stages {max(loads) / min(loads):.3f} : 1"
        reached = found.value >= limit - MARGIN
        yield Row(
            f"training, two equal devices, m = {count}",
            f"{found.value:.2f} %",
            f"at least {limit - MARGIN:.2f} %",
            reached,
            details,
        )
