#!/usr/bin/env python3
"""Predicts measured training iterations of A100 clusters (vTrain, MICRO 2024) with constants fitted from others.

vtrain.py fit --csv FILE [--csv FILE2] [--data DIR] --out CONSTANTS
vtrain.py predict --csv CONFIGS --constants CONSTANTS --out predictions.csv
vtrain.py validate --data DIR    cross-validation and transfer inside the fit half; exit code 1 when an aim is missed
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
PYTHON = TOP / ".venv" / "bin" / "python"
if PYTHON.exists() and Path(sys.prefix).resolve() != (TOP / ".venv").resolve():
    os.execv(PYTHON, [str(PYTHON), *sys.argv])  # started with a Python that lacks the project's packages

import numpy as np  # noqa: E402
from hethub import tools  # noqa: E402
from hethub.errors import HetHubError  # noqa: E402
from vtrain_data import ASSUMED, describes_machine, read_machine, read_measured  # noqa: E402
from vtrain_fit import Evaluator, errors, fit, predict, workspace  # noqa: E402
from vtrain_validate import validate  # noqa: E402


def machine_folder(options: argparse.Namespace) -> Path | None:
    """Where the machine is described: as told, else beside the first table, else nowhere."""
    folder = options.data or options.csv[0].parent
    if options.data or describes_machine(folder):
        return folder
    print(f"note: no hardware.json in {folder} and no --data: {ASSUMED.name} is assumed", file=sys.stderr)
    return None


def run_fit(options: argparse.Namespace) -> int:
    tables = [read_measured(path) for path in options.csv]
    machine = read_machine(machine_folder(options), options.all_reduce)
    with workspace() as folder:
        evaluate = Evaluator(machine, options.csv, Path(folder))
        values = fit(evaluate, tables)
        predicted = predict(evaluate, values)
    measured = np.concatenate([table.seconds for table in tables])
    share = errors(predicted, measured)
    for constant in evaluate.known:
        value = values[constant.name]
        state = "at its bound: " if near(value, constant.lowest) or near(value, constant.highest) else ""
        state = "as expected, the runs say nothing: " if near(value, constant.expected) else state
        print(f"{constant.name:24} {value:10.4g} {constant.unit:8} {state}{constant.meaning}")
    print(f"{len(measured)} runs fitted: mean error {share.mean():.2f} %, worst {share.max():.1f} %")
    summary = {"runs": len(measured), "mean_error_percent": round(float(share.mean()), 3)}
    write(options.out, json.dumps({"version": 1, "fit": summary, "constants": values, "machine": machine}) + "\n")
    return 0


def near(value: float, other: float) -> bool:
    return math.isclose(value, other, rel_tol=1e-3)


def run_predict(options: argparse.Namespace) -> int:
    tools.run("hh-predict", [str(options.csv), "--constants", str(options.constants), "-o", str(options.out)])
    return 0


def run_validate(options: argparse.Namespace) -> int:
    return 0 if validate(options.data, options.residuals) else 1


def write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HetHubError(f"{path}: must be writable, got: {error.strerror}") from error


def main() -> int:
    parser = argparse.ArgumentParser(prog="vtrain.py", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("fit", help="constants from measured runs")
    command.add_argument("--csv", type=Path, action="append", required=True, help="measured runs; may be repeated")
    command.add_argument(
        "--data", type=Path, help="folder with hardware.json and all-reduce table (default: the CSV's)"
    )
    command.add_argument(
        "--all-reduce", type=Path, help="table of all-reduce times (default: by the accelerator's name)"
    )
    command.add_argument("--out", type=Path, required=True, help="JSON file to write")
    command.set_defaults(run=run_fit)
    command = commands.add_parser("predict", help="times of runs from fitted constants")
    command.add_argument("--csv", type=Path, required=True, help="configurations")
    command.add_argument("--constants", type=Path, required=True, help="what fit wrote")
    command.add_argument("--out", type=Path, required=True, help="CSV file to write: id,predicted_ms")
    command.set_defaults(run=run_predict)
    command = commands.add_parser("validate", help="errors on runs that were not fitted")
    command.add_argument("--data", type=Path, required=True, help="folder of the published measurements")
    command.add_argument("--residuals", action="store_true", help="also print signed errors by factor, of one fit each")
    command.set_defaults(run=run_validate)
    options = parser.parse_args()
    try:
        return options.run(options)
    except HetHubError as error:
        print(f"vtrain.py: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
