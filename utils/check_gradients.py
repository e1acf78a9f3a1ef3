#!/usr/bin/env python3
"""Check the rules of hh-differentiate against torch autograd and finite differences.

Usage: check_gradients.py [-k PATTERN] [--library libhethub_runtime.so] [--verbose]
Each case of gradient_cases.py becomes a program whose parameters are the call's float tensors and whose loss is a
weighted sum of its results. One hh-opt makes the forward and backward programs (and weight programs) of all of them;
their printed calls are made one by one through torch.ops. Each case is checked with incoming gradients that are
contiguous, expanded and transposed. Prints one line a failure and a summary.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from gradient_cases import Case, Fixed, Parts, all_cases
from printed_ir import DTYPES, Program

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(os.environ.get("HETHUB_TOOLS", ROOT / "build/bin"))
NAMES = {dtype: name for name, dtype in reversed(DTYPES.items())}  # of small types that share one: the first
FORMS = ("contiguous", "expanded", "transposed")  # of the gradients that come in
SEED = 7  # of random operators
# Sections of operators.txt
BACKWARD = "Called by the backward pass only"
OPEN = "Functions of HetHub's runtime for what only a run knows"
RELATIVE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}


# ---------------------------------------------------------------------------------------------------------------------
# Programs
# ---------------------------------------------------------------------------------------------------------------------


def type_text(tensor: torch.Tensor) -> str:
    return f"tensor<{'x'.join([*map(str, tensor.shape), NAMES[tensor.dtype]])}>"


def attribute_text(value: object, kind: str) -> str:
    if isinstance(value, torch.dtype):
        return NAMES[value]
    if isinstance(value, (list, tuple)):
        element = "i1" if "bool" in kind else "f64" if "float" in kind else "i64"
        items = ", ".join(attribute_text(v, element).split(" : ")[0] for v in value)
        return f"array<{element}{': ' + items if items else ''}>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) or "float" in kind or kind == "f64":
        special = {float("inf"): "0x7FF0000000000000", float("-inf"): "0xFFF0000000000000"}
        return special.get(float(value), f"{float(value):.17e}") + " : f64"
    return f"{value} : i64"


@dataclass
class Module:
    """The text of a case and its values by name."""

    case: Case
    form: str
    parameters: dict[str, torch.Tensor] = field(default_factory=dict)
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def tensor(self, value: object) -> tuple[str, str]:
        """The name and type of a tensor argument."""
        if value is None:
            return "none", "none"
        if isinstance(value, Parts):
            names, types = zip(*(self.tensor(v) for v in value), strict=True) if value else ((), ())
            return f"[{', '.join(names)}]", f"[{', '.join(types)}]"
        fixed = isinstance(value, Fixed) or not value.dtype.is_floating_point
        tensor = value.tensor if isinstance(value, Fixed) else value
        values = self.inputs if fixed else self.parameters
        known = [name for name, other in values.items() if other is tensor]
        name = known[0] if known else f"{'x' if fixed else 'p'}{len(values)}"
        values[name] = tensor
        return f"%{name}", type_text(tensor)

    def call(self, name: str, operator: torch._ops.OpOverload, values: dict, types: list[str]) -> None:
        tensors, attributes = [], []
        for argument in operator._schema.arguments:
            kind = str(argument.type)
            value = values.get(argument.name, argument.default_value)
            if "Tensor" in kind:
                tensors.append(self.tensor(value))
            elif argument.name in values and value is not None and value != argument.default_value:
                attributes.append(f"{argument.name} = {attribute_text(value, kind)}")
        texts = f" {{{', '.join(attributes)}}}" if attributes else ""
        self.lines.append(
            f"{name} = {self.case.mlir_name}({', '.join(n for n, _ in tensors)}){texts} : "
            f"({', '.join(t for _, t in tensors)}) -> ({', '.join(types)})"
        )

    def line(self, name: str, operator: str, operands: dict[str, str], result: str, attributes: str = "") -> str:
        self.lines.append(
            f"%{name} = aten.{operator}({', '.join('%' + o for o in operands)}) {{{attributes}}} : "
            f"({', '.join(operands.values())}) -> ({result})"
        )
        return name

    def text(self, number: int) -> str:
        outputs = self.case.outputs()
        types = [type_text(v) if v is not None else "tensor<0xf64>" for v in outputs]
        self.call(f"%r:{len(types)}" if len(types) > 1 else "%r", self.case.overload, self.case.by_name(), types)
        loss = None
        scalar = "tensor<f64>"
        self.parameters["anchor"] = torch.ones((), dtype=torch.float64)
        terms = ["anchor"]
        for i in self.case.differentiated:
            name, value = (f"r#{i}" if len(types) > 1 else "r"), outputs[i]
            kind = types[i]
            if value.dtype != torch.float64:
                value, source = value.double(), kind
                kind = type_text(value)
                name = self.line(f"c{i}", "to.dtype", {name: source}, kind, "dtype = f64")
            if self.form == "transposed" and value.dim() > 1:
                value, source = value.transpose(0, -1), kind
                kind = type_text(value)
                attributes = f"dim0 = 0 : i64, dim1 = {value.dim() - 1} : i64"
                name = self.line(f"t{i}", "transpose.int", {name: source}, kind, attributes)
            if self.form != "expanded":
                self.inputs[f"w{i}"] = self.case.weight(i, value.shape)
                name = self.line(f"m{i}", "mul.Tensor", {name: kind, f"w{i}": kind}, kind)
            axes = ", ".join(map(str, range(value.dim())))
            attributes = f"dim = array<i64{': ' + axes if axes else ''}>"
            terms.append(self.line(f"s{i}", "sum.dim_IntList", {name: kind}, scalar, attributes))
        loss = terms[0]
        for term in terms[1:]:
            loss = self.line(f"l_{term}", "add.Tensor", {loss: scalar, term: scalar}, scalar)
        symbols = "".join(
            f'  hh.parameter @{name} : {type_text(v)} from "weights" offset 0 length {v.numel() * v.element_size()}\n'
            for name, v in self.parameters.items()
        )
        arguments = ", ".join(
            f'%{name}: {type_text(v)} {{onnx.name = "{name}", onnx.index = {i} : i64}}'
            for i, (name, v) in enumerate(self.inputs.items())
        )
        reads = [f"%{name} = hh.get_parameter @{name} : {type_text(v)}" for name, v in self.parameters.items()]
        body = "\n    ".join([*reads, *self.lines, f"hh.return %{loss} : {scalar}"])
        return (
            f"module @case_{number} {{\n"
            f'  hh.device_type @device kind "{self.case.device}" count 1 memory 1073741824\n{symbols}'
            f"  hh.program @stage_0({arguments}) -> "
            f'({scalar} {{onnx.name = "loss", onnx.index = 0 : i64, hh.loss}})\n'
            f"      attributes {{stage = 0 : i64, device = @device, replicas = 1 : i64}} {{\n    {body}\n  }}\n}}\n"
        )

    def reference(self, parameters: dict[str, torch.Tensor]) -> torch.Tensor:
        """The same loss, computed by torch."""
        originals = {id(self.parameters[name]): value for name, value in parameters.items()}
        loss = parameters["anchor"]
        torch.default_generator.manual_seed(SEED)
        outputs = self.case.outputs(originals)
        for i in self.case.differentiated:
            value = outputs[i].double()
            if self.form == "transposed" and value.dim() > 1:
                value = value.transpose(0, -1)
            loss = loss + (value.sum() if self.form == "expanded" else (value * self.inputs[f"w{i}"]).sum())
        return loss


def run_programs(text: str, module: Any) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss and the gradients that printed programs compute with the module's `parameters` and `inputs`."""
    slots, gradients, loss = {}, {}, None
    starts = [m.start() for m in re.finditer(r"^ *hh\.program", text, re.M)]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        program = Program(text[start:end], module.parameters)
        inputs = [
            slots[attributes["hh.saved"]] if "hh.saved" in attributes else module.inputs[attributes["onnx.name"][1:-1]]
            for attributes in program.argument_attributes
        ]
        torch.default_generator.manual_seed(SEED)
        for attributes, value in zip(program.result_attributes, program.run(inputs), strict=True):
            if "hh.loss" in attributes:
                loss = value
            if "hh.saved" in attributes:
                slots[attributes["hh.saved"]] = value
            if "hh.gradient" in attributes:
                name = attributes["hh.gradient"].strip('@"')
                if name in gradients:
                    raise ValueError(f"two gradients of {name}")
                gradients[name] = value
    return loss, gradients


