"""Runs the programs of a printed training module, stage by stage, through torch.ops: one microbatch."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field

import torch
from model_table import TOP
from printed_ir import Program, closing, split_port, split_top, tensor_type

TOOLS = os.environ.get("HETHUB_TOOLS", str(TOP / "build" / "bin"))
SEED = 11  # of random operators: each function of a microbatch starts with it


def tool(name: str, *arguments: str, text: str | None = None) -> str:
    result = subprocess.run([f"{TOOLS}/{name}", *arguments], input=text, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[:2000]
    return result.stdout


def relative(got: torch.Tensor, want: torch.Tensor) -> float:
    """The size of the difference, as a share."""
    return float((got.double() - want.double()).norm() / want.double().norm().clamp_min(1e-12))


class StageProgram(Program):
    """A program that sends and receives."""

    def __init__(self, text: str, parameters: dict[str, torch.Tensor], messages: dict[str, torch.Tensor]) -> None:
        super().__init__(text, parameters)
        head = self.lines[self.start]
        opening = head.index("(")
        ports = [split_port(port)[0] for port in split_top(head[opening + 1 : closing(head, opening)])]
        self.argument_types = [tensor_type(port.partition(": ")[2]) for port in ports]
        self.messages = messages
        part = re.search(r'part = "(\w+)"', head)
        self.part = part[1] if part else "forward"
        self.stage = int(re.search(r"stage = (\d+)", head)[1])

    def operation(self, line: str, live: bool) -> None:
        results, _, body = line.partition(" = ")
        if line.startswith("hh.send"):
            _, value, _, channel = line.split()[:4]
            assert channel not in self.messages, f"a second message on channel {channel}"
            self.messages[channel] = self.values[value]
        elif body.startswith("hh.recv"):
            self.define(results, [self.messages.pop(body.split()[2])])
        elif body.startswith("hh.start_up"):
            values = self.block(live)
            self.position += 1  # }
            self.define(results, values)
        else:
            super().operation(line, live)


@dataclass
class Step:
    """What one microbatch gives."""

    loss: torch.Tensor | None = None
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)  # by parameter, summed over the stages
    updates: dict[str, torch.Tensor] = field(default_factory=dict)
    saved: dict[int, list[torch.Tensor]] = field(default_factory=dict)  # by forward programs of each stage
    messages: dict[str, torch.Tensor] = field(default_factory=dict)  # that nobody took


def check_saved(module: TrainingModule, step: Step) -> None:
    """Nothing is saved twice, and all that a program is given is read by it."""
    for stage, values in step.saved.items():
        views = [(value.data_ptr(), value.shape, value.stride()) for value in values]
        # A branch may give a value as it is: then two values are the same tensor.
        assert len(views) == len(set(views)) or "hh.if" in module.text, f"a value is saved twice in stage {stage}"
    for program in module.programs({}, {}):
        body = "\n".join(program.lines[program.start + 1 :])
        unread = [a for a in program.arguments if not re.search(rf"{a}\b", body)]
        assert program.part == "forward" or not unread, f"{program.part} of stage {program.stage} reads no {unread}"


class TrainingModule:
    """The printed text of a module after hh-differentiate."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parameters = {
            match[1]: tensor_type(match[2])
            for match in re.finditer(r'hh\.parameter @"?([^" ]*)"? : (tensor<[^>]*>)', text)
        }

    def programs(self, parameters: dict[str, torch.Tensor], messages: dict[str, torch.Tensor]) -> list[StageProgram]:
        starts = [m.start() for m in re.finditer(r"^ *hh\.program", self.text, re.M)]
        return [
            StageProgram(self.text[start:end], parameters, messages)
            for start, end in zip(starts, [*starts[1:], len(self.text)], strict=True)
        ]

    def inputs(self) -> dict[str, tuple[list[int], torch.dtype]]:
        """Shapes and types of the model inputs."""
        return {
            attributes["onnx.name"][1:-1]: kind
            for program in self.programs({}, {})
            for attributes, kind in zip(program.argument_attributes, program.argument_types, strict=True)
            if "onnx.name" in attributes
        }

    def forward(self, parameters: dict[str, torch.Tensor], inputs: dict[str, torch.Tensor]) -> torch.Tensor:
        """The loss by the forward programs alone; differentiable by torch where parameters are."""
        return self.run(parameters, inputs, ("forward",)).loss

    def step(self, parameters: dict[str, torch.Tensor], inputs: dict[str, torch.Tensor]) -> Step:
        """Everything, under no autograd."""
        with torch.no_grad():
            return self.run(parameters, inputs, ("forward", "backward", "weight"))

    def run(self, parameters: dict[str, torch.Tensor], inputs: dict[str, torch.Tensor], parts: tuple[str, ...]) -> Step:
        step = Step()
        programs = self.programs(parameters, step.messages)
        slots: dict[tuple[int, str], torch.Tensor] = {}
        order = [p for p in programs if p.part == "forward"]
        order.sort(key=lambda p: p.stage)
        for part in parts[1:]:
            order += sorted((p for p in programs if p.part == part), key=lambda p: -p.stage)
        for program in order:
            values = [
                slots[program.stage, attributes["hh.saved"]]
                if "hh.saved" in attributes
                else inputs[attributes["onnx.name"][1:-1]]
                for attributes in program.argument_attributes
            ]
            torch.manual_seed(SEED)
            for attributes, value in zip(program.result_attributes, program.run(values) or [], strict=True):
                if "hh.loss" in attributes:
                    step.loss = value
                if "hh.saved" in attributes:
                    slots[program.stage, attributes["hh.saved"]] = value
                    if program.part == "forward":
                        step.saved.setdefault(program.stage, []).append(value)
                if "hh.update" in attributes:
                    step.updates[attributes["hh.update"].strip('@"')] = value
                if "hh.gradient" in attributes:
                    name = attributes["hh.gradient"].strip('@"')
                    step.gradients[name] = step.gradients[name] + value if name in step.gradients else value
        return step
