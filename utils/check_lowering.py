#!/usr/bin/env python3
"""Check hh-lower-to-aten on the node test suite of the onnx package, without emitter and runtime.

Usage: check_lowering.py [-k PATTERN] [--library libhethub_runtime.so] [--verbose]
Each case is imported by hh-translate and lowered by hh-opt; the printed calls are then made one by one through
torch.ops, and the results compared with the suite's. Inputs that only give shapes, axes and the like (SHAPE_INPUTS) are
made constants first, since shapes must be known when compiling. The tools are those of build/bin, or of the folder
that HETHUB_TOOLS names. Prints one line a failure and a summary by reason.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper

TOOLS = Path(os.environ.get("HETHUB_TOOLS", Path(__file__).resolve().parent.parent / "build/bin"))
SHAPE_INPUTS = {
    "Reshape": [1], "Expand": [1], "Slice": [1, 2, 3, 4], "Tile": [1], "Pad": [1, 3], "Resize": [1, 2, 3],
    "Squeeze": [1], "Unsqueeze": [1], "TopK": [1], "ConstantOfShape": [0], "Range": [0, 1, 2], "OneHot": [1],
    "CumSum": [1], "CumProd": [1], "Split": [1], "Compress": [1], "Trilu": [1], "CenterCropPad": [1],
    "AffineGrid": [1], "Col2Im": [1, 2], "MaxUnpool": [2], "Dropout": [1, 2], "BlackmanWindow": [0],
    "HannWindow": [0], "HammingWindow": [0], "DFT": [1, 2],
    **{f"Reduce{name}": [1] for name in
       ["Sum", "Prod", "Max", "Min", "Mean", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"]},
}  # fmt: skip
DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i1": torch.bool,
    "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "ui8": torch.uint8,
    "ui16": torch.uint16, "ui32": torch.uint32, "ui64": torch.uint64, "f8E4M3FN": torch.float8_e4m3fn,
    "f8E4M3FNUZ": torch.float8_e4m3fnuz, "f8E5M2": torch.float8_e5m2, "f8E5M2FNUZ": torch.float8_e5m2fnuz,
}  # fmt: skip


class Skip(Exception):
    """A case that is not lowered, with the reason."""


# ---------------------------------------------------------------------------------------------------------------------
# Reading the printed IR
# ---------------------------------------------------------------------------------------------------------------------


def split_top(text):
    """Splits at commas outside of brackets and quotes."""
    parts, depth, start, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c in "([{<") - (c in ")]}" or (c == ">" and text[i - 1] != "-"))
            if c == "," and depth == 0:
                parts.append(text[start:i].strip())
                start = i + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


def closing(text, start):
    """Position of the bracket that closes the one at `start`."""
    depth, quoted = 0, False
    for i in range(start, len(text)):
        c = text[i]
        if c == '"':
            quoted = not quoted
        elif not quoted:
            depth += c in "([{"
            depth -= c in ")]}"
            if depth == 0:
                return i
    raise ValueError(text)


def number(text):
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text.startswith("0x"):
        return np.frombuffer(bytes.fromhex(text[2:])[::-1], np.float64)[0].item()
    return float(text) if re.search(r"[.e]", text) else int(text)


def attribute(text):
    if match := re.fullmatch(r"array<(\w+)(?:: (.*))?>", text):
        return [number(v) for v in match[2].split(",")] if match[2] else []
    if text.startswith('"'):
        return text[1:-1]
    text = text.rpartition(" : ")[0] if " : " in text else text
    if text in DTYPES:
        return DTYPES[text]
    return number(text)


def tensor_type(text):
    *dims, element = re.fullmatch(r"tensor<(.*)>", text)[1].split("x")
    return [int(d) for d in dims], DTYPES[element]


def dense(text, dims, dtype):
    """The elements of dense<...>."""
    bits = torch.empty((), dtype=dtype).element_size()
    if text.startswith('"0x'):
        data = bytearray.fromhex(text[3:-1])
        count = int(np.prod(dims))
        if dtype == torch.bool and len(data) not in (1, count):  # eight to a byte
            bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count]
            return torch.from_numpy(bits.astype(bool)).reshape(dims)
        flat = torch.frombuffer(data, dtype=dtype)
        return flat.expand(dims).clone() if flat.numel() == 1 else flat.reshape(dims).clone()

    def value(token):
        if token.startswith("0x"):
            raw = bytes.fromhex(token[2:].zfill(2 * bits))[::-1]
            return torch.frombuffer(bytearray(raw), dtype=dtype)[0].item()
        return number(token)

    tokens = re.findall(r"0x[0-9A-Fa-f]+|-?\d[\d.]*(?:[eE][+-]?\d+)?|true|false", text)
    values = [value(t) for t in tokens]
    if dtype in (torch.uint16, torch.uint32, torch.uint64):
        flat = torch.from_numpy(np.array(values, dtype=str(dtype).split(".")[1]))
    else:
        flat = torch.tensor(values, dtype=torch.float64 if dtype.is_floating_point else dtype).to(dtype)
    if flat.numel() == 1:
        return flat.reshape([]).expand(dims).clone() if dims else flat.reshape([])
    return flat.reshape(dims)


# ---------------------------------------------------------------------------------------------------------------------
# Running it
# ---------------------------------------------------------------------------------------------------------------------


class Program:
    def __init__(self, text, parameters):
        self.lines = [line.strip() for line in text.splitlines()]
        self.parameters = parameters
        self.position = next(i for i, line in enumerate(self.lines) if line.startswith("func.func"))

    def run(self, inputs):
        head = self.lines[self.position]
        names = re.findall(r"(%[\w.$-]+): ", head[: closing(head, head.index("(")) + 1])
        self.values = dict(zip(names, inputs, strict=True))
        self.position += 1
        return self.block(True)

    def block(self, live):
        """Runs (or, where not `live`, skips) lines up to the end of a block; gives what it returns."""
        result = None
        while True:
            line = self.lines[self.position]
            self.position += 1
            if line.startswith("}"):
                self.position -= 1
                return result
            if line.startswith(("return", "hh.yield")):
                if live:
                    operands = line.split(" : ")[0].split(None, 1)
                    result = [self.values[v] for v in split_top(operands[1])] if len(operands) > 1 else []
                continue
            self.operation(line, live)

    def operation(self, line, live):
        results, _, body = line.partition(" = ")
        if body.startswith("hh.if"):
            condition = body.split()[1].rstrip(":")
            chosen = live and bool(self.values[condition])
            first = self.block(live and chosen)
            self.position += 1  # } else {
            second = self.block(live and not chosen)
            self.position += 1  # }
            if live:
                self.define(results, first if chosen else second)
            return
        if not live:
            return
        if body.startswith("hh.constant"):
            match = re.fullmatch(r"hh.constant dense<(.*)> : (tensor<[^>]*>) : .*", body) or re.fullmatch(
                r"hh.constant dense<(.*)> : (tensor<[^>]*>)", body
            )
            self.define(results, [dense(match[1], *tensor_type(match[2]))])
        elif body.startswith("hh.get_parameter"):
            name = re.match(r'hh.get_parameter @"?([^"]*?)"? :', body)[1]
            self.define(results, [self.parameters[name]])
        elif body.startswith("aten."):
            self.define(results, self.call(body))
        else:
            raise Skip(f"unexpected operation {body[:60]}")

    def call(self, body):
        start = body.index("(")
        end = closing(body, start)
        parts = body[5:start].split(".")
        library = torch.ops.hethub if parts[0] == "hethub" else torch.ops.aten
        parts = parts[1:] if parts[0] == "hethub" else parts
        operator = getattr(getattr(library, parts[0]), parts[1] if len(parts) > 1 else "default")
        tensors = iter(split_top(body[start + 1 : end]))
        rest, attributes = body[end + 1 :].strip(), {}
        if rest.startswith("{"):
            for item in split_top(rest[1 : closing(rest, 0)]):
                key, _, value = item.partition(" = ")
                attributes[key] = attribute(value)
        positional, keywords = [], {}
        for argument in operator._schema.arguments:
            kind = str(argument.type)
            if "Tensor" in kind:
                token = next(tensors, "none")
                if token.startswith("["):
                    value = [None if t == "none" else self.values[t] for t in split_top(token[1:-1])]
                else:
                    value = None if token == "none" else self.values[token]
            elif argument.name in attributes:
                value = attributes[argument.name]
            elif argument.has_default_value():
                value = argument.default_value
            else:
                value = None
            if argument.kwarg_only:
                if argument.name in attributes:
                    keywords[argument.name] = value
            else:
                positional.append(value)
        result = operator(*positional, **keywords)
        values = list(result) if isinstance(result, tuple) else [result]
        for value, kind in zip(values, split_top(body[body.rindex("-> (") + 4 : -1]), strict=True):
            dims, dtype = tensor_type(kind)
            if list(value.shape) != dims or value.dtype != dtype:
                raise TypeError(f"{body[:start]} gave {list(value.shape)} {value.dtype}, not {kind}")
        return values

    def define(self, results, values):
        if not results:
            return
        name, _, count = results.partition(":")
        if count:
            self.values.update({f"{name}#{i}": v for i, v in enumerate(values)})
        else:
            self.values[name] = values[0]


# ---------------------------------------------------------------------------------------------------------------------
# The suite
# ---------------------------------------------------------------------------------------------------------------------


def with_constants(model, inputs):
    """Turns shape inputs of the model's nodes into initializers; gives the model and the remaining inputs."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    by_name = dict(zip([i.name for i in model.graph.input], inputs, strict=False))
    for node in model.graph.node:
        for position in SHAPE_INPUTS.get(node.op_type, []):
            if position < len(node.input) and node.input[position] in by_name:
                name = node.input[position]
                tensor = by_name.pop(name)
                model.graph.initializer.append(numpy_helper.from_array(tensor, name))
    kept = [i for i in model.graph.input if i.name in by_name]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model, [by_name[i.name] for i in kept]


