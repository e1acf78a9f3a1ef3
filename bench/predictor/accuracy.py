"""How good predictions are, taken together."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..report import Row
from .configurations import Prepared


def errors(prepared: Sequence[Prepared]) -> list[float]:
    return [abs(each.ratio - 1) for each in prepared]


def ranks(values: Sequence[float]) -> np.ndarray:
    return np.argsort(np.argsort(np.asarray(values))).astype(float)


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's, of values that are all different."""
    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def regret(prepared: Sequence[Prepared]) -> float:
    """Measured seconds a sample of what the prediction calls best, over those of the best."""
    chosen = min(prepared, key=lambda each: each.predicted / each.samples)
    best = min(each.measured / each.samples for each in prepared)
    return chosen.measured / chosen.samples / best - 1


def line(each: Prepared) -> str:
    times = f"{each.predicted * 1e3:9.2f} ms predicted {each.measured * 1e3:9.2f} ms measured"
    spread = 100 * (max(each.steps) / min(each.steps) - 1)
    return f"  {each.variant!s:58} {times}  ratio {each.ratio:.3f}  (runs differ by {spread:.0f} %)"


def rows(what: str, prepared: Sequence[Prepared], mean: float, worst: float | None) -> Iterator[Row]:
    """The figures of mean and worst error; the worst case by name."""
    found = errors(prepared)
    average = statistics.mean(found)
    name = str(prepared[found.index(max(found))].variant)
    yield Row(
        f"{what}: mean error of {len(found)} step times",
        f"{100 * average:.2f} %",
        f"below {100 * mean:g} %",
        average < mean,
    )
    if worst is not None:
        yield Row(
            f"{what}: worst error", f"{100 * max(found):.1f} %", f"below {100 * worst:g} %", max(found) < worst, name
        )


def choice_rows(what: str, prepared: Sequence[Prepared], key: Callable[[Prepared], str]) -> Iterator[Row]:
    """Rank correlation, and what the best prediction of each set costs against the set's best."""
    predicted, measured = [each.predicted for each in prepared], [each.measured for each in prepared]
    if len(prepared) > 2:
        correlation = rank_correlation(predicted, measured)
        yield Row(f"{what}: rank correlation", f"{correlation:.4f}", "above 0.95", correlation > 0.95)
    sets: dict[str, list[Prepared]] = defaultdict(list)
    for each in prepared:
        sets[key(each)].append(each)
    losses = {name: regret(members) for name, members in sets.items() if len(members) > 1}
    if losses:
        worst = max(losses, key=losses.__getitem__)
        yield Row(
            f"{what}: predicted best of {len(losses)} sets over the best",
            f"{100 * losses[worst]:.1f} %",
            "within 3 %",
            losses[worst] < 0.03,
            worst,
        )
