"""Random programs in random stages (values that skip stages or have several readers, parameters in several stages,
views, dropout, branches, stages that recompute, frozen parameters): gradients equal torch autograd's, no message is
left, all that is saved is read, and nothing is saved twice."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
import torch
from training_programs import TrainingModule, check_saved, relative, tool

SEEDS = range(120)
SQUARE = "tensor<4x4xf64>"
VARIANTS = {"merged": "", "split": "split-weight", "frozen": "frozen=w1"}  # with the options
PLAIN = ["--mlir-print-debuginfo=false", "--mlir-use-nameloc-as-prefix=false", "--split-input-file"]


@dataclass
class Stage:
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)  # 4x4 matrices
    inputs: dict[str, str] = field(default_factory=dict)  # argument by model input
    parameters: dict[str, str] = field(default_factory=dict)
    received: dict[tuple[int, str], str] = field(default_factory=dict)
    results: list[str] = field(default_factory=list)


class Pipeline:
    """The text of a random lowered module."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.count = 0
        self.channels = 0
        self.stages = [Stage() for _ in range(self.random.randint(1, 4))]
        self.names = [f"w{i}" for i in range(self.random.randint(2, 5))]
        for index, stage in enumerate(self.stages):
            self.fill(index, stage)
        self.lose()

    def define(self, stage: Stage, text: str, results: int = 1) -> str:
        self.count += 1
        stage.lines.append(f"%v{self.count}{f':{results}' if results > 1 else ''} = {text}")
        return f"%v{self.count}"

    def value(self, index: int) -> str:
        """A value to read: an input, a parameter, one of this stage, or one of an earlier stage."""
        stage = self.stages[index]
        choice = self.random.random()
        if choice < 0.1:
            return stage.inputs.setdefault("x", "%x")
        if choice < 0.3 or (not stage.values and index == 0):
            name = self.random.choice(self.names)
            if name not in stage.parameters:
                stage.parameters[name] = self.define(stage, f"hh.get_parameter @{name} : {SQUARE}")
            return stage.parameters[name]
        earlier = [i for i in range(index) if self.stages[i].values]
        if earlier and (choice < 0.5 or not stage.values):
            sender = self.random.choice(earlier)
            sent = self.random.choice(self.stages[sender].values[-4:])
            if (sender, sent) not in stage.received:
                self.stages[sender].lines.append(f"hh.send {sent} on {self.channels} to {index} : {SQUARE}")
                stage.received[sender, sent] = self.define(
                    stage, f"hh.recv on {self.channels} from {sender} : {SQUARE}"
                )
                self.channels += 1
            return stage.received[sender, sent]
        return self.random.choice(stage.values[-6:]) if stage.values else stage.inputs.setdefault("x", "%x")

    def call(self, stage: Stage, name: str, operands: list[str], attributes: str = "", types: str = "") -> str:
        types = types or f"({', '.join([SQUARE] * len(operands))}) -> ({SQUARE})"
        attributes = f" {{{attributes}}}" if attributes else ""
        return self.define(stage, f"aten.{name}({', '.join(operands)}){attributes} : {types}")

    def fill(self, index: int, stage: Stage) -> None:
        for _ in range(self.random.randint(1, 9)):
            a = self.value(index)
            kind = self.random.choice(
                ["mul", "mm", "add", "tanh", "relu", "view", "pieces", "dropout", "positive", "branch"]
            )
            if kind in ("mul", "add"):
                made = self.call(stage, f"{kind}.Tensor", [a, self.value(index)])
            elif kind == "mm":
                made = self.call(stage, "mm", [a, self.value(index)])
            elif kind in ("tanh", "relu"):
                made = self.call(stage, kind, [a])
            elif kind == "view":
                row = self.call(stage, "reshape", [a], "shape = array<i64: 16>", f"({SQUARE}) -> (tensor<16xf64>)")
                made = self.call(stage, "reshape", [row], "shape = array<i64: 4, 4>", f"(tensor<16xf64>) -> ({SQUARE})")
                made = self.call(stage, "t", [made])
            elif kind == "pieces":
                made = self.pieces(stage, a)
            elif kind == "branch":
                made = self.branch(stage, a, self.value(index))
            elif kind == "dropout":
                types = f"({SQUARE}) -> ({SQUARE}, tensor<4x4xi1>)"
                attributes = "p = 0.25 : f64, train = true"
                made = self.define(stage, f"aten.native_dropout({a}) {{{attributes}}} : {types}", 2) + "#0"
            else:  # what has no gradient: a mask of a comparison
                mask = self.call(stage, "gt.Scalar", [a], "other = 0.0 : f64", f"({SQUARE}) -> (tensor<4x4xi1>)")
                types = f"(tensor<4x4xi1>, {SQUARE}, {SQUARE}) -> ({SQUARE})"
                made = self.call(stage, "where.self", [mask, a, self.value(index)], types=types)
            stage.values.append(made)

    def pieces(self, stage: Stage, whole: str) -> str:
        piece = "tensor<2x4xf64>"
        parts = [
            self.call(
                stage, "slice.Tensor", [whole], f"start = {i} : i64, end = {i + 2} : i64", f"({SQUARE}) -> ({piece})"
            )
            for i in (0, 2)
        ]
        self.random.shuffle(parts)
        return self.define(stage, f"aten.cat([{', '.join(parts)}]) : ([{piece}, {piece}]) -> ({SQUARE})")

    def branch(self, stage: Stage, a: str, b: str) -> str:
        types = f"({SQUARE}) -> (tensor<f64>)"
        total = self.call(stage, "sum.dim_IntList", [a], "dim = array<i64: 0, 1>", types)
        condition = self.call(stage, "gt.Scalar", [total], "other = 0.0 : f64", "(tensor<f64>) -> (tensor<i1>)")
        self.count += 1
        made = f"%v{self.count}"
        stage.lines.append(f"{made} = hh.if {condition} : (tensor<i1>) -> {SQUARE} {{")
        product = self.call(stage, "mul.Tensor", [a, b])
        inner = self.call(stage, self.random.choice(["tanh", "relu"]), [product])
        stage.lines += [f"hh.yield {inner} : {SQUARE}", "} else {"]
        other = self.call(stage, "add.Tensor", [b, b]) if self.random.random() < 0.5 else self.random.choice([a, b])
        stage.lines += [f"hh.yield {other} : {SQUARE}", "}"]
        return made

    def lose(self) -> None:
        """The loss: the sum of a product with a parameter, in a random stage that has values."""
        index = self.random.randrange(len(self.stages))
        stage = self.stages[index]
        name = self.names[0]
        if name not in stage.parameters:
            stage.parameters[name] = self.define(stage, f"hh.get_parameter @{name} : {SQUARE}")
        product = self.call(stage, "mul.Tensor", [stage.values[-1], stage.parameters[name]])
        types = f"({SQUARE}) -> (tensor<f64>)"
        stage.results.append(self.call(stage, "sum.dim_IntList", [product], "dim = array<i64: 0, 1>", types))

    def text(self) -> str:
        lines = ['hh.device_type @d kind "cpu" count 4 memory 1073741824']
        lines += [f'hh.parameter @{name} : {SQUARE} from "w" offset 0 length 128' for name in self.names]
        for index, stage in enumerate(self.stages):
            argument = f'%x: {SQUARE} {{onnx.name = "x", onnx.index = 0 : i64}}' if stage.inputs else ""
            result = ' -> (tensor<f64> {hh.loss, onnx.index = 0 : i64, onnx.name = "loss"})' if stage.results else ""
            recompute = ", hh.recompute" if self.random.random() < 0.4 else ""
            attributes = f"stage = {index} : i64, device = @d, replicas = 1 : i64{recompute}"
            returned = f"hh.return {stage.results[0]} : tensor<f64>" if stage.results else "hh.return"
            body = "\n    ".join([*stage.lines, returned])
            lines.append(
                f"hh.program @stage_{index}({argument}){result} attributes {{{attributes}}} {{\n    {body}\n  }}"
            )
        return "module {\n  " + "\n  ".join(lines) + "\n}\n"


