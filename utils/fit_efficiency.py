#!/usr/bin/env python3
"""Fits lib/Cost/Efficiency.def to profiles of this machine.

usage: fit_efficiency.py PROFILE.json ...            # of `hethub profile`; prints rows of Efficiency.def
       fit_efficiency.py --validate PROFILE.json ... # also fits on all profiles but one and predicts that one, in turns

The time of an operation is taken to be

    launch + max((FLOPs + half FLOPs) / (peak x share), (bytes + half bytes) / (bandwidth x share))

with two shares and two halves for each class of operators; the figures that minimise the mean absolute logarithm of
predicted / measured are searched coordinate by coordinate. A class with fewer than 8 distinct operations is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from hethub import tools

LEAST = 8
# Figures: share of FLOP/s, share of bandwidth, half FLOPs, half bytes. What they are searched in; a share of bandwidth
# may exceed 1, since caches and pure reads are faster than the copy that the bandwidth was measured with.
START = (0.5, 1.0, 1e4, 1e4)
LOWEST = (0.005, 0.02, 0.0, 0.0)
HIGHEST = (1.0, 4.0, 1e9, 1e8)
STEPS = (4.0, 2.0, 1.4, 1.15, 1.05, 1.02)


class Operations:
    """Measured operations of one class as arrays."""

    def __init__(self, rows: Sequence[dict]) -> None:
        for name in ("flops", "peak_flops_per_s", "bytes", "bytes_per_s", "forward_s", "roofline_s", "launch_s"):
            setattr(self, name, np.array([row[name] for row in rows], float))

    def seconds(self, figures: Sequence[float]) -> np.ndarray:
        share_flops, share_bytes, half_flops, half_bytes = figures
        compute = (self.flops + half_flops * (self.flops > 0)) / (self.peak_flops_per_s * share_flops)
        memory = (self.bytes + half_bytes * (self.bytes > 0)) / (self.bytes_per_s * share_bytes)
        return self.launch_s + np.maximum(compute, memory)

    def error(self, figures: Sequence[float]) -> float:
        return float(np.mean(np.abs(np.log(self.seconds(figures) / self.forward_s))))


def fit(operations: Operations) -> list[float]:
    """Steps up and down in each figure, ever smaller ones; halves can vanish."""
    best = list(START)
    least = operations.error(best)
    for step in STEPS:
        improved = True
        while improved:
            improved = False
            for k in range(len(best)):
                values = [best[k] * step, best[k] / step, *([0.0, 1e3, 1e5, 1e7] if k >= 2 else [])]
                for value in values:
                    figures = best.copy()
                    figures[k] = min(max(value, LOWEST[k]), HIGHEST[k])
                    error = operations.error(figures)
                    if error < least - 1e-9:
                        best, least, improved = figures, error, True
    return best


def read(profile: Path) -> list[dict]:
    """The operations of a profile that take time, with the work of each."""
    work = json.loads(tools.run("hh-translate", [f"--profile-work={profile}"]).stdout)
    rows = [row | {"launch_s": work["launch_s"]} for row in work["operations"]]
    return [row for row in rows if row["forward_s"] > 0 and row["class"] != "View" and row["bytes"] > 0]


def by_class(rows: Sequence[dict]) -> dict[str, list[dict]]:
    """Each signature once."""
    found: dict[str, dict[str, dict]] = defaultdict(dict)
    for row in rows:
        found[row["class"]].setdefault(row["signature"], row)
    return {name: list(members.values()) for name, members in sorted(found.items()) if len(members) >= LEAST}


def percent(error: float) -> str:
    return f"{100 * (np.exp(error) - 1):.0f} %"


def validate(profiles: dict[str, list[dict]]) -> None:
    """Typical error of operations of a profile that the fit has not seen."""
    errors: dict[str, list[float]] = defaultdict(list)
    before: dict[str, list[float]] = defaultdict(list)
    for held_out, rows in profiles.items():
        known = by_class([row for name, others in profiles.items() if name != held_out for row in others])
        seen = {row["signature"] for members in known.values() for row in members}
        for name, members in known.items():
            fresh = [row for row in rows if row["class"] == name and row["signature"] not in seen]
            if fresh:
                test = Operations(fresh)
                errors[name] += list(np.abs(np.log(test.seconds(fit(Operations(members))) / test.forward_s)))
                before[name] += list(np.abs(np.log(test.roofline_s / test.forward_s)))
    print("class           operations   typical error of profiles not fitted   with the table as it is")
    for name, values in errors.items():
        median, now = percent(float(np.median(values))), percent(float(np.median(before[name])))
        print(f"{name:15} {len(values):10}   {median:>38} {now:>25}")


def main() -> int:
    parser = argparse.ArgumentParser(description="fits lib/Cost/Efficiency.def to profiles of this machine")
    parser.add_argument("profiles", type=Path, nargs="+", metavar="PROFILE.json")
    parser.add_argument("--validate", action="store_true", help="errors on profiles that were not fitted")
    options = parser.parse_args()
    try:
        profiles = {str(profile): read(profile) for profile in options.profiles}
    except tools.HetHubError as error:
        print(f"fit_efficiency: error: {error}", file=sys.stderr)
        return 1
    if options.validate:
        validate(profiles)
    for name, members in by_class([row for rows in profiles.values() for row in rows]).items():
        figures = fit(Operations(members))
        text = ", ".join(f"{figure:.3g}" for figure in figures)
        error = percent(Operations(members).error(figures))
        print(f'EFFICIENCY("cpu", {name}, {text}) // {len(members)} operations, mean error {error}')
    return 0


if __name__ == "__main__":
    sys.exit(main())
