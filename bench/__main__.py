"""usage: python -m bench [speed] [build_time] [large_model]
python -m bench planner [--data FOLDER] [part ...]
python -m bench predictor [--models NAME ...] [--rounds N] [--data FOLDER] [part ...]
python -m bench hetero [--rounds N] [part ...]"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from . import build_time, hetero, large_model, planner, predictor, speed
from .report import Row, render

PARTS = {"large_model": large_model.measure, "build_time": build_time.measure, "speed": speed.measure}
SUITES = {
    "planner": planner.measure,
    "predictor": predictor.measure,
    "hetero": hetero.measure,
}  # benches with arguments of their own


def show(rows: Iterable[Row]) -> int:
    """The number of missed figures."""
    missed = 0
    for row in rows:
        print(render(row), flush=True)
        missed += not row.reached
    return missed


def main() -> int:
    wanted = sys.argv[1:] or list(PARTS)
    if wanted[0] in SUITES:
        return 1 if show(SUITES[wanted[0]](wanted[1:])) else 0
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        known = ", ".join([*PARTS, *SUITES])
        print(f"bench: error: parts must be among {known}, got: {' '.join(unknown)}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="hethub-bench-") as folder:
        return 1 if sum(show(PARTS[name](Path(folder))) for name in wanted) else 0


if __name__ == "__main__":
    sys.exit(main())
