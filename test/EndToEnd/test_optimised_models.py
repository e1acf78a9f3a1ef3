"""Models that onnxruntime has fused or quantized give its answer, on one stage and on several."""

from __future__ import annotations

from pathlib import Path

import hethub
import numpy as np
import onnx
import onnxruntime
import oracle
import pytest
from model_table import BY_SPEC, ensure, example, fixed_dims
from onnxruntime.quantization import QuantType, quantize_dynamic

MODELS = ["bert.static", "gpt2.legacy", "llama.legacy", "vit.legacy", "mobilenetv3.static"]


def optimised(model: Path, out: Path) -> Path:
    """The graph as onnxruntime's optimiser leaves it, its fused operators those of com.microsoft."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(out)
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return out


def run(model: Path, out: Path, inputs: dict[str, np.ndarray], spec: str, stages: int) -> dict[str, np.ndarray]:
    dims = fixed_dims(BY_SPEC[spec], inputs)
    hethub.compile(model, out, stages=stages, emit=("program",), dims=dims)
    return hethub.run(out, inputs, timeout=120).outputs


@pytest.mark.parametrize("spec", MODELS)
def test_fused_models(spec: str, tmp_path: Path) -> None:
    source, inputs = ensure(BY_SPEC[spec]), example(BY_SPEC[spec])
    fused = optimised(source, tmp_path / "fused.onnx")
    nodes = onnx.load(fused, load_external_data=False).graph.node
    assert any(node.domain == "com.microsoft" for node in nodes)
    outputs = run(fused, tmp_path / "one", inputs, spec, stages=1)
    oracle.assert_close(outputs, oracle.reference(source, [inputs]), BY_SPEC[spec].atol)
    oracle.assert_same_bits(run(fused, tmp_path / "three", inputs, spec, stages=3), outputs)


def test_dynamically_quantized_model(tmp_path: Path) -> None:
    spec = "bert.static"
    inputs = example(BY_SPEC[spec])
    whole, quantized = onnx.load(ensure(BY_SPEC[spec])), tmp_path / "quantized.onnx"
    onnx.save(whole, tmp_path / "whole.onnx")
    quantize_dynamic(tmp_path / "whole.onnx", quantized, weight_type=QuantType.QInt8)
    assert any(node.op_type == "MatMulInteger" for node in onnx.load(quantized).graph.node)
    outputs = run(quantized, tmp_path / "out", inputs, spec, stages=2)
    wanted = oracle.reference(quantized, [inputs])
    for name, value in wanted.items():
        # Values that round to another step move what follows by as much.
        assert np.abs(outputs[name] - value).max() < 0.02 * np.abs(value).max()
