"""Element types that the node suite has no weights of: packed ones are read where they lie, complex ones move."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from node_cases import Case
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parent))

import node_suite

RNG = np.random.default_rng(3)
# More elements than are kept inline, and rows that end within a byte.
SHAPE = (64, 71)
TYPES = ["int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz"]
TYPES_ONLY_MOVED = ["float6_e2m3fn", "float6_e3m2fn", "float8_e8m0fnu"]


def weights(name: str) -> np.ndarray:
    kind = np.dtype(getattr(ml_dtypes, name))
    if name.startswith(("int", "uint")):
        info = ml_dtypes.iinfo(kind)
        return RNG.integers(int(info.min), int(info.max) + 1, SHAPE).astype(kind)
    if name == "float8_e8m0fnu":
        return np.exp2(RNG.integers(-9, 9, SHAPE)).astype(kind)
    return RNG.normal(size=SHAPE).astype(kind)


def model(nodes: list, weight: np.ndarray, inputs: list, elements: int) -> object:
    graph = helper.make_graph(
        nodes,
        "graph",
        inputs,
        [helper.make_tensor_value_info("y", elements, [None] * weight.ndim)],
        [numpy_helper.from_array(weight, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)


def dequantized(name: str) -> Case:
    weight, scale = weights(name), np.abs(RNG.normal(size=SHAPE[0])).astype(np.float32)
    node = helper.make_node("DequantizeLinear", ["w", "s"], ["y"], axis=0)
    port = helper.make_tensor_value_info("s", TensorProto.FLOAT, scale.shape)
    wanted = weight.astype(np.float32) * scale[:, None]
    return Case(name, model([node], weight, [port], TensorProto.FLOAT), [scale], [wanted], 1e-6, 0.0)


def cast(name: str) -> Case:
    weight = weights(name)
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    return Case(name, model([node], weight, [], TensorProto.FLOAT), [], [weight.astype(np.float32)], 0.0, 0.0)


@pytest.mark.parametrize(("make", "types"), [(dequantized, TYPES), (cast, TYPES + TYPES_ONLY_MOVED)])
def test_packed_weights(make, types: list[str]) -> None:
    result = node_suite.run_suite([make(name) for name in types], jobs=2)
    assert result.failures == {}


def complex_case(name: str, nodes: list, feeds: dict, constants: dict, wanted: np.ndarray) -> Case:
    elements = helper.np_dtype_to_tensor_dtype(wanted.dtype)
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info(port, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for port, value in feeds.items()
        ],
        [helper.make_tensor_value_info("y", elements, [None] * wanted.ndim)],
        [numpy_helper.from_array(value, port) for port, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)
    return Case(name, model, list(feeds.values()), [wanted], 0.0, 0.0)


def complex_cases() -> list[Case]:
    def numbers(*shape: int) -> np.ndarray:
        return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(np.complex64)

    x, weight, other = numbers(2, 3), numbers(20, 30), numbers(2, 3)
    mask = np.array([[True, False, True]])
    moved = np.tile(np.concatenate([x.T, x.T], 1), (1, 2)).reshape(2, 12)[[1, 0, 1]]
    nodes = [
        helper.make_node("Transpose", ["x"], ["a"]),
        helper.make_node("Concat", ["a", "a"], ["b"], axis=1),
        helper.make_node("Tile", ["b", "r"], ["c"]),
        helper.make_node("Reshape", ["c", "s"], ["d"]),
        helper.make_node("Gather", ["d", "i"], ["y"], axis=0),
    ]
    constants = {"r": np.array([1, 2]), "s": np.array([2, 12]), "i": np.array([1, 0, 1])}
    pads, ends = {"p": np.array([0, 1, 1, 0])}, {"b": np.array([1, 2]), "e": np.array([5, 9])}
    double = x[:1].astype(np.complex128)
    return [
        complex_case("move", nodes, {"x": x}, constants, moved),
        complex_case("pad", [helper.make_node("Pad", ["x", "p"], ["y"])], {"x": x}, pads, np.pad(x, ((0, 1), (1, 0)))),
        complex_case(
            "where",
            [helper.make_node("Where", ["c", "x", "w"], ["y"])],
            {"c": mask, "x": x},
            {"w": other},
            np.where(mask, x, other),
        ),
        complex_case(
            "weight",
            [helper.make_node("Slice", ["w", "b", "e"], ["y"])],
            {},
            {"w": weight, **ends},
            weight[1:5, 2:9].copy(),
        ),
        complex_case(
            "expand",
            [helper.make_node("Expand", ["x", "s"], ["y"])],
            {"x": double},
            {"s": np.array([4, 3])},
            np.broadcast_to(double, (4, 3)).copy(),
        ),
    ]


def test_complex_numbers_move() -> None:
    result = node_suite.run_suite(complex_cases(), jobs=2)
    assert result.failures == {}
