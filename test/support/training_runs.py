"""Compiles the tasks of torch_training and runs them as PyTorch does; what such a run leaves."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import safetensors.numpy
import torch_training
from hethub import TrainingStep
from model_table import ensure
from torch_training import MICROBATCHES, TASKS, Task


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
    np.savez(data, **torch_training.data(name_of(task)))
    chosen = ["--optimizer=sgd", "--momentum=0.9"]
    if optimizer == "adamw":
        chosen = ["--optimizer=adamw", f"--weight-decay={torch_training.WEIGHT_DECAY}"]
    rate = task.rate(optimizer)
    log, gradients = folder / "log.jsonl", folder / "gradients.npz"
    return [f"--data={data}", "--in-order", f"--steps={steps}", *chosen, f"--learning-rate={rate!r}",
            f"--log={log}", f"--gradients={gradients}"]  # fmt: skip


def name_of(task: Task) -> str:
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


def checkpoint_values(folder: Path) -> dict[str, np.ndarray]:
    """Trained and updated parameters of the newest checkpoint."""
    step = folder / (folder / "latest").read_text().strip()
    found: dict[str, np.ndarray] = {}
    for k in range(len(list(step.glob("*.optimizer.safetensors")))):
        found |= safetensors.numpy.load_file(step / f"stage_{k}.safetensors")
    return found
