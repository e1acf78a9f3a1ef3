"""Unlike devices: our throughput and a peer's as a share of what the devices reach, each for itself on the whole model.

python -m bench hetero [--rounds N] [--steps N] [--microbatches M] [--cells K] [part ...]

Each round measures the bound, ours and the peer one after the other, so that what else the machine does meets all
alike; the figures are medians over the rounds with their 95 % intervals. Devices are emulated twice: by the runtime's
`emulate:` (docs/Runtime.md), and by CPU quotas. The peer, torch.distributed.pipelining over Gloo, has the same device
model: its forwards and backwards last as long as the planner says that its share of the blocks takes, or it has the
same quotas. Its links are not emulated.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..report import Row

__all__ = ["measure"]


def measure(arguments: list[str]) -> Iterator[Row]:
    from . import balanced, unlike

    parts = {
        "quotas": unlike.measure_quotas,
        "balanced": balanced.measure,
        "unlike": unlike.measure,  # prints the last line
    }
    parser = argparse.ArgumentParser(prog="python -m bench hetero", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="how often all is measured (20)")
    parser.add_argument("--steps", type=int, default=2, help="steps of a run that are counted (2)")
    parser.add_argument("--microbatches", type=int, default=64, metavar="M", help="of a step (64)")
    # Backward passes in two parts take longer than whole ones (measured in profiles), more than the shorter drain is
    # worth at many microbatches.
    parser.add_argument("--schedule", default="1f1b", help="of our training on unlike devices (1f1b)")
    parser.add_argument("--cells", type=int, default=99, metavar="K", help="the first K clusters only (all)")
    parser.add_argument("parts", nargs="*", metavar="part", help=f"among {', '.join(parts)} (default: all)")
    options = parser.parse_args(arguments)
    for name in ("rounds", "steps", "microbatches", "cells"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} must be at least 1, got: {getattr(options, name)}")
    unknown = [name for name in options.parts if name not in parts]
    if unknown:
        parser.error(f"parts must be among {', '.join(parts)}, got: {' '.join(unknown)}")
    with tempfile.TemporaryDirectory(prefix="hethub-hetero-") as scratch:
        for name in parts:
            if name in (options.parts or parts):
                folder = Path(scratch) / name
                folder.mkdir()
                yield from parts[name](folder, options)
