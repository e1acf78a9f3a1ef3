#!/usr/bin/env python3
"""Write ODS (TableGen) definitions of the newest ONNX operators from the schemas of the onnx package.

Usage: gen_onnx_ops.py OUT.td [--domains '' ai.onnx.ml]
Made in the build folder and included by ONNXOps.td after ONNXBase.td, which defines the dialect, its types and the
base class of all operators.
"""

import argparse
import re

import onnx
from onnx import defs, helper

ELEMENTS = {  # ONNX name -> ODS constraint; signed integers are signless in MLIR, unsigned ones keep their sign
    "float": "F32",
    "double": "F64",
    "float16": "F16",
    "bfloat16": "BF16",
    "bool": "I1",
    "string": "ONNX_String",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "int4": "I<4>",
    "int2": "I<2>",
    "uint64": "UI64",
    "uint32": "UI32",
    "uint16": "UI16",
    "uint8": "UI8",
    "uint4": "UI<4>",
    "uint2": "UI<2>",
    "complex64": "Complex<F32>",
    "complex128": "Complex<F64>",
    "float8e4m3fn": "F8E4M3FN",
    "float8e4m3fnuz": "F8E4M3FNUZ",
    "float8e5m2": "F8E5M2",
    "float8e5m2fnuz": "F8E5M2FNUZ",
    "float8e8m0": "F8E8M0FNU",
    "float4e2m1": "F4E2M1FN",
    "float6e2m3": "F6E2M3FN",
    "float6e3m2": "F6E3M2FN",
}
SIMPLE_ATTRS = {  # ONNX attribute type -> ODS attribute
    "INT": "I64Attr",
    "FLOAT": "F32Attr",
    "STRING": "StrAttr",
    "INTS": "DenseI64ArrayAttr",
    "FLOATS": "DenseF32ArrayAttr",
    "STRINGS": "StrArrayAttr",
    "TENSOR": "ElementsAttr",
    "SPARSE_TENSOR": "ElementsAttr",
    "TYPE_PROTO": "TypeAttr",
}
# Deterministic by their schema, but random or stateful in training mode.
RANDOM = {"Dropout", "BatchNormalization"}
# Names that would clash with members of mlir::OpState, mlir::Op or a trait when turned into getXxx().
RESERVED = {
    "type": "type_attr",
    "operation": "operation_",
    "loc": "loc_",
    "context": "context_",
    "attrs": "attrs_",
    "properties": "properties_",
    "operands": "operands_",
    "results": "results_",
    "result": "result_",
}


class Constraints:
    """Names each set of allowed types once, so that mlir-tblgen emits one check per set instead of one per operand."""

    def __init__(self, prefix="ONNX_T"):
        self.prefix, self.by_set = prefix, {}

    def name(self, type_strings):
        return self.by_set.setdefault(frozenset(type_strings), f"{self.prefix}{len(self.by_set)}")

    @staticmethod
    def split(text):
        """'optional(seq(tensor(float)))' -> ('ONNX_OptOf<ONNX_SeqOf<{}>>', 'F32'); a map is its own element."""
        for prefix, wrapper in (("seq", "ONNX_SeqOf<{}>"), ("optional", "ONNX_OptOf<{}>")):
            if match := re.fullmatch(prefix + r"\((.*)\)", text):
                inner, element = Constraints.split(match[1])
                return wrapper.format(inner), element
        if match := re.fullmatch(r"map\((.*), *(?:tensor\()?(.*?)\)?\)", text):
            return "{}", f"ONNX_MapOf<{ELEMENTS[match[1]]}, TensorOf<[{ELEMENTS[match[2]]}]>>"
        return "{}", ELEMENTS[re.fullmatch(r"(?:sparse_)?tensor\((.*)\)", text)[1]]

    def emit(self, out):
        for types, name in self.by_set.items():
            groups = {}
            for wrapper, element in sorted(map(self.split, types)):
                groups.setdefault((wrapper, element.startswith("ONNX_MapOf")), []).append(element)
            parts = []
            for (wrapper, is_map), elements in groups.items():
                inner = f"AnyTypeOf<[{', '.join(elements)}]>" if is_map else f"TensorOf<[{', '.join(elements)}]>"
                parts.append(wrapper.format(inner))
            summary = literal(
                ", ".join(sorted(types)) if len(types) < 30 else f"one of {len(types)} types of the ONNX schema"
            )
            out.append(f"def {name} : AnyTypeOf<[{', '.join(parts + ['ONNX_Unknown'])}], {summary}>;")


def flag(value):
    return "true" if value else "false"


def identifier(name):
    return RESERVED.get(name, name)


