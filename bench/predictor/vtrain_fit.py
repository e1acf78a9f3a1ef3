"""Fits the predictor's constants to measured iterations. The model itself is hh-predict, which this only calls."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hethub import tools
from scipy.optimize import least_squares
from vtrain_data import Measured

# Relative errors beyond this count less and less (soft L1): some runs are slow for reasons that no model sees.
ERROR_SCALE = 0.05
STEP = 1e-5  # of the logarithm of a constant, for derivatives


@dataclass(frozen=True)
class Constant:
    """As hh-predict describes it."""

    name: str
    unit: str
    expected: float
    lowest: float
    highest: float
    spread: float
    meaning: str


def constants() -> list[Constant]:
    return [Constant(**entry) for entry in json.loads(tools.run("hh-predict", ["--list-constants"]).stdout)]


class Evaluator:
    """Predicted seconds of tables of runs on one machine, for several sets of constants at once."""

    def __init__(self, machine: dict[str, Any], paths: Sequence[Path], folder: Path) -> None:
        self.known = constants()
        self.paths = paths
        self.base = folder / "machine.json"
        self.candidates = folder / "candidates.json"
        expected = {constant.name: constant.expected for constant in self.known}
        self.base.write_text(json.dumps({"machine": machine, "constants": expected}))

    def __call__(self, sets: np.ndarray) -> np.ndarray:
        """Of each run (rows, all tables in turn) with each set of constants (rows of `sets`)."""
        named = [{c.name: float(value) for c, value in zip(self.known, row, strict=True)} for row in sets]
        self.candidates.write_text(json.dumps(named))
        tables = []
        for path in self.paths:
            arguments = [str(path), "--constants", str(self.base), "--candidates", str(self.candidates)]
            lines = list(csv.reader(tools.run("hh-predict", arguments).stdout.splitlines()))[1:]
            tables.append(np.array([[float(value) for value in line[1:]] for line in lines]))
        return np.concatenate(tables) / 1e3


def fit(evaluate: Evaluator, tables: Sequence[Measured], chosen: np.ndarray | None = None) -> dict[str, float]:
    """Constants for the runs that are chosen (all). Tables count alike, however long they are.

    Minimised: the sum over runs of soft L1 of ln(predicted / measured) / ERROR_SCALE and, for each constant, half the
    square of ln(value / expected) / spread, which settles what the measurements leave open.
    """
    measured = np.concatenate([table.seconds for table in tables])
    table_of = np.concatenate([np.full(len(table), index) for index, table in enumerate(tables)])
    chosen = np.ones(len(measured), bool) if chosen is None else chosen
    sizes = np.bincount(table_of[chosen], minlength=len(tables)).astype(float)
    share = chosen.sum() / np.count_nonzero(sizes)
    weights = np.sqrt(share / sizes[table_of[chosen]])

    known = evaluate.known
    start, low, high = (np.log([getattr(c, field) for c in known]) for field in ("expected", "lowest", "highest"))
    spread = np.array([c.spread for c in known])

    def residuals(points: np.ndarray) -> np.ndarray:
        bounds = [np.array([getattr(c, field) for c in known]) for field in ("lowest", "highest")]
        predicted = evaluate(np.clip(np.exp(points), *bounds))[chosen]
        errors = np.log(predicted / measured[chosen, None]) / ERROR_SCALE
        robust = np.sign(errors) * np.sqrt(2 * (np.sqrt(1 + errors**2) - 1))
        return np.concatenate([weights[:, None] * robust, ((points - start) / spread).T])

    def jacobian(point: np.ndarray) -> np.ndarray:
        steps = np.where(point + STEP > high, -STEP, STEP)
        values = residuals(np.vstack([point, point + np.diag(steps)]))
        return (values[:, 1:] - values[:, :1]) / steps

    result = least_squares(
        lambda point: residuals(point[None, :])[:, 0], start, jac=jacobian, bounds=(low, high), x_scale="jac", xtol=1e-5
    )
    return {c.name: float(np.clip(np.exp(x), c.lowest, c.highest)) for c, x in zip(known, result.x, strict=True)}


def predict(evaluate: Evaluator, values: dict[str, float]) -> np.ndarray:
    return evaluate(np.array([[values[c.name] for c in evaluate.known]]))[:, 0]


def errors(predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """|predicted - measured| / measured, in percent; its mean is the MAPE."""
    return 100 * np.abs(predicted / measured - 1)


def workspace() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hethub-fit-")
