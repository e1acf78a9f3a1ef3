"""Stages with several replicas: microbatch j runs on replica j mod r, and the answer is that of onnxruntime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hethub
import numpy as np
import oracle
import pytest
import small_models
from command import hethub as command

LAYERS, MICROBATCHES = 4, 5
# Devices of each type, and how many of the layers the stages are given with how many replicas.
PLANS = {
    "one stage twice": [("slow", LAYERS, 2)],
    "two feed one": [("slow", 2, 2), ("fast", 2, 1)],
    "one feeds two": [("fast", 1, 1), ("slow", 3, 2)],
    "two feed three": [("slow", 1, 2), ("fast", 3, 3)],
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("cluster") / "cluster.yaml"
    file.write_text(
        "devices:\n"
        "  - {name: slow, kind: cpu, count: 2, memory: 1 GiB}\n"
        "  - {name: fast, kind: cpu, count: 3, memory: 1 GiB}\n"
    )
    return file


def own_plan(folder: Path, layers: Path, stages: list[tuple[str, int, int]]) -> Path:
    nodes = [node for stage in hethub.plan(layers, stages=1)["stages"] for node in stage["nodes"]]
    of_a_layer = len(nodes) // LAYERS
    maps = []
    for name, count, replicas in stages:
        maps.append({"device_type": name, "replicas": replicas, "nodes": nodes[: count * of_a_layer]})
        nodes = nodes[count * of_a_layer :]
    maps[-1]["nodes"] += nodes
    file = folder / "own.json"
    file.write_text(json.dumps({"stages": maps}))
    return file


@pytest.mark.parametrize("stages", PLANS.values(), ids=PLANS.keys())
@pytest.mark.parametrize("microbatches", [1, MICROBATCHES])
def test_answers(
    tmp_path: Path, layers: Path, cluster: Path, stages: list[tuple[str, int, int]], microbatches: int
) -> None:
    plan = own_plan(tmp_path, layers, stages)
    out = hethub.compile(layers, tmp_path / "out", cluster=cluster, plan_file=plan, emit=("program",))
    kept = hethub.output.OutputFolder.read(out).plan["stages"]
    assert [(stage["device_type"], stage["replicas"]) for stage in kept] == [(s[0], s[2]) for s in stages]
    generator = np.random.default_rng(3)
    shape = small_models.layers_input()["x"].shape
    x = generator.standard_normal((shape[0] * microbatches, *shape[1:]), dtype=np.float32)
    result = hethub.run(out, {"x": x}, microbatches=microbatches)
    oracle.assert_close(result.outputs, oracle.reference(layers, [{"x": part} for part in np.split(x, microbatches)]))


def test_replicas_are_planned_unless_they_are_off(tmp_path: Path, layers: Path, cluster: Path) -> None:
    """Enough equal devices and microbatches: the whole model on each of them, or a pipeline."""
    arguments = ("plan", layers, "--cluster", cluster, "--microbatches", 64, "--json", "-o", tmp_path / "plan.json")
    assert max(stage["replicas"] for stage in planned(arguments)) > 1
    assert max(stage["replicas"] for stage in planned((*arguments, "--replicas", "off"))) == 1


def planned(arguments: tuple[object, ...]) -> list[dict[str, Any]]:
    result = command(*arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["stages"]
