#!/usr/bin/env python3
"""Compare what onnx-fold-constants computes with the expected outputs of ONNX's node tests.

Usage: check_folding.py [--tool build/bin/hh-translate]
Inputs of each single-node test become constants of the model, so that the whole model folds to constants if the
operator has an evaluator. Prints how many tests folded, and every difference.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from onnx import AttributeProto, helper
from onnx.backend.test.case.node import collect_testcases

TYPES = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "i1": "?", "i8": "i1", "i16": "<i2", "i32": "<i4", "i64": "<i8"}
TYPES |= {"ui8": "u1", "ui16": "<u2", "ui32": "<u4", "ui64": "<u8"}


def constants(name, array):
    """Nodes that make `array` without a weight: values in an attribute are always inline."""
    real = array.dtype.kind == "f"
    values = [float(v) if real else int(v) for v in array.flatten()]
    attributes = {
        "flat": helper.make_attribute("value_floats", values, attr_type=AttributeProto.FLOATS)
        if real
        else helper.make_attribute("value_ints", values, attr_type=AttributeProto.INTS),
        "dims": helper.make_attribute("value_ints", list(array.shape), attr_type=AttributeProto.INTS),
    }
    for suffix, attribute in attributes.items():
        node = helper.make_node("Constant", [], [f"{name}.{suffix}"])
        node.attribute.append(attribute)
        yield node
    yield helper.make_node("Reshape", [f"{name}.flat", f"{name}.dims"], [f"{name}.shaped"], allowzero=1)
    yield helper.make_node("Cast", [f"{name}.shaped"], [name], to=helper.np_dtype_to_tensor_dtype(array.dtype))


def folded(text):
    """The constants that the function returns, or None where something was not folded."""
    match = re.search(r"^ *return (.*?) : ", text, re.MULTILINE)
    results = []
    for value in match[1].split(", ") if match else [None]:
        constant = value and re.search(
            re.escape(value) + r" = onnx\.Constant\(\) \{value = dense<(.*)> : tensor<([\dx]*?)x?(u?[if]\d+)>\}", text
        )
        if not constant:
            return None
        shape = [int(d) for d in constant[2].split("x") if d]
        dtype = np.dtype(TYPES[constant[3]])
        body = constant[1]
        if body.startswith('"0x'):
            raw = bytes.fromhex(body[3:-1])
            flat = (
                np.unpackbits(np.frombuffer(raw, "u1"), bitorder="little")
                if dtype.kind == "b"
                else np.frombuffer(raw, dtype)
            )
            flat = flat[: int(np.prod(shape))]
        else:
            words = re.findall(r"[^\[\], ]+", body)
            special = {"true": 1, "false": 0}
            flat = np.array([special.get(w, w) for w in words]) if words else np.zeros(0)
            hexes = [w.startswith("0x") for w in words]
            if any(hexes):  # NaN and infinities
                unsigned = f"<u{dtype.itemsize}"
                flat = np.array(
                    [np.array(int(w, 16), unsigned).view(dtype) if h else w for w, h in zip(words, hexes, strict=True)]
                )
            flat = flat.astype(np.float64 if dtype.kind == "f" else np.int64)
        results.append(np.broadcast_to(flat.astype(dtype), [int(np.prod(shape))]).reshape(shape))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="build/bin/hh-translate")
    arguments = parser.parse_args()
    counts, wrong, operators = {}, [], set()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        for case in collect_testcases(None):
            graph = case.model.graph
            inputs, outputs = case.data_sets[0]
            plain = all(isinstance(a, np.ndarray) and a.dtype.kind in "fiub" and 0 < a.size <= 4096 for a in inputs)
            plain = plain and all(a.dtype != np.uint64 or a.max() < 2**63 for a in inputs)
            plain &= all(not isinstance(a, np.ndarray) or a.dtype.kind in "fiub" for a in outputs)
            has_graph = any(a.type == AttributeProto.GRAPH for n in graph.node for a in n.attribute)
            opset = {o.domain: o.version for o in case.model.opset_import}.get("", 0)
            if len(graph.node) != 1 or not plain or has_graph or opset < 14 or graph.node[0].domain:
                continue
            nodes = [n for i, a in zip(graph.input, inputs, strict=True) for n in constants(i.name, a)]
            nodes += graph.node
            model = helper.make_model(
                helper.make_graph(nodes, "folded", [], graph.output), opset_imports=case.model.opset_import
            )
            path.write_bytes(model.SerializeToString())
            command = [arguments.tool, f"--import-onnx={path}", "--fold"]
            result = subprocess.run(command, capture_output=True, text=True)
            values = folded(result.stdout)
            counts[values is not None] = counts.get(values is not None, 0) + 1
            if values is None:
                continue
            operators.add(graph.node[0].op_type)
            for got, expected in zip(values, outputs, strict=True):
                expected = np.asarray(expected)
                same = got.shape == expected.shape and got.dtype == expected.dtype
                tolerance = 2e-3 if expected.dtype == np.float16 else 1e-6
                if not same or not np.allclose(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True):
                    wrong.append(f"{case.name}: expected {expected.tolist()}, got {got.tolist()}"[:300])
    left = counts.get(False, 0)
    print(f"{counts.get(True, 0)} tests of {len(operators)} operators folded, {left} left, {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
