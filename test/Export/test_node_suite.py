"""ONNX's node suite through import and export: the same content, and the same answer of onnxruntime to the bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import exported
import onnx
import pytest
from node_cases import Case, collect


def native(value: Any) -> Any:
    """What onnxruntime takes; None where it has no such type."""
    if isinstance(value, (list, tuple)):
        return [native(element) for element in value]
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return value


def feeds_of(case: Case) -> dict[str, Any]:
    return dict(zip([port.name for port in case.model.graph.input], map(native, case.inputs), strict=False))


def answer(path: Path, case: Case) -> Any:
    """None: onnxruntime does not run it."""
    try:
        return exported.evaluate(path, feeds_of(case))
    except Exception:
        return None


def problems(case: Case, folder: Path) -> list[str]:
    path, output = folder / "model.onnx", folder / "exported.onnx"
    path.write_bytes(case.model.SerializeToString())
    found = exported.lost(path, output)
    if found:
        return found
    expected = answer(path, case)
    if expected is None or not deterministic(case):
        return []
    mine = answer(output, case)
    if mine is None:
        return ["onnxruntime runs the model and not its export"]
    return [] if exported.same(mine, expected) else ["onnxruntime gives another answer"]


def deterministic(case: Case) -> bool:
    drawn = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"}
    return not any(node.op_type in drawn or "training_mode" in case.name for node in case.model.graph.node)


@pytest.mark.wide
def test_node_suite(tmp_path):
    cases = collect()
    found = {case.name: problems(case, tmp_path) for case in cases}
    wrong = {name: what for name, what in found.items() if what}
    assert wrong == {}, f"{len(wrong)} of {len(cases)}"
