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
from training_runs import checkpoint_values, compile_task, gradients, losses, options

GRADIENTS, CURVE = 1e-5, 1e-4  # relative tolerances
ADAM_PARAMETERS = 1e-3  # a quarter of what weight decay makes of them
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
# Replicas sum in an order of their own: from the second step on these go their own way (torch_training.TASKS).
IN_TORCHS_ORDER = ("resnet50", "resnet50-train")
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
    "resnet50-train": [Quick("3", "1f1b", steps=2)],
    "resnet50-double": [Quick("2+3", "1f1b", steps=2)],
    "mixtral": [Quick("2+1", "1f1b")],
    "llama-tied": [Quick("3", "zero-bubble")],
}
CASES = [
    *[pytest.param(task, q.split, q.schedule, q.steps, id=f"{task}-{q.split}-{q.schedule}-{q.steps}")
      for task, quick in QUICK.items() for q in quick],
    *[pytest.param(task, split, schedule, STEPS, id=f"{task}-{split}-{schedule}", marks=[pytest.mark.wide])
      for task in TASKS for split in SPLITS for schedule in SCHEDULES],
]  # fmt: skip


@pytest.mark.parametrize(("name", "split", "schedule", "steps"), CASES)
def test_equals_torch(name: str, split: str, schedule: str, steps: int, tmp_path: Path) -> None:
    task, replicas = TASKS[name], SPLITS[split]
    out = compile_task(task, replicas, schedule, tmp_path / "out")
    stages = hethub.output.OutputFolder.read(out).plan["stages"]
    assert tuple(stage["replicas"] for stage in stages) == replicas
    checkpoint = tmp_path / "ckpt"
    arguments = [*options(task, tmp_path, steps), f"--checkpoint={checkpoint}"]
    tools.run("hh-run", ["--loopback", str(out), *arguments])
    right = torch_training.train(name, steps=steps)
    assert_near(gradients(tmp_path), right.gradients, GRADIENTS)
    ours = losses(tmp_path)
    assert len(ours) == steps
    if max(replicas) > 1 and name in IN_TORCHS_ORDER:
        return
    print(f"losses: largest relative error {np.abs(np.array(ours) / right.losses - 1).max():.1e}")
    np.testing.assert_allclose(ours, right.losses, rtol=CURVE)
    assert steps < STEPS or ours[-1] < ours[0]
    values = checkpoint_values(checkpoint)
    assert_near({name: values[name] for name in right.parameters}, right.parameters, CURVE)
    if task.in_training_form and max(replicas) == 1:  # replicas have the mean of theirs
        statistics = {k: v.numpy() for k, v in right.state.items() if k in values and k not in right.parameters}
        assert statistics
        assert_near({name: values[name] for name in statistics}, statistics, CURVE)


# A gradient that is zero but for rounding (the bias of attention's keys) moves its parameter as far as any other: Adam
# divides by its size. Such moves have no influence on the loss.
ADAM_CASES = [
    ("gpt2", "2+1", "1f1b"),
    pytest.param("bert", "3", "zero-bubble", marks=[pytest.mark.wide]),
    pytest.param("llama-tied", "1+3", "gpipe", marks=[pytest.mark.wide]),
]


@pytest.mark.parametrize(("name", "split", "schedule"), ADAM_CASES)
def test_adamw_equals_torch(name: str, split: str, schedule: str, tmp_path: Path) -> None:
    """With weight decay, which parameters of one axis are left out of."""
    task = TASKS[name]
    out = compile_task(task, SPLITS[split], schedule, tmp_path / "out")
    arguments = [*options(task, tmp_path, STEPS, "adamw"), f"--checkpoint={tmp_path / 'ckpt'}"]
    tools.run("hh-run", ["--loopback", str(out), *arguments])
    right = torch_training.train(name, "adamw")
    assert_near(gradients(tmp_path), right.gradients, GRADIENTS)
    ours = losses(tmp_path)
    print(f"losses: largest relative error {np.abs(np.array(ours) / right.losses - 1).max():.1e}")
    np.testing.assert_allclose(ours, right.losses, rtol=CURVE)
    assert ours[-1] < ours[0]
    largest = max(float(np.linalg.norm(gradient)) for gradient in right.gradients.values())
    moved = {k: v for k, v in right.parameters.items() if np.linalg.norm(right.gradients[k]) > 1e-5 * largest}
    assert {value.ndim for value in moved.values()} >= {1, 2}
    values = checkpoint_values(tmp_path / "ckpt")
    assert_near({name: values[name] for name in moved}, moved, ADAM_PARAMETERS)


def assert_near(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray], tolerance: float) -> None:
    errors = torch_training.relative_errors(ours, theirs)
    worst = max(errors, key=lambda key: errors[key])
    print(f"largest relative error {errors[worst]:.1e}, of {worst}")
    assert errors[worst] <= tolerance, worst