# ---------------------------------------------------------------------------------------------------------------------
# Comparison
# ---------------------------------------------------------------------------------------------------------------------


def difference(got: torch.Tensor, want: torch.Tensor, relative: float) -> str:
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{list(got.shape)} {got.dtype}, not {list(want.shape)} {want.dtype}"
    if want.numel() == 0:
        return ""
    known = want.isfinite()
    if not torch.equal(known, got.isfinite()) or not torch.equal(got[~known].isnan(), want[~known].isnan()):
        return "is not finite at other places"
    got, want = got[known].double(), want[known].double()
    if want.numel() == 0:
        return ""
    scale = max(1.0, want.abs().max().item())
    worst = (got - want).abs().max().item()
    return "" if worst <= relative * scale else f"differs by {worst:.3g}, scale {scale:.3g}"


def finite_difference(module: Module, gradients: dict[str, torch.Tensor]) -> str:
    """Compares the slope of the loss along a random direction of all parameters."""
    generator = torch.Generator().manual_seed(SEED)
    step, slope, shifted = 1e-6, 0.0, ({}, {})
    for name, value in module.parameters.items():
        direction = torch.randn(value.shape, dtype=value.dtype, generator=generator)
        slope += (direction * gradients.get(name, torch.zeros_like(value))).sum().item()
        shifted[0][name], shifted[1][name] = value + step * direction, value - step * direction
    with torch.no_grad():
        high, low = (module.reference(values).item() for values in shifted)
    measured = (high - low) / (2 * step)
    ok = abs(measured - slope) <= 1e-5 * max(1.0, abs(slope), abs(high))
    return "" if ok else f"slope {slope:.8g}, finite differences give {measured:.8g}"


