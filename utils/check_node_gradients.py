#!/usr/bin/env python3
"""Check hh-differentiate on the node test suite of the onnx package: what lowering makes of each operator must train.

Usage: check_node_gradients.py [-k PATTERN] [--library libhethub_runtime.so] [--verbose]
Each case is lowered as check_lowering.py does; its float inputs and weights become parameters, and the loss is a
weighted sum of its float outputs. The printed forward and backward programs are run call by call, and the gradients
compared with those that torch autograd finds for the lowered calls. Prints one line a failure and a summary of what
has no gradient, by reason. Takes minutes: each case starts two tools.
"""

import argparse
import collections
import re
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import torch
from check_gradients import RELATIVE, ROOT, SEED, difference, run_programs, tool_output, type_text
from check_lowering import Skip, lowered, parameters_of, to_torch, with_constants
from printed_ir import Program, Unsupported, split_top

# Inputs that have no gradient, by case: running statistics, weights of classes.
CONSTANT_INPUTS = {"batchnorm": [3, 4], "nllloss|test_sce": [2]}
EXACTNESS = {dtype: 10 * relative for dtype, relative in RELATIVE.items()}


@dataclass
class Node:
    """A lowered case with its values: `parameters` are trained, `inputs` are not."""

    name: str
    text: str
    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)
    arguments: list[str] = field(default_factory=list)

    def weight(self, i: int, shape: torch.Size) -> torch.Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(SEED + i))


def is_float(tensor: torch.Tensor) -> bool:
    return tensor.dtype in RELATIVE


def lower(case: object, folder: Path) -> Node:
    inputs, _ = case.data_sets[0]
    if any(isinstance(v, (list, tuple)) or v is None for v in inputs):
        raise Skip("sequence or optional values")
    if any(getattr(v, "dtype", None) is not None and v.dtype.kind in "OUS" for v in inputs):
        raise Skip("strings")
    model, inputs = with_constants(case.model, inputs)
    node = Node(case.name, lowered(model, folder, case.name))
    constant = [i for pattern, places in CONSTANT_INPUTS.items() if re.search(pattern, case.name) for i in places]
    for i, value in enumerate(map(to_torch, inputs)):
        name = f"input_{i}"
        (node.parameters if is_float(value) and i not in constant else node.inputs)[name] = value
        node.arguments.append(name)
    node.parameters |= parameters_of(model.graph)
    return node


def program_text(node: Node, number: int, outputs: list[torch.Tensor]) -> str:
    """The lowered function as the program of a stage whose only result is the loss."""
    lines = [line.strip() for line in node.text.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("func.func"))
    end = max(i for i, line in enumerate(lines) if line.startswith("return"))
    symbols = [line for line in lines[:start] if line.startswith("hh.parameter")]
    program = Program(node.text, {})
    body, ports = [], []
    for argument, name in zip(program.arguments, node.arguments, strict=True):
        if name in node.parameters:
            value = node.parameters[name]
            size = value.numel() * value.element_size()
            symbols.append(f'hh.parameter @{name} : {type_text(value)} from "weights" offset 0 length {size}')
            body.append(f"{argument} = hh.get_parameter @{name} : {type_text(value)}")
        else:
            ports.append((argument, name, node.inputs[name]))
    symbols.append('hh.parameter @anchor : tensor<f64> from "weights" offset 0 length 8')
    body.append("%anchor = hh.get_parameter @anchor : tensor<f64>")
    body += lines[start + 1 : end]
    returned = split_top(lines[end].split(" : ")[0].split(None, 1)[1])
    loss = "%anchor"
    for i, (name, value) in enumerate(zip(returned, outputs, strict=True)):
        if not is_float(value):
            continue
        wide, given = type_text(value.double()), type_text(value)
        weight = f"weight_{i}"
        node.inputs[weight] = node.weight(i, value.shape)
        ports.append((f"%{weight}", weight, node.inputs[weight]))
        axes = ", ".join(map(str, range(value.dim())))
        body += [
            f"%cast_{i} = aten.to.dtype({name}) {{dtype = f64}} : ({given}) -> ({wide})",
            f"%product_{i} = aten.mul.Tensor(%cast_{i}, %{weight}) : ({wide}, {wide}) -> ({wide})",
            f"%sum_{i} = aten.sum.dim_IntList(%product_{i}) {{dim = array<i64{': ' + axes if axes else ''}>}} : "
            f"({wide}) -> (tensor<f64>)",
            f"%loss_{i} = aten.add.Tensor({loss}, %sum_{i}) : (tensor<f64>, tensor<f64>) -> (tensor<f64>)",
        ]
        loss = f"%loss_{i}"
    arguments = ", ".join(
        f'{argument}: {type_text(value)} {{onnx.name = "{name}", onnx.index = {i} : i64}}'
        for i, (argument, name, value) in enumerate(ports)
    )
    inside = "\n    ".join([*body, f"hh.return {loss} : tensor<f64>"])
    return (
        f'module @case_{number} {{\n  hh.device_type @device kind "cpu" count 1 memory 1073741824\n  '
        + "\n  ".join(symbols)
        + f"\n  hh.program @stage_0({arguments}) -> "
        + '(tensor<f64> {onnx.name = "loss", onnx.index = 0 : i64, hh.loss})\n'
        + f"      attributes {{stage = 0 : i64, device = @device, replicas = 1 : i64}} {{\n    {inside}\n  }}\n}}\n"
    )


