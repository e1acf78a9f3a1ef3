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
from printed_ir import Program, Unsupported

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


class Skip(Exception):
    """A case that is not lowered, with the reason."""


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
    passes = ["--hh-normalize", "--hh-lower-to-aten"]
    return run_tool(TOOLS / "hh-opt", imported, *passes, "--mlir-print-debuginfo=false")


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
            except (Skip, Unsupported) as reason:
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
