"""`hethub profile` measures this machine, and a cluster file with the profile plans by it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import hethub
import pytest
import small_models
from command import hethub as command
from hethub.probe import sum_figures


def test_profile_has_every_operation_once(tmp_path: Path, layers: Path) -> None:
    file = tmp_path / "host.json"
    result = command("profile", layers, "-o", file, "--repeats", 3, "--json")
    assert result.returncode == 0, result.stderr
    content = json.loads(file.read_text())
    assert content == json.loads(result.stdout)
    kinds = {entry["op"].removeprefix("onnx."): entry["count"] for entry in content["ops"].values()}
    # MatMul and Add of a layer are one operation by then.
    assert kinds == {"Gemm": small_models.LAYERS, "Relu": small_models.LAYERS}
    assert all(0 < entry["forward_s"] < 1 for entry in content["ops"].values())


def test_measured_times_override_the_roofline(tmp_path: Path, layers: Path) -> None:
    content = hethub.profile(layers, tmp_path / "host.json", repeats=3)
    # The same machine, told to be a thousand times slower.
    for entry in content["ops"].values():
        entry["forward_s"] = 0.25
    (tmp_path / "slow.json").write_text(json.dumps(content))
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("devices:\n  - {name: a, kind: cpu, memory: 1 GiB, profile: slow.json}\n")
    plan = hethub.plan(layers, cluster=cluster)
    assert sum(stage["forward_seconds"] for stage in plan["stages"]) == 0.25 * 2 * small_models.LAYERS


def test_training_profile_has_backward_passes(tmp_path: Path, layers: Path) -> None:
    """Each operation's backward pass, the loss among them, adds up to the whole one; plans of training steps use it."""
    training = hethub.TrainingStep(loss="mse", schedule="zero-bubble")
    content = hethub.profile(layers, tmp_path / "host.json", repeats=3, training=training)
    kinds = {entry["op"].removeprefix("onnx.") for entry in content["ops"].values()}
    assert kinds == {"Gemm", "Relu", "Sub", "Mul", "ReduceMean"}
    gemm = next(entry for entry in content["ops"].values() if entry["op"] == "onnx.Gemm")
    assert gemm["backward_s"] > gemm["forward_s"] > 0
    assert gemm["input_gradient_s"] > 0 and gemm["weight_gradient_s"] > 0
    relu = next(entry for entry in content["ops"].values() if entry["op"] == "onnx.Relu")
    assert relu["weight_gradient_s"] == 0 and relu["input_gradient_s"] > 0
    # A byte of a parameter is read in less than a microsecond, and not in no time.
    assert 1e-12 < content["optimizer_s_per_byte"] < 1e-6
    for way in ("forward_s", "backward_s"):
        total = sum(entry[way] * entry["count"] for entry in content["ops"].values())
        assert total == pytest.approx(content[way], rel=0.2)

    for entry in content["ops"].values():
        is_gemm = entry["op"] == "onnx.Gemm"
        entry |= {
            "backward_s": 0.25 * is_gemm,
            "input_gradient_s": 0.125 * is_gemm,
            "weight_gradient_s": 0.25 * is_gemm,
        }
    (tmp_path / "slow.json").write_text(json.dumps(content | {"optimizer_s_per_byte": 1e-3}))
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("devices:\n  - {name: a, kind: cpu, memory: 1 GiB, profile: slow.json}\n")
    # In one part and in two: what is measured of the programs that run.
    for schedule, backward in (("1f1b", 0.25), ("zero-bubble", 0.375)):
        plan = hethub.plan(layers, cluster=cluster, training=replace(training, schedule=schedule))
        [stage] = plan["stages"]
        assert plan["schedule"] == schedule
        assert stage["backward_seconds"] == backward * small_models.LAYERS
        assert stage["weight_seconds"] == 0.25 * small_models.LAYERS
        assert stage["trained_bytes"] == stage["parameter_bytes"] > 0
        assert stage["optimizer_seconds"] == pytest.approx(1e-3 * stage["trained_bytes"])


def test_frozen_parameters_have_neither_gradient_nor_optimizer_state(layers: Path) -> None:
    training = hethub.TrainingStep(loss="mse", freeze=["[wb]_[012]"])
    [stage] = hethub.plan(layers, stages=1, training=training)["stages"]
    one = 4 * (small_models.WIDTH + 1) * small_models.WIDTH
    assert (stage["parameter_bytes"], stage["trained_bytes"]) == (one * small_models.LAYERS, one)
    kept = stage["memory_bytes"] - stage["workspace_bytes"] - stage["in_flight"] * stage["activation_bytes"]
    # Weight, gradient and two moments of what is trained; the weight alone of the rest.
    assert kept == 4 * one + (small_models.LAYERS - 1) * one


def test_neighbours_run_while_the_model_is_timed_and_not_longer(
    tmp_path: Path, layers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    alive: list[int] = []
    popen, run = subprocess.Popen, hethub.tools.run

    def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process = popen(command, **options)
        if "--repeats=1000000000" in command:
            started.append(process)
        return process

    def timed(name: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        result = run(name, arguments)
        if name == "hh-run":
            alive.append(sum(process.poll() is None for process in started))
        return result

    monkeypatch.setattr(subprocess, "Popen", start)
    monkeypatch.setattr(hethub.tools, "run", timed)
    content = hethub.profile(layers, tmp_path / "host.json", repeats=3, ranks=3)
    assert content["ranks"] == 3
    assert (len(started), alive) == (2, [2])
    assert all(process.poll() is not None for process in started)


def test_at_least_one_rank(tmp_path: Path, layers: Path) -> None:
    result = command("profile", layers, "-o", tmp_path / "host.json", "--ranks", 0)
    assert result.returncode == 1
    assert "ranks must be at least 1, got: 0" in result.stderr
    assert not (tmp_path / "host.json").exists()


def test_sums_over_ranks_are_measured() -> None:
    figures = sum_figures()
    assert 0 <= figures["sum_latency_s"] < 1
    assert 1e5 < figures["sum_bytes_per_s"] < 1e13


def test_a_sum_needs_two_ranks() -> None:
    alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    command = [str(hethub.tools.find("hh-run")), "--probe-sum=16"]
    result = subprocess.run(command, env=alone, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (1, "")
    assert "--probe-sum needs at least 2 ranks, got: 1" in result.stderr
