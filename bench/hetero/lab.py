"""One cluster, ready to measure on: profiles of its devices, programs for them, and how ranks are started there."""

from __future__ import annotations

import functools
import itertools
import json
import statistics
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hethub
import numpy as np
from hethub import TrainingStep
from hethub.launcher import command_of
from hethub.output import OutputFolder, rank_files
from hethub.probe import runtime_figures
from hethub.ranks import Ranks

from ..quota import Quota
from .decoder import INPUT, OUTPUT, Size, export, samples
from .devices import Cell, Device, Seconds, stage_seconds

WARM_UP = 1  # steps of a run that are not counted
TIMEOUT_SECONDS = 600.0


@functools.cache
def messages_and_overhead() -> dict[str, float]:
    """The runtime's own figures, which are the same on all devices of the machine: measured once."""
    return runtime_figures()


@dataclass
class Program:
    """Ours. A step has `microbatches`."""

    output: OutputFolder
    training: bool
    microbatches: int
    overruns: int = 0  # computes that lasted longer than their emulated time


@dataclass
class Lab:
    """Use as a context manager: quotas are taken away at its end."""

    scratch: Path
    cell: Cell
    size: Size
    model: Path = field(init=False)
    profiles: dict[str, Path] = field(default_factory=dict)  # by device type
    wraps: dict[str, list[str]] = field(default_factory=dict)  # what starts a rank on a device type
    _stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.scratch.mkdir()
        self.model = export(self.size, self.scratch / "model.onnx")

    def __enter__(self) -> Lab:
        common = self.scratch / "profile.json"
        for name, device in self.cell.devices.items():
            if device.share:
                quota = Quota(f"hetero-{name}", device.share)
                self._stack.callback(quota.close)
                self.wraps[name] = quota.wrap()
                self.profiles[name] = self.scratch / f"profile_{name}.json"
                with quota.entered():
                    self.profile(self.profiles[name])
            else:
                if not common.exists():
                    self.profile(common)
                self.profiles[name] = common
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def profile(self, file: Path) -> None:
        """Of forward and backward passes: a device that is emulated lasts as long as they say."""
        step = TrainingStep(loss="cross-entropy", loss_output=OUTPUT)
        content = hethub.profile(self.model, file, training=step)
        file.write_text(json.dumps(content | {"runtime": messages_and_overhead()}))

    def cluster(self, name: str, types: Sequence[str], count: int = 1) -> Path:
        """A cluster file of `count` devices of each of `types`."""

        def line(kind: str, device: Device) -> str:
            emulated = f", emulate: {{slowdown: {device.slowdown}}}" if device.slowdown else ""
            figures = f"count: {count}, memory: 4 GiB, profile: {self.profiles[kind]}{emulated}"
            return f"  - {{name: {kind}, kind: cpu, {figures}}}"

        lines = ["devices:", *[line(kind, self.cell.devices[kind]) for kind in types]]
        if len(types) > 1 and self.cell.link:
            pairs = itertools.combinations(types, 2)
            lines += ["links:", *[f"  - {{between: [{a}, {b}], {self.cell.link}, emulate: true}}" for a, b in pairs]]
        file = self.scratch / f"{name}.yaml"
        file.write_text("\n".join(lines) + "\n")
        return file

    def program(self, types: list[str], training: bool, microbatches: int, schedule: str = "1f1b") -> Program:
        """Compiled for one device of each of `types` by the automatic plan."""
        name = "-".join([schedule if training else "infer", str(microbatches), *types])
        step = TrainingStep(loss="cross-entropy", loss_output=OUTPUT, schedule=schedule) if training else None
        folder = hethub.compile(
            self.model,
            self.scratch / name,
            cluster=self.cluster(name, types),
            microbatches=microbatches,
            emit=("program",),
            training=step,
        )
        return Program(OutputFolder.read(folder), training, microbatches)

    def block_seconds(self, name: str, training: bool) -> list[Seconds]:
        """What each block takes on a device of type `name`, by the planner's costs: the embedding is with the first
        block, the head with the last one."""
        stages = [{"device_type": name} | ({"first": f"blocks.{k}"} if k else {}) for k in range(self.size.blocks)]
        file = self.scratch / f"blocks_{name}.json"
        file.write_text(json.dumps({"stages": stages}))
        cluster = self.cluster(f"blocks_{name}", [name], count=self.size.blocks)
        # With the loss, which the last stage pays for in ours as well.
        step = TrainingStep(loss="cross-entropy", loss_output=OUTPUT) if training else None
        return stage_seconds(hethub.plan(self.model, cluster=cluster, plan_file=file, training=step))

    def rate(self, program: Program, steps: int, drain: bool = False, optimizer: str = "sgd") -> float:
        """Samples/s of steady steps of one run. `drain`: training steps begin on all ranks together."""
        arrays = samples(self.size, program.microbatches * self.size.batch)
        files = self.scratch / f"{program.output.path.name}.run"
        files.mkdir(exist_ok=True)
        options = [f"--stats={files / 'stats'}", f"--timeout={TIMEOUT_SECONDS:g}"]
        if program.training:
            np.savez(files / "data.npz", **arrays)
            options += [f"--data={files / 'data.npz'}", f"--steps={WARM_UP + steps}", "--in-order"]
            options += [f"--optimizer={optimizer}", "--learning-rate=0.01"]
            # The norm of all gradients is known when the last rank has its own.
            options += ["--clip-norm=1e9"] if drain else []
        else:
            np.savez(files / "data.npz", **{INPUT: arrays[INPUT]})
            options += [f"--inputs={files / 'data.npz'}", f"--outputs={files / 'outputs.npz'}"]
            options += [f"--microbatches={program.microbatches}", f"--repeats={WARM_UP + steps}"]
        ranks = program.output.ranks()
        commands = [
            [*self.wraps.get(rank.device_type, []), *command_of(program.output, rank, "program"), *options]
            for rank in ranks
        ]
        with Ranks(ranks, commands, None, quiet=True) as processes:
            processes.wait(TIMEOUT_SECONDS)
        reports: list[dict[str, Any]] = [json.loads(file.read_text()) for file in rank_files(files / "stats", ranks)]
        program.overruns += sum(report["overruns"] for report in reports)
        return len(arrays[INPUT]) / step_seconds(reports[-1]["repeat_end_s"])


def step_seconds(ends: Sequence[float]) -> float:
    """Median of the steps that are counted, by the times at which steps ended."""
    counted = ends[WARM_UP - 1 :]
    return statistics.median(after - before for before, after in itertools.pairwise(counted))
