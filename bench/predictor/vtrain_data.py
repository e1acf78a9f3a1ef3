"""Reads published measurements of training iterations: runs, all-reduce times and machine."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hethub.errors import HetHubError

CONFIGURATION = ("gpus", "global_batch", "micro_batch", "hidden", "heads", "layers", "seq", "tp", "dp", "pp")
ASSUMED = Path(__file__).resolve().parent / "a100_node.json"
DEFAULT_MEMORY_GB = 80.0  # of one accelerator, where the file does not say it: an A100 of the larger kind


@dataclass(frozen=True)
class Measured:
    """One table of runs with their measured times."""

    path: Path
    columns: dict[str, np.ndarray]  # figures of the configuration, by name
    seconds: np.ndarray  # of one iteration

    def __len__(self) -> int:
        return len(self.seconds)


def read_measured(path: Path) -> Measured:
    """A table of runs that has the column iteration_ms. hh-predict checks the configuration itself."""
    header, rows = read_table(path)
    if "iteration_ms" not in header:
        raise HetHubError(f"{path}: line 1: column 'iteration_ms' must be present, got: {','.join(header)}")
    wanted = (*CONFIGURATION, "params_billion", "iteration_ms")
    columns: dict[str, list[float]] = {name: [] for name in header if name in wanted}
    for line, row in rows:
        for name, values in columns.items():
            values.append(positive(path, line, name, row[name]))
    arrays = {name: np.array(values) for name, values in columns.items()}
    return Measured(path, arrays, arrays.pop("iteration_ms") / 1e3)


def read_table(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The header and, with their line numbers, the rows of a CSV file."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            rows = []
            for values in reader:
                if not "".join(values).strip():
                    continue
                if len(values) != len(header):
                    raise HetHubError(
                        f"{path}: line {reader.line_num}: a row must have {len(header)} fields, got: {len(values)}"
                    )
                rows.append((reader.line_num, dict(zip(header, (value.strip() for value in values), strict=True))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise HetHubError(f"{path}: must be a readable CSV file, got: {error}") from error
    if not rows:
        raise HetHubError(f"{path}: a table must have at least one row, got: none")
    return header, rows


def positive(path: Path, line: int, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (0 < value < math.inf):
        raise HetHubError(f"{path}: line {line}: {name} must be a number above 0, got: {text}")
    return value


def read_all_reduce(path: Path) -> dict[str, Any]:
    """Columns size_mib, ns_2gpu, ns_3gpu, ...: what hh-predict calls machine.all_reduce."""
    header, rows = read_table(path)
    counts = {
        name: name[len("ns_") : -len("gpu")] for name in header if name.startswith("ns_") and name.endswith("gpu")
    }
    if "size_mib" not in header or not counts:
        raise HetHubError(f"{path}: line 1: columns size_mib and ns_<n>gpu must be present, got: {','.join(header)}")
    rows.sort(key=lambda row: positive(path, row[0], "size_mib", row[1]["size_mib"]))
    return {
        "bytes": [positive(path, line, "size_mib", row["size_mib"]) * 2**20 for line, row in rows],
        "seconds": {
            count: [positive(path, line, name, row[name]) * 1e-9 for line, row in rows]
            for name, count in counts.items()
        },
    }


def describes_machine(folder: Path) -> bool:
    return (folder / "hardware.json").exists()


def read_machine(folder: Path | None, all_reduce: Path | None = None) -> dict[str, Any]:
    """hardware.json of the folder, with its all-reduce table of that accelerator, in the units of hh-predict.

    Without a folder: the assumed machine, whose all-reduces follow from bandwidths unless a table is given.
    """
    path = folder / "hardware.json" if folder else ASSUMED
    try:
        hardware = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise HetHubError(f"{path}: must be a readable JSON file, got: {error}") from error
    if not isinstance(hardware, dict):
        raise HetHubError(f"{path}: must be an object, got: {hardware}")

    def figure(name: str, default: float | None = None) -> float:
        value = hardware.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not (0 < value < math.inf):
            raise HetHubError(f"{path}: {name} must be a number above 0, got: {value}")
        return value

    checkpointing = hardware.get("activation_checkpointing", True)
    if not isinstance(checkpointing, bool):
        raise HetHubError(f"{path}: activation_checkpointing must be true or false, got: {checkpointing}")
    if folder and all_reduce is None:
        words = str(hardware.get("gpu", "")).lower().split() or ["gpu"]
        all_reduce = folder / f"allreduce_{words[-1]}.csv"
    machine = {
        "peak_flops": figure("peak_fp16_dense_TFLOPs") * 1e12,
        "memory_bytes": figure("gpu_memory_GB", DEFAULT_MEMORY_GB) * 1e9,
        "accelerators_per_node": figure("gpus_per_node"),
        "node_bandwidth": figure("intra_node_bandwidth_GBps") * 1e9,
        "network_bandwidth": figure("inter_node_bandwidth_Gbps") * 1e9 / 8,
        "value_bytes": figure("value_bytes", 2),
        "vocabulary": figure("vocabulary"),
        "checkpointing": checkpointing,
    }
    return machine | ({"all_reduce": read_all_reduce(all_reduce)} if all_reduce else {})