def to_torch(array):
    if isinstance(array, onnx.TensorProto):
        array = numpy_helper.to_array(array)
    array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
    name = str(array.dtype)
    special = {"bfloat16": torch.bfloat16, "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2,
               "float8_e4m3fnuz": torch.float8_e4m3fnuz, "float8_e5m2fnuz": torch.float8_e5m2fnuz}  # fmt: skip
    if name in special:
        raw = array.view(np.uint16 if name == "bfloat16" else np.uint8)
        return torch.from_numpy(raw.copy()).view(special[name])
    return torch.from_numpy(array.copy())


def parameters_of(graph):
    """Initializers and constants of a graph and of its sub-graphs, by name."""
    found = {i.name: to_torch(i) for i in graph.initializer if i.data_type != onnx.TensorProto.STRING}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found |= parameters_of(attribute.g)
            elif node.op_type == "Constant" and attribute.name == "value":
                found[node.output[0]] = to_torch(attribute.t)
    return found


def run_tool(*command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        raise Skip(errors[0].split("error: ", 1)[1] if errors else f"exit code {done.returncode}: {done.stderr[-200:]}")
    return done.stdout


def lowered(model, folder, name):
    path = folder / f"{name}.onnx"
    path.write_bytes(model.SerializeToString())
    imported = folder / f"{name}.mlir"
    run_tool(TOOLS / "hh-translate", "--import-onnx", path, "-o", imported)
    return run_tool(TOOLS / "hh-opt", imported, "--hh-normalize", "--hh-lower-to-aten")


def check(case, folder):
    """Empty where the case passes."""
    for inputs, outputs in case.data_sets:
        if any(isinstance(v, (list, tuple)) or v is None for v in [*inputs, *outputs]):
            raise Skip("sequence or optional values")
        if any(getattr(v, "dtype", None) is not None and v.dtype.kind in "OUS" for v in [*inputs, *outputs]):
            raise Skip("strings")
        model, inputs = with_constants(case.model, inputs)
        text = lowered(model, folder, case.name)
        parameters = parameters_of(model.graph)
        with torch.no_grad():
            results = Program(text, parameters).run([to_torch(v) for v in inputs])
        for i, (got, want) in enumerate(zip(results, outputs, strict=True)):
            want = to_torch(want)
            if got.shape != want.shape or got.dtype != want.dtype:
                return f"output {i}: {list(got.shape)} {got.dtype}, not {list(want.shape)} {want.dtype}"
            a, b = got.double().numpy(), want.double().numpy()
            # The suite rounds intermediate results of small floats, LibTorch's kernels do not.
            small = got.dtype in (torch.float16, torch.bfloat16)
            rtol = max(case.rtol, 2 * torch.finfo(got.dtype).eps) if small else case.rtol
            if not np.allclose(a, b, rtol=rtol, atol=case.atol, equal_nan=True):
                return f"output {i}: largest difference {np.nanmax(np.abs(a - b)):.3g}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only cases whose name matches this pattern")
    parser.add_argument("--library", help="shared library with the hethub operators")
    parser.add_argument("--verbose", action="store_true", help="also list the cases that are refused")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.library:
        torch.ops.load_library(arguments.library)
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [c for c in collect_testcases(None) if re.search(arguments.k, c.name)]
    counts, reasons, wrong = collections.Counter(), collections.defaultdict(list), []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:

        def one(case):
            try:
                return case.name, "wrong" if (message := check(case, Path(folder))) else "passed", message
            except Skip as reason:
                return case.name, "refused", str(reason)
            except Exception as error:
                return (
                    case.name,
                    "failed",
                    f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}",
                )

        for name, status, message in pool.map(one, cases):
            counts[status] += 1
            if status == "refused":
                reasons[message].append(name)
            elif status != "passed":
                wrong.append(f"{status} {name}: {message}")
    print("\n".join(wrong))
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"refused {len(names)}: {reason}" + (f" {names}" if arguments.verbose else f" ({names[0]})"))
    print("summary:", dict(counts))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
