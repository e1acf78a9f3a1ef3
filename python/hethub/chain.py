"""Runs the stages that `hethub split` wrote, one after the other, in onnxruntime, and compares with the whole model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import HetHubError
from .npz import load_npz
from .split import MANIFEST

if TYPE_CHECKING:
    import onnxruntime

TOLERANCE = 1e-4  # of the largest value of an output

DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int16)": np.int16,
    "tensor(int8)": np.int8,
    "tensor(uint64)": np.uint64,
    "tensor(uint32)": np.uint32,
    "tensor(uint16)": np.uint16,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
}


def session(path: Path) -> onnxruntime.InferenceSession:
    """Without optimisation: what is fused across a border would round differently."""
    try:
        import onnxruntime
    except ImportError as error:
        raise HetHubError("verifying needs the package onnxruntime: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise HetHubError(f"onnxruntime must load {path}, got: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def evaluate(run: onnxruntime.InferenceSession, feeds: Mapping[str, Any], what: Path) -> dict[str, Any]:
    names = [output.name for output in run.get_outputs()]
    own = {port.name: feeds[port.name] for port in run.get_inputs() if port.name in feeds}
    try:
        return dict(zip(names, run.run(names, own), strict=True))
    except Exception as error:
        raise HetHubError(f"onnxruntime must run {what}, got: {first_line(error)}") from error


def chain(folder: Path | str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs of the model, by name, from its stages. `inputs` has those of the model."""
    folder = Path(folder)
    manifest = json.loads((folder / MANIFEST).read_text())
    values = dict(inputs)
    for stage in manifest["stages"]:
        path = folder / stage["file"]
        values |= evaluate(session(path), values, path)
    return {name: values[name] for name in manifest["outputs"]}


def made_up(run: onnxruntime.InferenceSession, dims: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Inputs that most models take: normal floats, whole numbers of 0 and 1; open dimensions of 2 unless given."""
    random = np.random.default_rng(0)
    feeds = {}
    for port in run.get_inputs():
        dtype = DTYPES.get(port.type)
        if dtype is None:
            raise HetHubError(f"input '{port.name}' must be given with --inputs, got none for {port.type}")
        shape = [
            size if isinstance(size, int) else dims.get(size or "", dims.get(f"{port.name}[{axis}]", 2))
            for axis, size in enumerate(port.shape)
        ]
        if np.issubdtype(dtype, np.floating):
            feeds[port.name] = random.standard_normal(shape).astype(dtype)
        else:
            feeds[port.name] = random.integers(0, 2, shape).astype(dtype)
    return feeds


def difference(one: Any, other: Any, name: str) -> float:
    """Largest difference, as a share of the largest value; 0 where all bits agree."""
    if isinstance(one, (list, tuple)) or isinstance(other, (list, tuple)):
        if not isinstance(one, (list, tuple)) or not isinstance(other, (list, tuple)) or len(one) != len(other):
            raise HetHubError(f"output '{name}' of the stages must be of the kind of the model's, got another")
        return max((difference(a, b, name) for a, b in zip(one, other, strict=True)), default=0.0)
    if one is None or other is None or isinstance(one, dict):
        return 0.0 if one == other else float("inf")
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype != b.dtype or a.shape != b.shape:
        raise HetHubError(f"output '{name}' must be {b.dtype} {list(b.shape)}, got: {a.dtype} {list(a.shape)}")
    if a.dtype.kind in "OUS" or a.tobytes() == b.tobytes():
        return 0.0 if (a == b).all() else float("inf")
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float("inf")
    scale = float(np.nanmax(np.abs(b.astype(np.float64)))) or 1.0
    return float(np.nanmax(np.abs(a.astype(np.float64) - b.astype(np.float64)))) / scale


def verify(
    folder: Path | str, model: Path | str, *, inputs: Path | str | None = None, dims: Mapping[str, int] | None = None
) -> float:
    """Largest difference between the chained stages and the whole model in onnxruntime, as a share of the largest value
    of the output. Raises HetHubError where it is above 1e-4.

    inputs  .npz by input name; without, inputs are made up (dims: sizes of symbolic dimensions)
    """
    whole = session(Path(model))
    feeds = made_up(whole, dims or {}) if inputs is None else load_npz(inputs)
    expected = evaluate(whole, feeds, Path(model))
    found = chain(folder, feeds)
    worst = max((difference(found[name], expected[name], name) for name in expected), default=0.0)
    if not worst <= TOLERANCE:
        raise HetHubError(
            f"the stages must give the model's outputs within {TOLERANCE:g} of the largest value, got: {worst:.3g}"
        )
    return worst
