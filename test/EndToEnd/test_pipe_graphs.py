"""Every kind of edge across a cut: each graph gives onnxruntime's answer on one stage and on several."""

from __future__ import annotations

from pathlib import Path

import hethub
import numpy as np
import onnx
import oracle
import pytest
from pipe_graphs import GRAPHS


@pytest.mark.parametrize("name", GRAPHS)
def test_answers(tmp_path: Path, name: str) -> None:
    graph = GRAPHS[name]
    model = tmp_path / "model.onnx"
    onnx.save(graph.model(), model)
    inputs = graph.inputs()
    expected = oracle.reference_once(model, inputs)
    one = hethub.compile(model, tmp_path / "one", stages=1, emit=("program",))
    first = hethub.run(one, inputs).outputs
    oracle.assert_close(first, expected)
    split = hethub.compile(model, tmp_path / "split", stages=graph.stages, emit=("program",))
    stages = hethub.output.OutputFolder.read(split).plan["stages"]
    assert len(stages) == graph.stages
    oracle.assert_same_bits(hethub.run(split, inputs).outputs, first)


@pytest.mark.parametrize("flag", [False, True])
def test_both_branches_of_a_captured_value(tmp_path: Path, flag: bool) -> None:
    graph = GRAPHS["captured_value"]
    model = tmp_path / "model.onnx"
    onnx.save(graph.model(), model)
    inputs = graph.inputs() | {"flag": np.array(flag)}
    out = hethub.compile(model, tmp_path / "out", stages=3, emit=("program",))
    oracle.assert_close(hethub.run(out, inputs).outputs, oracle.reference_once(model, inputs))


def test_more_stages_than_operations(tmp_path: Path) -> None:
    """One operation asked for on four stages: refused in plain words, never idle ranks that wait for ever."""
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    model = onnx.parser.parse_model(text)
    model.graph.node[0].name = "only"
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(hethub.HetHubError, match="4"):
        hethub.compile(tmp_path / "model.onnx", tmp_path / "out", stages=4, emit=("program",))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("microbatches", [5, 1])
def test_batch_of_a_symbolic_dimension(tmp_path: Path, microbatches: int) -> None:
    """Five rows as five microbatches of one row and as one of five: the same rows in the same order."""
    text = (
        '<ir_version: 10, opset_import: ["" : 20]> g (float[rows,3] x) => (float[rows,3] y) '
        "{ a = Relu (x) b = Exp (a) y = Add (b, x) }"
    )
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    dims = {"rows": 5 // microbatches}
    out = hethub.compile(tmp_path / "model.onnx", tmp_path / "out", stages=2, dims=dims, emit=("program",))
    inputs = {"x": np.arange(15, dtype=np.float32).reshape(5, 3) / 9 - 1}
    outputs = hethub.run(out, inputs, microbatches=microbatches).outputs
    oracle.assert_close(outputs, oracle.reference_once(tmp_path / "model.onnx", inputs))


def test_batch_that_does_not_divide(tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["" : 20]> g (float[rows,3] x) => (float[rows,3] y) { y = Relu (x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    out = hethub.compile(tmp_path / "model.onnx", tmp_path / "out", stages=1, dims={"rows": 2}, emit=("program",))
    with pytest.raises(hethub.HetHubError, match=r"input 'x' must have shape \[4, 3\] \(2 microbatches"):
        hethub.run(out, {"x": np.zeros((5, 3), np.float32)}, microbatches=2)
