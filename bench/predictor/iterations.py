"""Training iterations of A100 clusters, measured by others (vTrain, MICRO 2024): errors on runs not fitted."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ..report import Row

sys.path.insert(0, str(Path(__file__).parent))  # vtrain.py is a script, and so are its modules beside it

import vtrain_validate


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    if options.data is None:
        print("vtrain: measurements of others are read from --data FOLDER, with vtrain/ in it: left out")
        return
    data = options.data / "vtrain"
    tables = vtrain_validate.read_tables(data)
    print(vtrain_validate.HEADING)
    for outcome in vtrain_validate.outcomes(tables, vtrain_validate.evaluator(data, tables, scratch)):
        print(outcome, flush=True)
        if outcome.split.aim is not None:
            worst = f"worst {outcome.errors.max():.1f} %"
            wanted = f"below {outcome.split.aim:g} %"
            yield Row(f"vTrain, {outcome.split.name}", f"{outcome.mean:.2f} %", wanted, outcome.reached, worst)
