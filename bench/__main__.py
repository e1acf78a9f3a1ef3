"""usage: python -m bench [speed] [build_time] [large_model]"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from . import build_time, large_model, speed
from .report import render

PARTS = {"large_model": large_model.measure, "build_time": build_time.measure, "speed": speed.measure}


def main() -> int:
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [name for name in wanted if name not in PARTS]
    if unknown:
        print(f"bench: error: parts must be among {', '.join(PARTS)}, got: {' '.join(unknown)}", file=sys.stderr)
        return 1
    missed = 0
    with tempfile.TemporaryDirectory(prefix="hethub-bench-") as folder:
        for name in wanted:
            for row in PARTS[name](Path(folder)):
                print(render(row), flush=True)
                missed += not row.reached
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
