"""Our programs: of the whole cluster by the automatic plan, and of each device type alone for the bound."""

from __future__ import annotations

import itertools
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hethub
import numpy as np
from hethub import Settings, TrainingStep
from hethub.output import OutputFolder

from .decoder import INPUT, LABELS, OUTPUT, Size, samples
from .devices import Cell, cluster_file

WARM_UP = 1  # steps of a run that are not counted


@dataclass
class Program:
    folder: Path
    training: bool
    microbatches: int
    size: Size
    overruns: int = 0  # computes that lasted longer than their emulated time

    @property
    def plan(self) -> dict[str, Any]:
        return OutputFolder.read(self.folder).plan

    def samples_per_second(self, steps: int) -> float:
        """Of steady steps of one run."""
        arrays = samples(self.size, self.microbatches * self.size.batch)
        if self.training:
            data = self.folder.parent / f"{self.folder.name}.npz"
            np.savez(data, **arrays)
            ranks = hethub.train(
                self.folder,
                data,
                steps=WARM_UP + steps,
                settings=Settings(optimizer="sgd", learning_rate=0.01, in_order=True),
            ).ranks
        else:
            ranks = hethub.run(
                self.folder, {INPUT: arrays[INPUT]}, microbatches=self.microbatches, repeats=WARM_UP + steps
            ).ranks
        self.overruns += sum(rank["overruns"] for rank in ranks)
        ends = ranks[-1]["repeat_end_s"][WARM_UP - 1 :]
        step = statistics.median(after - before for before, after in itertools.pairwise(ends))
        return len(arrays[INPUT]) / step


def program(
    scratch: Path,
    model: Path,
    profile: Path,
    cell: Cell,
    types: list[str],
    training: bool,
    microbatches: int,
    size: Size,
) -> Program:
    """Compiled for one device of each of `types`."""
    name = f"{'train' if training else 'infer'}-{microbatches}-{'-'.join(types)}"
    cluster = cluster_file(scratch / f"{name}.yaml", profile, cell, types)
    step = TrainingStep(loss="cross-entropy", loss_output=OUTPUT) if training else None
    folder = hethub.compile(
        model, scratch / name, cluster=cluster, microbatches=microbatches, emit=("program",), training=step
    )
    assert step is None or LABELS == "labels"
    return Program(folder, training, microbatches, size)