def check(module: Module, text: str) -> str:
    """Empty where all agree."""
    leaves = {name: value.detach().clone().requires_grad_() for name, value in module.parameters.items()}
    want_loss = module.reference(leaves)
    wanted = dict(zip(leaves, torch.autograd.grad(want_loss, list(leaves.values()), allow_unused=True), strict=True))
    with torch.no_grad():
        loss, gradients = run_programs(text, module)
    relative = max((RELATIVE[dtype] for dtype in module.case.float_types()), default=RELATIVE[torch.float64])
    if problem := difference(loss, want_loss.detach(), relative):
        return f"loss {problem}"
    for name, value in module.parameters.items():
        zeros = torch.zeros_like(value)
        want = zeros if wanted[name] is None else wanted[name]
        if problem := difference(gradients.get(name, zeros), want, relative):
            return f"gradient of {name} {problem}"
    if module.case.smooth and relative == RELATIVE[torch.float64] and want_loss.isfinite():
        return finite_difference(module, gradients)
    return ""


def tool_output(texts: list[str], folder: Path, option: str) -> tuple[dict[int, str], dict[int, str]]:
    """What hh-opt prints of modules named case_0, case_1, ..., and what it complains about."""
    path = folder / "cases.mlir"
    path.write_text("// -----\n".join(texts))
    done = subprocess.run(
        [TOOLS / "hh-opt", path, "--split-input-file", option, "--mlir-print-debuginfo=false"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    printed = {int(m[1]): m[0] for m in re.finditer(r"^module @case_(\d+).*?^}$", done.stdout, re.M | re.S)}
    starts, line = [], 1
    for text in texts:
        starts.append(line)
        line += text.count("\n") + 1
    complaints: dict[int, str] = {}
    for match in re.finditer(r"cases\.mlir:(\d+):\d+: error: (.*)", done.stderr):
        number = sum(start <= int(match[1]) for start in starts) - 1
        complaints.setdefault(number, match[2])
    if done.returncode and not complaints:
        raise SystemExit(f"hh-opt failed: {done.stderr[-2000:]}")
    return printed, complaints


def differentiate(modules: list[Module], folder: Path, split_weight: bool) -> tuple[dict[int, str], dict[int, str]]:
    texts, refused = [], {}
    for i, module in enumerate(modules):
        try:
            texts.append(module.text(i))
        except Exception as error:  # a case that torch itself refuses
            refused[i] = f"torch: {str(error).splitlines()[0]}"
            texts.append("\n")
    option = "--hh-differentiate" + ("=split-weight" if split_weight else "")
    printed, complaints = tool_output(texts, folder, option)
    return printed, complaints | refused


# ---------------------------------------------------------------------------------------------------------------------
# All rules
# ---------------------------------------------------------------------------------------------------------------------


def operators() -> dict[str, str]:
    """All operators of the aten dialect ("aten::abs", "hethub::resize") and the section of the list they are in: the
    comment behind a blank line."""
    found, section, starts = {}, "", True
    for line in (ROOT / "lib/Dialect/ATen/IR/operators.txt").read_text().splitlines():
        if line.startswith("#") and starts:
            section = line[1:].strip()
        elif line and not line.startswith("#"):
            found[line.split("(")[0].strip()] = section
        starts = not line
    return found


def needs_no_rule(name: str, section: str) -> bool:
    """Second derivatives are not made, training programs have known sizes, and the rule of det differentiates the form
    that it makes itself."""
    if section == BACKWARD or section.startswith(OPEN):
        return True
    return name.endswith("_backward") or name == "aten::_linalg_det"


def rules() -> set[str]:
    """Operators that the tables of lib/Differentiate give a rule, null ones included."""
    found = set()
    for path in [*ROOT.glob("lib/Differentiate/Rules/*.cpp"), ROOT / "lib/Differentiate/Rules.cpp"]:
        text = path.read_text()
        found |= set(re.findall(r'table\["([\w:.]+)"\]', text))
        for names in re.findall(r"addNullRules\(table,\s*\{(.*?)\}\)", text, re.S):
            found |= {f"aten::{name}" for name in re.findall(r'"([\w.]+)"', names)}
    return found


def uncovered(cases: list[Case]) -> list[str]:
    """What is wrong with the lists of operators, rules and cases."""
    known, ruled, tried = operators(), rules(), {case.schema for case in cases}
    exempt = {name for name, section in known.items() if needs_no_rule(name, section)}
    problems = [f"{name} has no rule" for name in sorted(known.keys() - ruled - exempt)]
    problems += [f"{name} is called by backward passes only, but has a rule" for name in sorted(ruled & exempt)]
    problems += [f"{name} has a rule but no case" for name in sorted(ruled - tried)]
    problems += [f"{name} has a rule but is no operator" for name in sorted(ruled - known.keys())]
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only operators that match this pattern")
    parser.add_argument("--library", default=str(ROOT / "build-runtime/lib/libhethub_runtime.so"))
    parser.add_argument("--split-weight", action="store_true", help="gradients of parameters by programs of their own")
    parser.add_argument("--dtype", choices=["float32", "bfloat16", "float16"], help="all cases in that precision")
    parser.add_argument("--verbose", action="store_true", help="print what hh-opt made of each failing case")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.ops.load_library(arguments.library)
    cases = all_cases()
    problems = [] if arguments.k else uncovered(cases)
    cases = [case for case in cases if re.search(arguments.k, case.schema)]
    if arguments.dtype:
        cases = [case.converted(getattr(torch, arguments.dtype)) for case in cases]
        cases = [case for case in cases if case.runs()]
    modules = [Module(case, form) for case in cases for form in FORMS[: 3 if case.has_matrix() else 2]]
    with tempfile.TemporaryDirectory() as folder:
        printed, complaints = differentiate(modules, Path(folder), arguments.split_weight)
    for i, module in enumerate(modules):
        if i in printed:
            try:
                problem = check(module, printed[i])
            except NotImplementedError:  # torch lacks the kernel in this precision
                continue
            except Exception as error:
                problem = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        else:
            problem = complaints.get(i, "nothing printed")
        if problem:
            problems.append(f"{module.case} ({module.form}): {problem}")
            if arguments.verbose:
                problems.append(printed.get(i) or module.text(i))
    print("\n".join(problems))
    ruled = len({case.schema for case in cases})
    print(f"summary: {ruled} operators, {len(cases)} cases, {len(modules)} programs, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
