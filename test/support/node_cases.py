"""ONNX's own node suite (onnx.backend.test): its cases, their arrays as .npz files, and its comparison."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.runner import Runner

# Loss cases have labels that are no class of their own; the suite's formulas warn of the division by zero.
warnings.filterwarnings("ignore", module="onnx")


@dataclass(frozen=True)
class Case:
    name: str
    model: onnx.ModelProto
    inputs: list[Any]
    outputs: list[Any]
    rtol: float
    atol: float


def collect(pattern: str = "") -> list[Case]:
    """All cases of the suite whose name has a match of the pattern, in the order of their names."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [case for case in collect_testcases(None) if re.search(pattern, case.name)]
    cases = []
    for case in sorted(found, key=lambda case: case.name):
        ((inputs, outputs),) = case.data_sets  # a node test has one data set
        cases.append(Case(case.name, case.model, list(inputs), list(outputs), case.rtol, case.atol))
    return cases


# Elements of less than a byte are held one a byte: integers as numbers, floats as codes.
HELD = {"int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8}
CODED = ("float4_e2m1fn",)


def array(value: Any) -> np.ndarray:
    """A value of the suite as files hold it."""
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    value = np.asarray(value)
    if value.dtype.name in HELD:
        return value.astype(HELD[value.dtype.name])
    if value.dtype.name in CODED:
        return value.view(np.uint8)
    return value.astype(str) if value.dtype == object else value


def comparable(values: list[Any]) -> list[np.ndarray]:
    """Arrays in a row, those of sequences among them, as the suite's comparison takes them: it knows text as objects,
    no eight-bit floats, and no scalars in sequences."""
    flat: list[np.ndarray] = []
    for value in values:
        if isinstance(value, list):
            flat += comparable(value)
        elif value is not None and value.dtype.kind == "U":
            flat.append(value.astype(object))
        elif value is not None:
            flat.append(value.astype(np.float32) if value.dtype.name.startswith("float8") else value)
    return flat


def entries(name: str, value: Any) -> dict[str, np.ndarray]:
    """The arrays of a .npz file that stand for a value: a sequence has its length under NAME[] and its elements under
    NAME[i]; an optional that holds nothing is not there."""
    if value is None:
        return {}
    if isinstance(value, (list, tuple)):
        named = {f"{name}[]": np.asarray(len(value), dtype=np.int64)}
        for i, element in enumerate(value):
            named |= entries(f"{name}[{i}]", element)
        return named
    return {name: array(value)}


def write_inputs(case: Case, path: Path) -> None:
    named: dict[str, np.ndarray] = {}
    for port, value in zip(case.model.graph.input, case.inputs, strict=False):
        named |= entries(port.name, value)
    np.savez(path, **named)


def value_like(arrays: Any, name: str, expected: Any) -> Any:
    """The value under `name`; of element types that NumPy lacks, whose files hold bits only, that of `expected`."""
    if f"{name}[]" in arrays:
        likes = expected if isinstance(expected, (list, tuple)) else []
        count = int(arrays[f"{name}[]"])
        return [value_like(arrays, f"{name}[{i}]", likes[i] if i < len(likes) else None) for i in range(count)]
    if name not in arrays:
        return None
    found = arrays[name]
    if found.dtype.kind == "V" and expected is not None:
        wanted = array(expected).dtype
        if found.dtype.itemsize == wanted.itemsize:
            found = found.view(wanted)
    return found


def difference(case: Case, path: Path) -> str:
    """Why the outputs in a file are not those of the suite within its tolerances; empty where they are."""
    with np.load(path, allow_pickle=False) as file:
        got = [
            value_like(file, port.name, expected)
            for port, expected in zip(case.model.graph.output, case.outputs, strict=False)
        ]
    wanted = []
    for expected in case.outputs:
        if isinstance(expected, (list, tuple)):
            wanted.append([array(element) for element in expected])
        else:
            wanted.append(None if expected is None else array(expected))
    for i, (one, other) in enumerate(zip(got, wanted, strict=True)):
        if (one is None) != (other is None) or isinstance(one, list) != isinstance(other, list):
            return f"output {i} is of another kind: {type(one).__name__}, not {type(other).__name__}"
        if isinstance(one, list) and isinstance(other, list) and len(one) != len(other):
            return f"output {i} has {len(one)} elements, not {len(other)}"
        if isinstance(one, np.ndarray) and one.dtype.kind != "U" and one.dtype != other.dtype:
            return f"output {i} has element type {one.dtype}, not {other.dtype}"
    try:
        Runner.assert_similar_outputs(comparable(wanted), comparable(got), case.rtol, case.atol)
    except (AssertionError, TypeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return "wrong: " + "; ".join(lines[:3])
    return ""
