"""Medians with their intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

COVERAGE = 0.95


@dataclass(frozen=True)
class Median:
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def median(values: Sequence[float]) -> Median:
    """The interval is that between two of the values, by their order alone: whatever the distribution is, it covers the
    true median with at least 95 % where there are six values or more, else as well as they can."""
    ordered = sorted(values)
    count, cut, outside = len(ordered), 0, 0.0
    # The chance that at most `cut` of the values are below the median.
    while cut < (count - 1) // 2:
        outside += math.comb(count, cut) / 2**count
        if 2 * outside > 1 - COVERAGE:
            break
        cut += 1
    cut = max(0, cut - 1)
    return Median(statistics.median(ordered), ordered[cut], ordered[count - 1 - cut])
