"""Models of a few nodes for tests of behaviour, written with onnx.helper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS = 4
WIDTH = 8
BATCH = 2


def layers_model(path: Path, layers: int = LAYERS, batch: int | str = BATCH, width: int = WIDTH) -> Path:
    """x [batch, width] -> `layers` times (MatMul, Add, Relu) -> y. Nodes are called matmul_K, add_K, relu_K."""
    random = np.random.default_rng(7)
    nodes, weights = [], []
    value = "x"
    for k in range(layers):
        weights.append(numpy_helper.from_array(random.standard_normal((width, width), np.float32), f"w_{k}"))
        weights.append(numpy_helper.from_array(random.standard_normal(width, np.float32), f"b_{k}"))
        result = "y" if k == layers - 1 else f"h_{k}"
        nodes += [
            helper.make_node("MatMul", [value, f"w_{k}"], [f"m_{k}"], name=f"matmul_{k}"),
            helper.make_node("Add", [f"m_{k}", f"b_{k}"], [f"a_{k}"], name=f"add_{k}"),
            helper.make_node("Relu", [f"a_{k}"], [result], name=f"relu_{k}"),
        ]
        value = result
    return save_graph(path, nodes, {"x": (TensorProto.FLOAT, [batch, width])}, {"y": (1, [batch, width])}, weights)


def save_graph(path: Path, nodes, inputs, outputs, weights=(), opset: int = 20, **model) -> Path:
    """Saves a graph; inputs and outputs are NAME: (element type, shape)."""
    values = [
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in side.items()]
        for side in (inputs, outputs)
    ]
    graph = helper.make_graph(list(nodes), "g", *values, list(weights))
    opsets = [helper.make_opsetid("", opset), *model.pop("opsets", [])]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10, **model), path)
    return path


def layers_input(batch: int = BATCH, width: int = WIDTH) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(11).standard_normal((batch, width), np.float32)}
