"""Errors on runs that were not fitted: folds of the fit half, and transfer from one kind of runs to another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from vtrain_data import CONFIGURATION, Measured, read_machine, read_measured
from vtrain_fit import Evaluator, errors, fit, predict, workspace

FOLDS = 5


@dataclass(frozen=True)
class Split:
    """Masks over all runs, single-node ones first."""

    name: str
    parts: list[tuple[np.ndarray, np.ndarray]]  # fitted, tested
    aim: float | None  # percent; none: reported only
    reference: float | None  # percent, of the published five-constant stage model (README of the measurements)


def folds(table: Measured, strata: tuple[str, ...]) -> np.ndarray:
    """The fold of each run. As in the published split, equal configurations stay together and hashes decide."""
    rows = range(len(table))
    texts = [",".join(f"{table.columns[name][row]:.0f}" for name in CONFIGURATION) for row in rows]
    stratum = [tuple(table.columns[name][row] for name in strata) for row in rows]
    fold = np.zeros(len(table), int)
    for wanted in set(stratum):
        members = {texts[row] for row in rows if stratum[row] == wanted}
        order = sorted(members, key=lambda text: hashlib.sha256(text.encode()).hexdigest())
        position = {text: index % FOLDS for index, text in enumerate(order)}
        for row in rows:
            if stratum[row] == wanted:
                fold[row] = position[texts[row]]
    return fold


def splits(single: Measured, multi: Measured) -> Iterator[Split]:
    nodes = np.repeat([0, 1], [len(single), len(multi)])
    one, many = nodes == 0, nodes == 1

    def column(name: str) -> np.ndarray:
        return np.concatenate([single.columns[name], multi.columns[name]])

    size = np.concatenate([np.zeros(len(single)), multi.columns["params_billion"]])
    fold = np.concatenate([folds(single, ("hidden",)), folds(multi, ("params_billion",))])

    def crossed(chosen: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(chosen & (fold != index), chosen & (fold == index)) for index in range(FOLDS)]

    def transfer(fitted: np.ndarray, tested: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(fitted, tested)]

    yield Split(f"one node, {FOLDS} folds", crossed(one), 6, 10.75)
    yield Split(f"many nodes, {FOLDS} folds", crossed(many), 8, 8.65)
    yield Split("pp = 1 -> pp > 1", transfer(one & (column("pp") == 1), one & (column("pp") > 1)), 9, 12.75)
    yield Split("2 and 4 GPUs -> 8", transfer(one & (column("gpus") < 8), one & (column("gpus") == 8)), 9, 11.32)
    hidden = column("hidden")
    yield Split("hidden 1024 -> 2048", transfer(one & (hidden == 1024), one & (hidden == 2048)), 15, 22.75)
    yield Split("without 175B -> 175B", transfer(many & (size < 175), many & (size == 175)), 9, 8.93)
    yield Split("one node -> many nodes", transfer(one, many), 15, 24.63)
    together = one | many
    yield Split("one fit of both, tested on one node", [(f, t & one) for f, t in crossed(together)], None, None)
    yield Split("one fit of both, tested on many", [(f, t & many) for f, t in crossed(together)], None, None)


@dataclass(frozen=True)
class Outcome:
    split: Split
    errors: np.ndarray  # of the runs that were tested, in percent

    @property
    def mean(self) -> float:
        return float(self.errors.mean())

    @property
    def reached(self) -> bool:
        return self.split.aim is None or self.mean < self.split.aim

    def __str__(self) -> str:
        aim = "" if self.split.aim is None else f"< {self.split.aim:g}"
        reference = "" if self.split.reference is None else f"{self.split.reference:.2f}"
        figures = f"{self.split.name:38} {len(self.errors):6} {self.mean:7.2f} {self.errors.max():6.1f}"
        return f"{figures} {aim:>5} {reference:>10}{'' if self.reached else '  MISSED'}"


HEADING = f"{'fit -> test, within the fit half':38} {'tested':>6} {'MAPE %':>7} {'worst':>6}   aim  reference"


def read_tables(data: Path) -> list[Measured]:
    """Runs on one node, runs on many."""
    return [read_measured(data / name) for name in ("fit_single.csv", "fit_multi.csv")]


def outcomes(tables: list[Measured], evaluate: Evaluator) -> Iterator[Outcome]:
    measured = np.concatenate([table.seconds for table in tables])
    for split in splits(*tables):
        tested = [errors(predict(evaluate, fit(evaluate, tables, f)), measured)[t] for f, t in split.parts]
        yield Outcome(split, np.concatenate(tested))


def evaluator(data: Path, tables: list[Measured], folder: Path) -> Evaluator:
    return Evaluator(read_machine(data), [table.path for table in tables], folder)


def show_residuals(name: str, table: Measured, ratio: np.ndarray) -> None:
    """Mean signed error of runs with the same figure: what is missing from the model shows as a trend."""
    for factor in ("gpus", "micro_batch", "hidden", "layers", "tp", "dp", "pp"):
        values = table.columns[factor]
        means = [f"{value:g}: {100 * (ratio[values == value].mean() - 1):+.1f}" for value in np.unique(values)]
        print(f"  {name}, mean error in % by {factor:12} {'  '.join(means)}")


def validate(data: Path, residuals: bool = False) -> bool:
    """Prints the table; whether all aims are met."""
    single, multi = tables = read_tables(data)
    met = True
    print(HEADING)
    with workspace() as folder:
        evaluate = evaluator(data, tables, Path(folder))
        for outcome in outcomes(tables, evaluate):
            met &= outcome.reached
            print(outcome, flush=True)
        owner = np.repeat([0, 1], [len(single), len(multi)])
        measured = np.concatenate([table.seconds for table in tables])
        for index, name in enumerate(("one node", "many nodes") if residuals else ()):
            ratio = predict(evaluate, fit(evaluate, tables, owner == index)) / measured
            show_residuals(name, tables[index], ratio[owner == index])
    return met