def literal(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def default_of(attribute):
    """The C++ expression of a default value for ODS, or None when there is none."""
    kind, value = attribute.type.name, attribute.default_value
    if value is None or value.type == onnx.AttributeProto.UNDEFINED:
        return None
    value = helper.get_attribute_value(value)
    if kind == "INT":
        return str(value)
    if kind == "FLOAT":
        return f"{value!r}f" if "e" in repr(value) or "." in repr(value) else f"{value}.0f"
    if kind == "STRING":
        return literal(value.decode())
    if kind in ("INTS", "FLOATS"):
        return "{" + ", ".join(str(v) for v in value) + "}"
    if kind == "STRINGS":
        return "{" + ", ".join(literal(v.decode()) for v in value) + "}"
    return None


def ods_attribute(attribute):
    base = SIMPLE_ATTRS[attribute.type.name]
    if attribute.required:
        return base
    default = default_of(attribute)
    if (
        default is None or base == "StrArrayAttr"
    ):  # a default of strings needs a builder expression: keep it in the schema
        return f"OptionalAttr<{base}>"
    return f"DefaultValuedOptionalAttr<{base}, {literal(default)}>"


def parameters(schema, formals, constraints):
    """ODS values, the count of groups, whether the last one is variadic, and whether sizes must be stored."""
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    values, loose = [], 0
    for formal in formals:
        name = constraints.name(allowed.get(formal.type_str, [formal.type_str]))
        option = formal.option.name
        loose += option != "Single"
        wrapped = {"Single": name, "Optional": f"Optional<{name}>", "Variadic": f"Variadic<{name}>"}[option]
        values.append(f"{wrapped}:${identifier(formal.name)}")
    last_variadic = bool(formals) and formals[-1].option.name == "Variadic"
    return values, len(formals), last_variadic, loose > 1


def operation(schema, constraints, dialect="ONNX"):
    ml = schema.domain == "ai.onnx.ml"
    operands, n_in, in_variadic, in_sizes = parameters(schema, schema.inputs, constraints)
    results, n_out, out_variadic, out_sizes = parameters(schema, schema.outputs, constraints)
    attributes, regions = [], []
    for name, attribute in schema.attributes.items():
        if attribute.type.name == "GRAPH":
            regions.append(name)
        else:
            attributes.append(f"{ods_attribute(attribute)}:${identifier(name)}")
    regions.sort(reverse=True)  # then_branch before else_branch; the schema lists attributes by alphabet
    traits = (["AttrSizedOperandSegments"] if in_sizes else []) + (["AttrSizedResultSegments"] if out_sizes else [])
    if regions:
        traits.append("RecursiveMemoryEffects")
    elif schema.node_determinism != defs.OpSchema.NodeDeterminism.NonDeterministic and schema.name not in RANDOM:
        traits.append("Pure")
    class_name = ("ML" if ml else "") + schema.name
    mnemonic = ("ml." if ml else "") + schema.name
    summary = f"ONNX {schema.domain or 'ai.onnx'}.{schema.name}, since opset {schema.since_version}"
    lines = [
        f"def {dialect}_{class_name}Op : {dialect}_Op<{literal(mnemonic)}, [{', '.join(traits)}]> {{",
        f"  let summary = {literal(summary)};",
        f"  let description = [{{{(schema.doc or '').replace('}]', '} ]')}}}];",
        f"  let arguments = (ins {', '.join(operands + attributes)});",
        f"  let results = (outs {', '.join(results)});",
    ]
    if regions:
        lines.append(f"  let regions = (region {', '.join(f'SizedRegion<1>:${identifier(r)}' for r in regions)});")
    layout = ", ".join(
        [literal(schema.name), literal(schema.domain), str(schema.since_version)]
        + [str(n_in), flag(in_variadic), flag(in_sizes), str(n_out), flag(out_variadic), flag(out_sizes)]
        + ["{" + ", ".join(literal(r) for r in regions) + "}", str(len(regions))]
    )
    lines += [
        "  let extraClassDeclaration = [{",
        f"    static constexpr ::hethub::ox::NodeLayout nodeLayout{{{layout}}};",
        "    static const ::hethub::ox::NodeLayout &getNodeLayout() { return nodeLayout; }",
        "  }];",
        "}",
        "",
    ]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--domains", nargs="*", default=["", "ai.onnx.ml"])
    arguments = parser.parse_args()
    constraints, body = Constraints(), []
    schemas = [s for s in defs.get_all_schemas() if s.domain in arguments.domains]
    for schema in sorted(schemas, key=lambda s: (s.domain, s.name)):
        body += operation(schema, constraints)
    head = [f"// Generated from onnx {onnx.__version__}, opset {defs.onnx_opset_version()}. Do not edit.", ""]
    constraints.emit(head)
    with open(arguments.out, "w") as file:
        file.write("\n".join(head + [""] + body))
    print(f"{len(schemas)} operators, {len(constraints.by_set)} type sets")


if __name__ == "__main__":
    main()
