"""The list of com.microsoft's operators says what onnxruntime's own schemas say."""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as state

TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "utils"))

import gen_microsoft_ops  # noqa: E402  (needs the path above)

LIST = TOP / "lib/Dialect/Microsoft/IR/operators.txt"


def types_of(schema, kind: str) -> list[str]:
    """The tensor types of a type variable, or the type itself."""
    for constraint in schema.type_constraints:
        if constraint.type_param_str == kind:
            return sorted(constraint.allowed_type_strs)
    return [kind]


def values(schema, formals) -> list[tuple]:
    return [(f.name, f.option.name, types_of(schema, getattr(f, "type_str", None) or f.typeStr)) for f in formals]


def default_of(attribute) -> object:
    value = getattr(attribute, "_default_value", None)
    proto = onnx.AttributeProto.FromString(value) if value else getattr(attribute, "default_value", None)
    if proto is None or proto.type == onnx.AttributeProto.UNDEFINED:
        return None
    found = onnx.helper.get_attribute_value(proto)
    return pytest.approx(found, rel=1e-6) if isinstance(found, float) else found


def attributes(schema) -> dict[str, tuple]:
    return {
        name: (a.type.name, a.required and default_of(a) is None, default_of(a))
        for name, a in schema.attributes.items()
    }


def test_list_equals_schemas_of_onnxruntime() -> None:
    known = {
        schema.name: schema
        for schema in state.get_all_operator_schema()
        if schema.domain == "com.microsoft" or schema.name == "SimplifiedLayerNormalization"
    }
    listed = gen_microsoft_ops.read(LIST)
    assert len(listed) > 40
    for schema in listed:
        other = known[schema.name]
        assert values(schema, schema.inputs) == values(other, other.inputs), schema.name
        assert values(schema, schema.outputs) == values(other, other.outputs), schema.name
        assert attributes(schema) == attributes(other), schema.name
