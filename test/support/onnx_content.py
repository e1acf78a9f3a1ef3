"""What an ONNX file says, in a form in which two files can be compared: how a file spells it does not matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
    helper,
    numpy_helper,
)

LISTED_FIELDS = ("producer_name", "producer_version", "domain", "model_version", "doc_string", "ir_version")


def pairs(entries: Any) -> list[tuple[str, str]]:
    return [(entry.key, entry.value) for entry in entries]


def tensor(value: TensorProto, folder: Path) -> tuple:
    """Type, dims and bytes, wherever and however they are stored."""
    if value.data_location == TensorProto.EXTERNAL:
        where = {entry.key: entry.value for entry in value.external_data}
        offset, length = int(where.get("offset", 0)), int(where.get("length", 0))
        with (folder / where["location"]).open("rb") as file:
            file.seek(offset)
            content = file.read(length) if length else file.read()
        if not length:
            content = content[: numpy_helper.to_array(empty_like(value)).nbytes]
        return value.data_type, tuple(value.dims), content
    if value.data_type == TensorProto.STRING:
        return value.data_type, tuple(value.dims), tuple(value.string_data)
    return value.data_type, tuple(value.dims), raw(value)


def empty_like(value: TensorProto) -> TensorProto:
    return numpy_helper.from_array(np.zeros(tuple(value.dims), helper.tensor_dtype_to_np_dtype(value.data_type)))


def raw(value: TensorProto) -> bytes:
    if value.HasField("raw_data"):
        return value.raw_data
    copy = TensorProto(data_type=value.data_type, dims=value.dims)
    copy.CopyFrom(value)
    return numpy_helper.from_array(numpy_helper.to_array(copy)).raw_data


def attribute(value: AttributeProto, folder: Path) -> Any:
    found = helper.get_attribute_value(value)
    if value.type == AttributeProto.TENSOR:
        return tensor(value.t, folder)
    if value.type == AttributeProto.GRAPH:
        return graph(value.g, folder, inner=True)
    if value.type == AttributeProto.FLOAT:
        return np.float32(found).tobytes()
    if value.type == AttributeProto.FLOATS:
        return np.asarray(found, np.float32).tobytes()
    if value.type == AttributeProto.TYPE_PROTO:
        return value.tp.SerializeToString()
    return tuple(found) if isinstance(found, (list, tuple)) or hasattr(found, "__len__") else found


def node(value: NodeProto, folder: Path) -> dict[str, Any]:
    inputs, outputs = list(value.input), list(value.output)
    while inputs and not inputs[-1]:
        inputs.pop()  # left out, by another spelling
    while outputs and not outputs[-1]:
        outputs.pop()
    return {
        "op": ("" if value.domain == "ai.onnx" else value.domain, value.op_type),
        "name": value.name,
        "inputs": inputs,
        "outputs": outputs,
        "attributes": {a.name: (a.type, attribute(a, folder)) for a in value.attribute},
        "doc": value.doc_string,
        "metadata": pairs(value.metadata_props),
        "devices": [d.SerializeToString() for d in value.device_configurations],
    }


def shape(kind: TypeProto) -> list | None:
    """Of the tensor inside sequences and optionals."""
    for outer in ("sequence_type", "optional_type"):
        if kind.HasField(outer):
            return shape(getattr(kind, outer).elem_type)
    if not kind.HasField("tensor_type") or not kind.tensor_type.HasField("shape"):
        return None
    dims = kind.tensor_type.shape.dim
    return [d.dim_value if d.HasField("dim_value") and d.dim_value >= 0 else d.dim_param.replace("?", "") for d in dims]


def element(kind: TypeProto) -> str:
    """The type without shapes."""
    for outer in ("sequence_type", "optional_type"):
        if kind.HasField(outer):
            return f"{outer} of {element(getattr(kind, outer).elem_type)}"
    return str(kind.tensor_type.elem_type) if kind.HasField("tensor_type") else str(kind)


def port(value: ValueInfoProto) -> dict[str, Any]:
    return {
        "name": value.name,
        "type": element(value.type),
        "shape": shape(value.type),
        "doc": value.doc_string,
        "metadata": pairs(value.metadata_props),
    }


def graph(value: GraphProto, folder: Path, inner: bool = False) -> dict[str, Any]:
    results = {name for n in value.node for name in n.output} - {o.name for o in value.output}
    weights = {w.name for w in value.initializer}
    return {
        "name": value.name,
        "doc": value.doc_string,
        "metadata": pairs(value.metadata_props),
        # Of an input with a default value the type is that of the value.
        "inputs": [v.name if v.name in weights else port(v) for v in value.input],
        "outputs": [port(v) for v in value.output],
        "nodes": [node(n, folder) for n in value.node],
        "weights": {w.name: (tensor(w, folder), w.doc_string, pairs(w.metadata_props)) for w in value.initializer},
        # Declarations of inputs, outputs and weights repeat what these say; others are of nothing.
        "declared": {v.name: port(v) for v in value.value_info if v.name in results},
        "quantization": [a.SerializeToString() for a in value.quantization_annotation],
    }


def content(path: Path) -> dict[str, Any]:
    model: ModelProto = onnx.load(path, load_external_data=False)
    return {
        **{name: getattr(model, name) for name in LISTED_FIELDS},
        "metadata": pairs(model.metadata_props),
        "opsets": {"" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import},
        "configurations": [c.SerializeToString() for c in model.configuration],
        "graph": graph(model.graph, path.parent),
    }


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where `other` does not say what `one` says. A shape that only `other` has is no difference, nor is a size in
    place of a symbol: types may become more exact."""
    if isinstance(one, dict) and isinstance(other, dict):
        missing = [f"{where}.{key}: only in one" for key in one.keys() ^ other.keys()]
        shared = [key for key in one if key in other]
        return missing + [d for key in shared for d in differences(one[key], other[key], f"{where}.{key}")]
    if where.endswith(".shape"):
        if one is None or one == other:
            return []
        if other is not None and len(one) == len(other):
            pairs_of_dims = zip(one, other, strict=True)
            if all(a == b or (isinstance(a, str) and (isinstance(b, int) or not a)) for a, b in pairs_of_dims):
                return []
        return [f"{where}: {one} and {other}"]
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        if len(one) != len(other):
            return [f"{where}: {len(one)} and {len(other)} entries"]
        return [d for i, (a, b) in enumerate(zip(one, other, strict=True)) for d in differences(a, b, f"{where}[{i}]")]
    return [] if one == other else [f"{where}: {str(one)[:80]} and {str(other)[:80]}"]