@pytest.fixture(scope="module")
def differentiated() -> dict[str, list[TrainingModule]]:
    """All of them, by variant: one run of the tool each."""
    text = "\n// -----\n".join(Pipeline(seed).text() for seed in SEEDS)
    verify = "--hh-verify-phase=phase=differentiate"
    made = {}
    for variant, options in VARIANTS.items():
        printed = tool("hh-opt", f"--hh-differentiate={options}", verify, *PLAIN, text=text)
        made[variant] = [TrainingModule(part) for part in printed.split("// -----")]
        assert len(made[variant]) == len(SEEDS)
    return made


def check(module: TrainingModule, frozen: set[str]) -> None:
    generator = torch.Generator().manual_seed(1)
    make = lambda: torch.randn((4, 4), generator=generator, dtype=torch.float64)  # noqa: E731
    parameters = {name: make() for name in module.parameters}
    inputs = {"x": make()}
    leaves = {name: value.clone().requires_grad_(name not in frozen) for name, value in parameters.items()}
    loss = module.forward(leaves, inputs)
    loss.backward()
    step = module.step(parameters, inputs)
    assert not step.messages
    assert relative(step.loss, loss.detach()) < 1e-12
    want = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    assert set(want) <= set(step.gradients)
    assert not frozen & set(step.gradients)
    for name, gradient in step.gradients.items():
        # Autograd knows nothing of what only the branch reads that was not taken: 0 for us.
        assert relative(gradient, want.get(name, torch.zeros_like(gradient))) < 1e-9, name
    check_saved(module, step)


@pytest.mark.parametrize("variant", VARIANTS)
def test_gradients_of_random_pipelines(differentiated: dict[str, list[TrainingModule]], variant: str) -> None:
    for seed, module in zip(SEEDS, differentiated[variant], strict=True):
        try:
            check(module, {"w1"} if variant == "frozen" else set())
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}\n{Pipeline(seed).text()}\n{module.text}") from error
