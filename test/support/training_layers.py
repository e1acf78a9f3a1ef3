"""A small model that trains: compiled to some stages, with data."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import small_models
from hethub import TrainingStep


def compile_layers(model: Path, out: Path, replicas: tuple[int, ...], microbatches: int = 4) -> Path:
    """A program of as many stages as `replicas` has numbers."""
    devices = [f"  - {{name: type{k}, kind: cpu, count: {count}, memory: 1 GiB}}" for k, count in enumerate(replicas)]
    cluster, plan = out.with_suffix(".yaml"), out.with_suffix(".json")
    cluster.write_text("\n".join(["devices:", *devices]) + "\n")
    stages = [{"device_type": f"type{k}", "replicas": count} for k, count in enumerate(replicas)]
    for k, stage in enumerate(stages[1:], 1):
        stage["first"] = f"add_{small_models.LAYERS * k // len(replicas)}"
    plan.write_text(json.dumps({"stages": stages}))
    return hethub.compile(
        model,
        out,
        cluster=cluster,
        plan_file=plan,
        microbatches=microbatches,
        emit=("program",),
        training=TrainingStep(loss="mse"),
    )


def write_data(path: Path, samples: int = 40) -> Path:
    """Another such network is to be learnt."""
    random = np.random.default_rng(3)
    x = random.standard_normal((samples, small_models.WIDTH), np.float32)
    labels = np.maximum(x @ random.standard_normal((small_models.WIDTH, small_models.WIDTH), np.float32), 0)
    np.savez(path, x=x, labels=labels)
    return path
