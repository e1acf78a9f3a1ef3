"""Plans that no cut of the model's own order has: they compile, run and train as others do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hethub
import numpy as np
import onnx
import oracle
import pytest
import small_models
import torch
from hethub.npz import save_npz
from onnx import TensorProto, helper, numpy_helper

LAYERS = 4
WIDTH = 32
ALONE = hethub.Search(replicas=False)


@pytest.fixture(scope="module")
def towers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two towers of products, whose operations stand in turns, and their sum: the model's own order cuts both towers or
    puts one operation on a device by itself."""
    random = np.random.default_rng(3)
    nodes, weights = [], []
    for k in range(LAYERS):
        for tower in "ab":
            name = f"{tower}_{k}"
            value = f"{tower}_{k - 1}" if k else "x"
            weights.append(numpy_helper.from_array(random.standard_normal((WIDTH, WIDTH), np.float32) / 8, f"w_{name}"))
            nodes.append(helper.make_node("MatMul", [value, f"w_{name}"], [name], name=f"matmul_{name}"))
    nodes.append(helper.make_node("Add", [f"a_{LAYERS - 1}", f"b_{LAYERS - 1}"], ["y"], name="sum"))
    matrix = (TensorProto.FLOAT, [WIDTH, WIDTH])
    folder = tmp_path_factory.mktemp("towers")
    return small_models.save_graph(folder / "model.onnx", nodes, {"x": matrix}, {"y": matrix}, weights)


@pytest.fixture(scope="module")
def cluster(towers: Path) -> Path:
    """Two devices for which a value on its way takes about half as long as a product."""
    file = towers.parent / "cluster.yaml"
    device = "{name: a, kind: cpu, count: 2, peak: 1 GFLOP/s, memory_bandwidth: 100 GB/s}"
    file.write_text(f"devices:\n  - {device}\nlinks:\n  - {{within: a, bandwidth: 1 Gbit/s, latency: 1 us}}\n")
    return file


def stages_of(plan: dict[str, Any]) -> list[set[str]]:
    return [{node for node in stage["nodes"] if node.startswith("matmul_")} for stage in plan["stages"]]


def test_towers_are_taken_apart(tmp_path: Path, towers: Path, cluster: Path) -> None:
    """One value crosses, where the given order has at least two to send, and outputs are the model's."""
    out = hethub.compile(towers, tmp_path / "out", cluster=cluster, stages=2, search=ALONE, emit=("program",))
    plan = json.loads((out / "plan.json").read_text())
    names = {tower: {f"matmul_{tower}_{k}" for k in range(LAYERS)} for tower in "ab"}
    assert stages_of(plan) in ([names["a"], names["b"]], [names["b"], names["a"]])
    assert len(plan["messages"]) == 1
    assert plan["lower_bound_seconds"] <= plan["step_seconds"]
    parts = [{"x": np.random.default_rng(k).standard_normal((WIDTH, WIDTH)).astype(np.float32)} for k in range(3)]
    whole = {"x": np.concatenate([part["x"] for part in parts])}
    oracle.assert_close(hethub.run(out, whole, microbatches=3).outputs, oracle.reference(towers, parts))


def test_such_a_plan_can_be_followed(tmp_path: Path, towers: Path, cluster: Path) -> None:
    """Written to a file and given back as a stage map, it costs the same."""
    plan = hethub.plan(towers, cluster=cluster, stages=2, search=ALONE)
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    again = hethub.plan(towers, cluster=cluster, plan_file=file)
    assert again["stages"] == plan["stages"]
    assert again["step_seconds"] == plan["step_seconds"]


def test_such_a_plan_trains(tmp_path: Path, towers: Path, cluster: Path) -> None:
    """Gradients flow back over the one border; each stage updates its own tower."""
    search, training = hethub.Search(train=True, replicas=False), hethub.TrainingStep(loss="mse")
    out = hethub.compile(
        towers, tmp_path / "out", cluster=cluster, stages=2, search=search, training=training, emit=("program",)
    )
    plan = json.loads((out / "plan.json").read_text())
    assert {"a", "b"} == {node.split("_")[1] for stage in stages_of(plan) for node in stage}
    assert all(len({node.split("_")[1] for node in stage}) == 1 for stage in stages_of(plan))
    assert len(plan["messages"]) == 1

    random = np.random.default_rng(5)
    samples = 3 * plan["microbatches"] * WIDTH
    x, labels = (random.standard_normal((samples, WIDTH)).astype(np.float32) for _ in range(2))
    save_npz(tmp_path / "data.npz", {"x": x, "labels": labels})
    settings = hethub.Settings(in_order=True, optimizer="sgd", learning_rate=0.1)
    trained = hethub.train(out, tmp_path / "data.npz", steps=3, settings=settings)
    initial = onnx.load(towers).graph.initializer
    weights = {each.name: torch.tensor(numpy_helper.to_array(each), requires_grad=True) for each in initial}
    update = torch.optim.SGD(weights.values(), lr=0.1)
    for step, (batch, wanted) in enumerate(zip(np.split(x, 3), np.split(labels, 3), strict=True)):
        a = b = torch.from_numpy(batch)
        for k in range(LAYERS):
            a, b = a @ weights[f"w_a_{k}"], b @ weights[f"w_b_{k}"]
        loss = torch.nn.functional.mse_loss(a + b, torch.from_numpy(wanted))
        update.zero_grad()
        loss.backward()
        update.step()
        assert trained.steps[step]["loss"] == pytest.approx(loss.item(), rel=1e-5)
