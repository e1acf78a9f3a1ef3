#!/usr/bin/env python3
"""Write models whose weights are stored in one of the ways that the format has: weights.py KIND FOLDER."""

import pathlib
import struct
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save


def raw(name, array):
    return numpy_helper.from_array(array, name)


def external(name, dims, **entries):
    tensor = TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def typed(name, data_type, dims, field, values):
    tensor = TensorProto(name=name, dims=dims, data_type=data_type)
    getattr(tensor, field).extend(values)
    return tensor


def forms():
    """Raw, typed and inline forms side by side."""
    return [
        raw("large", np.arange(1024, dtype=np.float32)),
        raw("small", np.arange(4, dtype=np.float32)),
        raw("one", np.array(0.5, np.float32)),
        raw("shape", np.array([2, 2], np.int64)),
        raw("ids", np.arange(1024, dtype=np.int64)),
        typed("half", TensorProto.FLOAT16, [2], "int32_data", [0x3C00, 0x4000]),
        typed("nibbles", TensorProto.INT4, [3], "int32_data", [0x2F, 0x07]),
        typed("wide", TensorProto.INT64, [200], "int64_data", range(200)),
        raw("empty", np.zeros([0, 3], np.float32)),
        typed("text", TensorProto.STRING, [2], "string_data", [b'a"b', b""]),
        raw("flags", np.array([True, False])),
    ]


def main():
    kind, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "weights.bin").write_bytes(struct.pack("<64f", *range(64)))
    external_forms = {
        "right": {"location": "weights.bin", "offset": 128, "length": 64},
        "length-zero": {"location": "weights.bin", "length": 0},
        "absolute": {"location": "/etc/hostname"},
        "parent": {"location": "../weights.bin"},
        "missing": {"location": "gone.bin"},
        "folder": {"location": "sub"},
        "nowhere": {"offset": 0},
        "short": {"location": "weights.bin", "length": 60},
        "beyond": {"location": "weights.bin", "offset": 200, "length": 64},
        "overflow": {"location": "weights.bin", "offset": 2**63 - 8, "length": 64},
        "word": {"location": "weights.bin", "offset": "first"},
        "link": {"location": "link.bin"},
        "forged": {"location": "#weights.bin", "offset": 0, "length": 64},
    }
    tensors = forms() if kind == "forms" else [external("w", [16], **external_forms[kind])]
    if kind == "folder":
        (folder / "sub").mkdir(exist_ok=True)
    if kind == "link" and not (folder / "link.bin").exists():
        (folder / "link.bin").symlink_to("/etc/hostname")
    nodes = [helper.make_node("Identity", [t.name], [f"{t.name}_out"], f"use_{t.name}") for t in tensors]
    outputs = [helper.make_tensor_value_info(f"{t.name}_out", t.data_type, t.dims) for t in tensors]
    graph = helper.make_graph(nodes, "weights", [], outputs, tensors)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "model.onnx")


if __name__ == "__main__":
    main()
