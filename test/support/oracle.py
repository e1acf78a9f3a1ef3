"""What onnxruntime makes of a model, and how our outputs are compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime


def session(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def reference(path: Path, microbatches: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Outputs of the model run once for each microbatch, joined along axis 0."""
    parts = [reference_once(path, inputs) for inputs in microbatches]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def assert_close(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], atol: float = 1e-5) -> None:
    """Same names, shapes and types; floats within 1e-4 relative (and `atol` of the largest value near zero)."""
    assert list(ours) == list(theirs)
    for name, expected in theirs.items():
        assert ours[name].dtype == expected.dtype, name
        assert ours[name].shape == expected.shape, name
        if expected.dtype.kind != "f":
            np.testing.assert_array_equal(ours[name], expected, err_msg=name)
            continue
        scale = float(np.abs(expected).max()) if expected.size else 1.0
        np.testing.assert_allclose(ours[name], expected, rtol=1e-4, atol=atol * scale, err_msg=name)


def assert_same_bits(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
    assert list(ours) == list(theirs)
    for name, expected in theirs.items():
        assert ours[name].dtype == expected.dtype, name
        assert ours[name].tobytes() == expected.tobytes(), name


def reference_once(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Outputs of one run, of any rank."""
    run = session(path)
    names = [output.name for output in run.get_outputs()]
    return dict(zip(names, run.run(names, inputs), strict=True))
