"""Training steps on `emulate:` devices by each kind of schedule: computes last exactly what they are told, so what is
left is the table and the messages."""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import hethub

from ..hetero.decoder import Size
from ..hetero.devices import UNLIKE
from ..hetero.lab import Lab, Program
from ..report import Row

MEAN, WORST = 0.01, 0.02
KINDS = ("gpipe", "1f1b", "zero-bubble")
MICROBATCHES = (4, 12)
STEPS = 6  # of a run


@dataclass
class Case:
    lab: Lab
    program: Program
    name: str
    predicted: float  # seconds of a step
    steps: list[float] = field(default_factory=list)  # medians of runs, seconds

    @property
    def error(self) -> float:
        return self.predicted / statistics.median(self.steps) - 1

    def run(self) -> None:
        samples = self.program.microbatches * self.lab.size.batch
        # The optimizer that plans expect.
        self.steps.append(samples / self.lab.rate(self.program, STEPS, drain=True, optimizer="adam"))


def cases(labs: list[Lab]) -> Iterator[Case]:
    for lab, kind, microbatches in itertools.product(labs, KINDS, MICROBATCHES):
        program = lab.program(list(lab.cell.devices), True, microbatches, kind)
        predicted = hethub.predict(program.output.path)["step_seconds"]
        yield Case(lab, program, f"{lab.cell.name}, {kind}, m = {microbatches}", predicted)


def measure(scratch: Path, options: argparse.Namespace) -> Iterator[Row]:
    with ExitStack() as stack:
        labs = [stack.enter_context(Lab(scratch / f"cell{k}", cell, Size())) for k, cell in enumerate(UNLIKE)]
        found = list(cases(labs))
        for _ in range(options.rounds):
            for case in found:
                case.run()
    for case in found:
        measured = statistics.median(case.steps)
        times = f"{case.predicted * 1e3:9.2f} ms predicted {measured * 1e3:9.2f} ms measured"
        overruns = f"  ({case.program.overruns} computes overran)" if case.program.overruns else ""
        print(f"  {case.name:58} {times}  error {100 * case.error:+.2f} %{overruns}")
    errors = [abs(case.error) for case in found]
    mean, worst = statistics.mean(errors), max(errors)
    what = "training on emulated devices"
    yield Row(
        f"{what}: mean error of {len(errors)} step times", f"{100 * mean:.2f} %", f"below {100 * MEAN:g} %", mean < MEAN
    )
    name = found[errors.index(worst)].name
    yield Row(f"{what}: worst error", f"{100 * worst:.1f} %", f"below {100 * WORST:g} %", worst < WORST, name)
