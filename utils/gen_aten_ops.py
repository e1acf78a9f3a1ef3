#!/usr/bin/env python3
"""Write ODS (TableGen) definitions of LibTorch calls from their schemas.

Usage: gen_aten_ops.py OPERATORS.txt OUT.td
Each line of OPERATORS.txt is the name of a LibTorch overload (aten::add.Tensor), looked up in the
native_functions.yaml of the torch package, or the whole schema of a function of our runtime (hethub::...).
Made in the build folder and included by ATenOps.td after ATenBase.td.
"""

import argparse
import importlib.util
import re
from pathlib import Path

KINDS = {
    "Tensor": "Tensor",
    "Scalar": "Scalar",
    "int": "Int",
    "SymInt": "Int",
    "float": "Float",
    "bool": "Bool",
    "str": "Str",
    "ScalarType": "ScalarType",
    "MemoryFormat": "MemoryFormat",
    "Layout": "Layout",
    "Device": "Device",
    "Generator": "Generator",
}
LISTS = {"Tensor": "TensorList", "int": "Ints", "SymInt": "Ints", "float": "Floats", "bool": "Bools"}
RANDOM = re.compile(r"rand|normal|bernoulli|multinomial|uniform|dropout")


def schemas_of_torch():
    """Maps 'add.Tensor' to (schema text, variants). Read without importing torch, which takes seconds."""
    root = Path(importlib.util.find_spec("torchgen").origin).parent
    found, name = {}, None
    for line in (root / "packaged/ATen/native/native_functions.yaml").read_text().splitlines():
        if line.startswith("- func: "):
            schema = line[len("- func: ") :]
            name = schema[: schema.index("(")]
            found[name] = [schema, "function"]
        elif line.startswith("  variants: ") and name:
            # The comment behind it may speak of variants that do not exist.
            found[name][1] = line[len("  variants: ") :].partition("#")[0]
    return found


def split_arguments(text):
    """Splits at commas outside of brackets and parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


def argument(text, keyword_only):
    """One schema argument as a C++ ArgumentLayout initialiser."""
    match = re.fullmatch(r"(\w+)(?:\([a-z]\))?(\?)?(?:\[(\d*)\])?(\?)?\s+(\w+)(?:=(.*))?", text)
    if not match:
        raise SystemExit(f"cannot read argument {text!r}")
    base, inner, size, outer, name, default = match.groups()
    is_list = size is not None
    kind = (LISTS if is_list else KINDS)[base]
    optional = bool(outer) or (bool(inner) and not is_list)
    default = "nullptr" if default is None else '"' + default.replace('"', "'") + '"'
    fields = [f'"{name}"', f"::hethub::aten::Kind::{kind}"]
    fields += [str(v).lower() for v in (optional, bool(inner) and is_list, keyword_only)]
    return "{" + ", ".join([*fields, default, size or "0"]) + "}", base == "SymInt"


def class_name(library, name):
    parts = re.split(r"[._]+", name.strip("_"))
    prefix = "HH" if library == "hethub" else ""
    return prefix + "".join(p[:1].upper() + p[1:] for p in parts) + "Op"


def operation(library, schema, variants):
    head, rest = schema.split("(", 1)
    body, returns = rest.rsplit(") -> ", 1)
    base, _, overload = head.partition(".")
    keyword_only, arguments, symbolic = False, [], False
    for part in split_arguments(body):
        if part == "*":
            keyword_only = True
            continue
        initialiser, is_symbolic = argument(part, keyword_only)
        symbolic |= is_symbolic
        arguments.append(initialiser)
    results = split_arguments(returns[1:-1]) if returns.startswith("(") else [returns]
    for result in results:
        if not re.fullmatch(r"Tensor(\([a-z]\))?( \w+)?", result):
            raise SystemExit(f"{head}: results must be tensors, got: {result}")
    name = head if library == "aten" else f"hethub.{head}"
    flags = [str(v).lower() for v in ("function" not in variants, symbolic)]
    layout = [f'"{library}::{head}"', f'"{library}"', f'"{base}"', f'"{overload}"', *flags]
    layout += ["schemaArguments" if arguments else "nullptr", str(len(arguments)), str(len(results))]
    traits = "" if RANDOM.search(base) and not base.endswith("_backward") else "Pure"
    cpp = class_name(library, head)
    lines = [
        f'def ATen_{cpp} : ATen_Op<"{name}", [{traits}]> {{',
        f'  let summary = "call of {library}::{head}";',
        f"  let description = [{{`{library}::{schema}`}}];",
        "  let extraClassDeclaration = [{",
    ]
    if arguments:
        joined = ",\n        ".join(arguments)
        lines.append(f"    static constexpr ::hethub::aten::ArgumentLayout schemaArguments[] = {{\n        {joined}}};")
    lines += [
        f"    static constexpr ::hethub::aten::CallLayout layout{{{', '.join(layout)}}};",
        "    static const ::hethub::aten::CallLayout &getCallLayout() { return layout; }",
        "  }];",
        "}",
        "",
    ]
    return cpp, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    torch_schemas = schemas_of_torch()
    classes, out = {}, ["// Generated by utils/gen_aten_ops.py. Do not edit.", ""]
    for line in arguments.operators.read_text().splitlines():
        line = line.split("#")[0].strip()
        if not line:
            continue
        library, rest = line.split("::", 1)
        if library == "aten":
            if rest not in torch_schemas:
                raise SystemExit(f"{arguments.operators.name}: the torch package has no operator {line}")
            schema, variants = torch_schemas[rest]
        else:
            schema, variants = rest, "function"
        cpp, lines = operation(library, schema, variants)
        if cpp in classes:
            raise SystemExit(f"{line} and {classes[cpp]} have the same class name {cpp}")
        classes[cpp] = line
        out += lines
    arguments.out.write_text("\n".join(out))
    print(f"{len(classes)} operators")


if __name__ == "__main__":
    main()
