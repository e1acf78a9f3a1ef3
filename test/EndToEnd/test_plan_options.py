"""Options of a plan that lead to several searches: sizes of a microbatch, numbers of stages of a large cluster."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import small_models
from clusters import write_cluster
from hethub import tools

SAMPLES = 24  # 1, 2, 4 and 8 are the powers of two that divide it


def compile_plan(model: Path, cluster: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [tools.find("hh-compile"), model, f"--cluster={cluster}", "--plan-only", *options, "-o", folder]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def plan_of(model: Path, cluster: Path, folder: Path, *options: str) -> dict[str, Any]:
    result = compile_plan(model, cluster, folder, *options)
    assert result.returncode == 0, result.stderr
    return json.loads((folder / "plan.json").read_text())


@pytest.fixture(scope="module")
def symbolic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_models.layers_model(tmp_path_factory.mktemp("symbolic") / "model.onnx", batch="batch", width=64)


@pytest.mark.parametrize("latency", ["0 us", "50 us", "5 ms"])
def test_a_symbolic_batch_takes_the_fastest_size(tmp_path: Path, symbolic: Path, latency: str) -> None:
    """The plan is that of the best size that divides the global batch, each of them planned by itself."""
    cluster = write_cluster(tmp_path, 2)
    cluster.write_text(cluster.read_text().replace("50 us", latency))
    every = {
        size: plan_of(symbolic, cluster, tmp_path / "out", f"--dim=batch={size}", f"--microbatches={SAMPLES // size}")
        for size in (1, 2, 4, 8)
    }
    best = min(every, key=lambda size: every[size]["step_seconds"])
    chosen = plan_of(symbolic, cluster, tmp_path / "out", f"--global-batch={SAMPLES}")
    assert (chosen["microbatch_size"], chosen["microbatches"]) == (best, SAMPLES // best)
    assert chosen["step_seconds"] == every[best]["step_seconds"]
    assert chosen["stages"] == every[best]["stages"]


def test_sizes_are_at_most_64_and_divide_the_global_batch(tmp_path: Path, symbolic: Path) -> None:
    """An odd global batch leaves one sample; a large one on one device, where a step is but work, no more than 64."""
    cluster = write_cluster(tmp_path, 1)
    for samples, sizes in ((7, {1}), (6, {1, 2}), (1024, {1, 2, 4, 8, 16, 32, 64})):
        plan = plan_of(symbolic, cluster, tmp_path / "out", f"--global-batch={samples}")
        assert plan["microbatch_size"] in sizes
        assert plan["microbatch_size"] * plan["microbatches"] == samples


def test_a_batch_that_the_user_fixed_is_kept(tmp_path: Path, symbolic: Path) -> None:
    cluster = write_cluster(tmp_path, 2)
    plan = plan_of(symbolic, cluster, tmp_path / "out", "--global-batch=24", "--dim=batch=3")
    assert (plan["microbatch_size"], plan["microbatches"]) == (3, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--global-batch=0"], "--global-batch must be at least 1, got: 0"),
        (["--global-batch=8", "--microbatches=2"], "--global-batch and --microbatches must not both be given"),
        (
            ["--global-batch=8", "--dim=batch=3"],
            "the global batch must be a multiple of the model's batch of 3, got: 8",
        ),
        (["--global-batch=-1"], "--global-batch"),
        (["--global-batch=many"], "--global-batch"),
    ],
)
def test_wrong_global_batches(tmp_path: Path, symbolic: Path, options: list[str], message: str) -> None:
    result = compile_plan(symbolic, write_cluster(tmp_path, 2), tmp_path / "out", *options)
    assert result.returncode == 1
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize("stages", [1, 3, 5])
def test_a_number_of_stages_on_a_large_cluster(tmp_path: Path, stages: int, train: bool) -> None:
    """Two types of 400 devices each have too many subsets for the exact search with replicas. The stages are as many as
    asked for, and the bound holds for plans of any number of stages."""
    model = small_models.layers_model(tmp_path / "model.onnx", layers=6)
    cluster = write_cluster(tmp_path, 2, count=400)
    options = ["--microbatches=512", "--time-limit=1", *(["--train"] if train else [])]
    plan = plan_of(model, cluster, tmp_path / "out", f"--stages={stages}", *options)
    names = [node for stage in plan["stages"] for node in stage["nodes"]]
    assert len(plan["stages"]) == stages
    assert names == [f"{op}_{k}" for k in range(6) for op in ("add", "relu")]
    assert all(stage["replicas"] == 1 for stage in plan["stages"])
    assert any("too many devices" in note for note in plan["notes"])
    assert 0 < plan["lower_bound_seconds"] <= plan["step_seconds"]
    free = plan_of(model, cluster, tmp_path / "free", *options)
    assert free["step_seconds"] <= plan["step_seconds"] * (1 + 1e-9)
    assert plan["lower_bound_seconds"] <= free["step_seconds"] * (1 + 1e-9)


def test_a_time_limit_of_0_on_a_large_cluster(tmp_path: Path, layers: Path) -> None:
    """One attempt: a whole plan within its memory, with a bound, and the same again."""
    cluster = write_cluster(tmp_path, 3, count=300)
    plans = [plan_of(layers, cluster, tmp_path / f"out{k}", "--time-limit=0") for k in range(2)]
    assert plans[0] == plans[1]
    names = [node for stage in plans[0]["stages"] for node in stage["nodes"]]
    assert names == [f"{op}_{k}" for k in range(small_models.LAYERS) for op in ("add", "relu")]
    assert 0 < plans[0]["lower_bound_seconds"] <= plans[0]["step_seconds"]
    assert all(0 < stage["memory_bytes"] <= stage["memory_limit_bytes"] for stage in plans[0]["stages"])


def test_a_time_limit_of_0_says_when_nothing_was_found(tmp_path: Path, layers: Path) -> None:
    """Memory that nothing fits in: exit code 1, one message, no plan."""
    cluster = write_cluster(tmp_path, 2, count=2, memory="100 B")
    result = compile_plan(layers, cluster, tmp_path / "out", "--time-limit=0")
    assert result.returncode == 1
    assert result.stderr.count("error:") == 1
    assert not (tmp_path / "out").exists()


def test_a_large_cluster_names_the_memory_that_is_missing(tmp_path: Path) -> None:
    """A layer and its optimizer state need more than a device has: with the addition that is named there is a plan."""
    model = small_models.layers_model(tmp_path / "model.onnx", width=64)
    options = ["--microbatches=512", "--train"]
    few = 20_000
    result = compile_plan(model, write_cluster(tmp_path, 2, count=400, memory=f"{few} B"), tmp_path / "out", *options)
    assert result.returncode == 1
    lacks = int(result.stderr.partition(" and lacks ")[2].partition(" bytes")[0])
    assert lacks >= 4 * 64 * 64 * 4 - few
    assert not (tmp_path / "out").exists()
    enough = write_cluster(tmp_path, 2, count=400, memory=f"{few + lacks} B")
    plan = plan_of(model, enough, tmp_path / "out", *options)
    assert all(stage["memory_bytes"] <= few + lacks for stage in plan["stages"])
    less = write_cluster(tmp_path, 2, count=400, memory=f"{few + lacks - 1} B")
    assert "lacks 1 bytes" in compile_plan(model, less, tmp_path / "less", *options).stderr
