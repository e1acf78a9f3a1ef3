"""hethub predict: the step time of a plan by its schedule table. Thin over hh-simulate."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import tools
from .compile import plan
from .errors import HetHubError
from .folders import new_file
from .output import OutputFolder
from .table import amount, device_of, milliseconds, percent, rate, render


def predict(
    target: Path | str,
    *,
    cluster: Path | str | None = None,
    stages: int | None = None,
    dims: Mapping[str, int] | None = None,
    plan_file: Path | str | None = None,
    microbatches: int | None = None,
    schedule: str | None = None,
    trace: Path | str | None = None,
) -> dict[str, Any]:
    """Predicts a step: seconds, throughput, and per stage what it is busy with, waits for and holds in memory. Fields:
    docs/Predictor.md; times are seconds, sizes bytes.

    target        an .onnx file, which is planned first (with `cluster`, `stages`, `dims` and `plan_file` as for plan);
                  a folder that compile wrote; or a plan.json
    microbatches  of a step; None: as many as the plan was made for
    schedule      of a training step: gpipe, 1f1b or zero-bubble; None: the plan's
    trace         writes the step as a Chrome trace there
    """
    if microbatches is not None and microbatches < 1:
        raise HetHubError(f"microbatches must be at least 1, got: {microbatches}")
    target = Path(target)
    planned = target.is_dir() or target.suffix == ".json"
    given = {"cluster": cluster, "stages": stages, "dims": dims or None, "plan": plan_file}
    for name, value in given.items():
        if planned and value is not None:
            raise HetHubError(f"{name} must go with a model, got: {target}, which is planned already")
    with tempfile.TemporaryDirectory(prefix="hethub-predict-") as scratch:
        if target.is_dir():
            OutputFolder.read(target)  # refuses a folder of something else
            file = target / "plan.json"
        elif planned:
            file = target
        else:
            file = Path(scratch) / "plan.json"
            plan(
                target,
                file,
                cluster=cluster,
                stages=stages,
                dims=dims,
                plan_file=plan_file,
                microbatches=microbatches,
            )
        arguments = [str(file)]
        if microbatches is not None:
            arguments.append(f"--microbatches={microbatches}")
        if schedule is not None:
            arguments.append(f"--schedule={schedule}")
        if trace is None:
            return json.loads(tools.run("hh-simulate", arguments).stdout)
        with new_file(Path(trace)) as temporary:
            return json.loads(tools.run("hh-simulate", [*arguments, f"--trace={temporary}"]).stdout)


def memory_of(stage: Mapping[str, Any]) -> str:
    peak, limit = stage["peak_bytes"], stage["memory_limit_bytes"]
    if not limit:
        return amount(peak, "B", 1024)
    return f"{amount(peak, 'B', 1024)} of {amount(limit, 'B', 1024)}" + ("" if stage["fits"] else " (too much)")


def prediction_rows(prediction: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header, and one row per stage."""
    header = ["stage", "device type", "busy ms", "busy", "imbalance", "fill ms", "drain ms", "idle ms", "receive ms"]
    training = prediction["training"]
    header += ["all-reduce ms", "optimizer ms", "in flight"] if training else []
    header.append("memory")
    rows = []
    for k, stage in enumerate(prediction["stages"]):
        row = [str(k), device_of(stage), milliseconds(stage["busy_seconds"]), percent(stage["busy_share"])]
        row.append(percent(stage["imbalance"]))
        row += [milliseconds(stage[f"{name}_seconds"]) for name in ("fill", "drain", "idle", "receive")]
        if training:
            row += [milliseconds(stage["all_reduce_seconds"]), milliseconds(stage["optimizer_seconds"])]
            row.append(str(stage["in_flight"]))
        rows.append([*row, memory_of(stage)])
    return header, rows


def prediction_table(prediction: Mapping[str, Any]) -> str:
    """A line per stage, then step time and throughput."""
    training = prediction["training"]
    step, steady = prediction["step_seconds"], prediction["steady_step_seconds"]
    lines = [render(*prediction_rows(prediction))]
    lines.append(f"step of {prediction['microbatches']} microbatches: {milliseconds(step)} ms")
    if not training:
        lines.append(f"one after the other without a pause: {milliseconds(steady)} ms each")
    lines.append(f"throughput: {rate(prediction, steady)}; stage {prediction['bottleneck_stage']} is the bottleneck")
    return "\n".join(lines)
