"""Training equals plain single-process PyTorch on the exported module: every parameter's gradient within 1e-5, and the
loss of 20 steps within 1e-4, whatever the model, the cut, the replicas and the schedule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import hethub
import numpy as np
import pytest
import torch_training
from hethub import tools
from torch_training import STEPS, TASKS
from training_runs import compile_task, gradients, losses, options

GRADIENTS, CURVE = 1e-5, 1e-4  # relative tolerances
# Devices of each stage. Equal stages are cut by the planner, those with replicas by their number of nodes.
SPLITS = {
    "1": (1,),
    "2": (1, 1),
    "3": (1, 1, 1),
    "4": (1, 1, 1, 1),
    "2+1": (2, 1),
    "1+3": (1, 3),
    "2+3": (2, 3),
}
SCHEDULES = ("gpipe", "1f1b", "zero-bubble")


@dataclass(frozen=True)
class Quick:
    """What `make test` runs of the product; the rest belongs to `make test-all`."""

    split: str
    schedule: str
    steps: int = STEPS


QUICK = {
    "gpt2": [Quick("4", "1f1b"), Quick("2+3", "zero-bubble")],  # the tied embedding is in the first and last stage
    "bert": [Quick("1+3", "gpipe")],
    "resnet50": [Quick("2", "zero-bubble", steps=1)],
    "resnet50-train": [Quick("3", "1f1b", steps=1)],
    "mixtral": [Quick("2+1", "1f1b")],
    "llama-tied": [Quick("3", "zero-bubble")],
}
CASES = [
    *[pytest.param(task, q.split, q.schedule, q.steps, id=f"{task}-{q.split}-{q.schedule}-{q.steps}")
      for task, quick in QUICK.items() for q in quick],
    *[pytest.param(task, split, schedule, STEPS, id=f"{task}-{split}-{schedule}", marks=[pytest.mark.wide])
      for task in TASKS for split in SPLITS for schedule in SCHEDULES],
]  # fmt: skip


def assert_as_torch(folder: Path, name: str, steps: int, optimizer: str = "sgd") -> None:
    right = torch_training.train(name, optimizer, steps)
    errors = torch_training.relative_errors(gradients(folder), right.gradients)
    worst = max(errors, key=lambda key: errors[key])
    assert errors[worst] <= GRADIENTS, f"gradient of {worst}"
    ours = losses(folder)
    assert len(ours) == steps
    np.testing.assert_allclose(ours, right.losses, rtol=CURVE)
    assert steps < STEPS or ours[-1] < ours[0]


@pytest.mark.parametrize(("name", "split", "schedule", "steps"), CASES)
def test_equals_torch(name: str, split: str, schedule: str, steps: int, tmp_path: Path) -> None:
    task, replicas = TASKS[name], SPLITS[split]
    out = compile_task(task, replicas, schedule, tmp_path / "out")
    stages = hethub.output.OutputFolder.read(out).plan["stages"]
    assert tuple(stage["replicas"] for stage in stages) == replicas
    tools.run("hh-run", ["--loopback", str(out), *options(task, tmp_path, steps)])
    assert_as_torch(tmp_path, name, steps)