def run_forward(node: Node, parameters: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    values = parameters | node.inputs
    torch.default_generator.manual_seed(SEED)
    return Program(node.text, parameters).run([values[name] for name in node.arguments])


def check(node: Node, printed: str) -> str:
    """Empty where the gradients agree."""
    leaves = {n: v.clone().requires_grad_() if is_float(v) else v for n, v in node.parameters.items()}
    leaves["anchor"] = torch.ones((), dtype=torch.float64, requires_grad=True)
    loss = leaves["anchor"]
    for i, value in enumerate(run_forward(node, leaves)):
        if is_float(value):
            loss = loss + (value.double() * node.inputs[f"weight_{i}"]).sum()
    trained = {n: v for n, v in leaves.items() if is_float(v)}
    wanted = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
    node.parameters["anchor"] = torch.ones((), dtype=torch.float64)
    with torch.no_grad():
        got_loss, gradients = run_programs(printed, node)
    relative = max(EXACTNESS[v.dtype] for v in trained.values())
    if problem := difference(got_loss, loss.detach(), relative):
        return f"loss {problem}"
    for (name, value), want in zip(trained.items(), wanted, strict=True):
        zeros = torch.zeros_like(value)
        problem = difference(gradients.get(name, zeros), zeros if want is None else want, relative)
        if problem:
            return f"gradient of {name} {problem}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only cases whose name matches this pattern")
    parser.add_argument("--library", default=str(ROOT / "build-runtime/lib/libhethub_runtime.so"))
    parser.add_argument("--verbose", action="store_true", help="also list the cases that are refused")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.ops.load_library(arguments.library)
    from onnx.backend.test.case.node import collect_testcases

    cases = [c for c in collect_testcases(None) if re.search(arguments.k, c.name)]
    nodes, texts, wrong = [], [], []
    reasons: dict[str, list[str]] = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:

        def attempt(case: object) -> Node | tuple[str, str]:
            try:
                return lower(case, Path(folder))
            except (Skip, Unsupported) as reason:
                return case.name, str(reason)

        for node in pool.map(attempt, cases):
            if isinstance(node, tuple):
                reasons["not lowered"].append(node[0])
                continue
            try:
                with torch.no_grad():
                    outputs = run_forward(node, node.parameters)
                if any(map(is_float, outputs)) and any(map(is_float, node.parameters.values())):
                    texts.append(program_text(node, len(nodes), outputs))
                    nodes.append(node)
                else:
                    reasons["no float input or no float output"].append(node.name)
            except Unsupported as reason:
                reasons[str(reason)].append(node.name)
        printed, complaints = tool_output(texts, Path(folder), "--hh-differentiate")
    passed = 0
    for i, node in enumerate(nodes):
        if i not in printed:
            reasons[complaints.get(i, "nothing printed")].append(node.name)
            continue
        try:
            problem = check(node, printed[i])
        except Exception as error:
            message = str(error).splitlines()[0] if str(error) else ""
            if "is not differentiable with respect to argument" in message:
                reasons[f"torch: {message}"].append(node.name)
                continue
            problem = f"{type(error).__name__}: {message}"
        passed += not problem
        if problem:
            wrong.append(f"{node.name}: {problem}")
    print("\n".join(wrong))
    for reason, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
        print(f"{len(names)}: {reason}" + (f" {names}" if arguments.verbose else f" ({names[0]})"))
    print(f"summary: {passed} passed, {len(wrong)} wrong, {sum(map(len, reasons.values()))} without a gradient")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
