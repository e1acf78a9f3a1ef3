"""Training equals plain single-process PyTorch on the exported module: every parameter's gradient within 1e-5, and the
loss of 20 steps within 1e-4, whatever the model, the cut, the replicas and the schedule."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import hethub
import numpy as np
import pytest
import torch_training
from hethub import tools
from hethub.compile import TrainingStep
from model_table import ensure
from torch_training import MICROBATCHES, STEPS, TASKS, Task

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


def write_cluster(folder: Path, replicas: tuple[int, ...]) -> Path:
    lines = [f"  - {{name: type{k}, kind: cpu, count: {count}, memory: 4 GiB}}" for k, count in enumerate(replicas)]
    path = folder / "cluster.yaml"
    path.write_text("\n".join(["devices:", *lines]) + "\n")
    return path


def write_plan(folder: Path, model: Path, replicas: tuple[int, ...]) -> Path:
    """The nodes in as many even parts as there are stages; those of the loss belong to the last."""
    nodes = [node for stage in hethub.plan(model, stages=1)["stages"] for node in stage["nodes"]]
    stages = [{"device_type": f"type{k}", "replicas": count} for k, count in enumerate(replicas)]
    for k, stage in enumerate(stages[1:], 1):
        stage["first"] = nodes[len(nodes) * k // len(replicas)]
    path = folder / "own.json"
    path.write_text(json.dumps({"stages": stages}))
    return path


def compile_task(task: Task, replicas: tuple[int, ...], schedule: str, out: Path, emit: str = "program") -> Path:
    model = ensure(task.model)
    step = TrainingStep(
        loss="cross-entropy",
        loss_output=task.output,
        freeze=task.frozen,
        schedule=schedule,
        training_mode=("batch-norm",) if task.in_training_form else (),
    )
    where: dict = {"stages": len(replicas)}
    if max(replicas) > 1:
        where = {"cluster": write_cluster(out.parent, replicas), "plan_file": write_plan(out.parent, model, replicas)}
    return hethub.compile(model, out, microbatches=MICROBATCHES, training=step, emit=(emit,), **where)


def options(task: Task, folder: Path, steps: int, optimizer: str = "sgd") -> list[str]:
    """Of a run that learns as torch_training.train does."""
    data = folder / "data.npz"
    np.savez(data, **torch_training.data(task_name(task)))
    chosen = ["--optimizer=sgd", "--momentum=0.9"] if optimizer == "sgd" else ["--optimizer=adamw"]
    rate = task.rate(optimizer)
    log, gradients = folder / "log.jsonl", folder / "gradients.npz"
    return [f"--data={data}", "--in-order", f"--steps={steps}", *chosen, f"--learning-rate={rate!r}",
            f"--log={log}", f"--gradients={gradients}"]  # fmt: skip


def task_name(task: Task) -> str:
    return next(name for name, known in TASKS.items() if known is task)


def losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]


def gradients(folder: Path) -> dict[str, np.ndarray]:
    """Of all ranks; each parameter is written by one of them."""
    found: dict[str, np.ndarray] = {}
    for path in sorted(folder.glob("gradients.npz*")):
        with np.load(path) as file:
            assert not found.keys() & set(file.files)
            found |= {name: file[name] for name in file.files}
    return found


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
