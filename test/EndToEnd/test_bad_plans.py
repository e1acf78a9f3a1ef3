"""Stage maps, profiles and wishes that cannot be met: one clear message each, exit code 1, nothing written."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hethub as package
import pytest
from command import error_of, hethub
from hethub import tools

Plan = dict[str, Any]


def first_stage(**fields: Any) -> Callable[[Plan], None]:
    return lambda plan: plan["stages"][0].update(fields)


def zigzag(plan: Plan) -> None:
    """Operations in stages 0, 1, ..., 1, 0: no cuts make such a map, and its values would have to flow back."""
    nodes = [node for stage in plan["stages"] for node in stage["nodes"]]
    plan["stages"][0]["nodes"], plan["stages"][1]["nodes"] = [nodes[0], nodes[-1]], nodes[1:-1]


# what is done to a plan of two stages, what the message says
STAGE_MAPS: list[tuple[Callable[[Plan], None], str]] = [
    (first_stage(replicas=0), "stage 0: replicas must be a whole number from 1 to 1000000, got: 0"),
    (first_stage(replicas=-1), "stage 0: replicas must be a whole number from 1 to 1000000, got: -1"),
    (first_stage(replicas=1.5), "stage 0: replicas must be a whole number from 1 to 1000000, got: 1.5"),
    (first_stage(replicas="2"), 'stage 0: replicas must be a whole number from 1 to 1000000, got: "2"'),
    (first_stage(replicas=9), "stages must use at most the 3 devices of type 'a', got: 10"),
    (first_stage(recompute=1), "stage 0: recompute must be true or false, got: 1"),
    (first_stage(recompute=True), "stage 0: recompute must be false in a plan for inference, got: true"),
    (first_stage(device_type=3), "stage 0: device_type must be a string, got: 3"),
    (first_stage(device_type="b"), "stage 0: the device type must be one of the cluster, got: 'b'"),
    (first_stage(nodes="add_0"), 'stage 0: nodes must be a list of operation names, got: "add_0"'),
    (lambda plan: plan.update(version=2), "version must be 1, got: 2"),
    (lambda plan: plan.update(stages=[]), "a plan must have at least one stage, got: none"),
    (zigzag, "values must flow to later stages, got: 'a_3' from 'add_3' in stage 1 to 'relu_3' in stage 0"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text("devices:\n  - {name: a, kind: cpu, count: 3, peak: 9 GFLOP/s, memory_bandwidth: 9 GB/s}\n")
    return file


@pytest.mark.parametrize(("spoil", "message"), STAGE_MAPS)
def test_stage_maps(tmp_path: Path, layers: Path, cluster: Path, spoil: Callable[[Plan], None], message: str) -> None:
    file, out = tmp_path / "own.json", tmp_path / "out.json"
    plan = package.plan(layers, cluster=cluster, stages=2)
    for stage in plan["stages"]:
        stage["replicas"] = 1
    spoil(plan)
    file.write_text(json.dumps(plan))
    assert message in error_of(hethub("plan", layers, "--cluster", cluster, "--plan", file, "-o", out))
    assert not out.exists()


def test_fields_that_stand_twice(tmp_path: Path, layers: Path, cluster: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text('{"stages": [], "stages": []}')
    message = error_of(hethub("compile", layers, "--cluster", cluster, "--plan", file, "-o", tmp_path / "out"))
    assert "own.json: a plan must be JSON: an object must have each field once, got 'stages' twice" in message


def test_tensor_parallel_stages_are_not_compiled(tmp_path: Path, layers: Path, cluster: Path) -> None:
    """They can be planned and costed, but nothing can run them yet."""
    file, out = tmp_path / "own.json", tmp_path / "out"
    plan = package.plan(layers, cluster=cluster, stages=2)
    for stage, width in zip(plan["stages"], (1, 2), strict=True):
        stage.update(replicas=1, tensor_parallel=width)
    file.write_text(json.dumps(plan))
    message = error_of(hethub("compile", layers, "--cluster", cluster, "--plan", file, "-o", out))
    assert "tensor_parallel must be 1 for programs" in message
    assert "got: 2 in stage 1" in message
    assert not out.exists()


def test_a_time_limit_of_0_gives_a_plan_or_says_that_none_was_found(
    tmp_path: Path, layers: Path, cluster: Path
) -> None:
    """A plan of little search is whole, and says that better ones may exist."""
    command = [tools.find("hh-compile"), layers, f"--cluster={cluster}", "--plan-only", "--explain", "--time-limit=0"]
    result = subprocess.run([*command, "-o", tmp_path], capture_output=True, text=True, timeout=60)
    if result.returncode:
        assert "no plan was found within the limit of the search" in result.stderr
        return
    plan = json.loads((tmp_path / "plan.json").read_text())
    names = [node for stage in plan["stages"] for node in stage["nodes"]]
    assert names == [f"{op}_{k}" for k in range(4) for op in ("add", "relu")]
    assert plan["lower_bound_seconds"] <= plan["step_seconds"]
    assert plan["optimal_for_order"] or plan["notes"]


def test_time_limits_that_are_none(tmp_path: Path, layers: Path, cluster: Path) -> None:
    for limit in ("-1", "nan", "inf"):
        command = [tools.find("hh-compile"), layers, f"--cluster={cluster}", "--plan-only", f"--time-limit={limit}"]
        result = subprocess.run([*command, "-o", tmp_path], capture_output=True, text=True, timeout=60)
        assert result.returncode == 1
        assert "--time-limit must be from 0 to 1000000 seconds, got: " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stages", 9], "stages must be at most the number of operations (8), got: 9"),
        (["--stages", 4], "stages must be at most the number of devices (3), got: 4"),
        (["--stages", 0], "stages must be at least 1, got: 0"),
        (["--microbatches", 0], "microbatches must be at least 1, got: 0"),
    ],
)
def test_wishes(tmp_path: Path, layers: Path, cluster: Path, arguments: list[object], message: str) -> None:
    out = tmp_path / "out.json"
    assert message in error_of(hethub("plan", layers, "--cluster", cluster, *arguments, "-o", out))
    assert not out.exists()


# profile.json, what the message says
PROFILES = [
    ("{", "a profile must be JSON"),
    ('{"x": {"forward_s": NaN}}', "a profile must be JSON"),
    ("[1]", "a profile must be an object of seconds by signature"),
    ('{"x": 3}', "'x': an operation must be an object with forward_s, got: 3"),
    ('{"x": {"backward_s": 1}}', "'x': an operation must have forward_s, got: none"),
    ('{"x": {"forward_s": -1}}', "'x': forward_s must be seconds from 0 to 1000000000, got: -1"),
    ('{"x": {"forward_s": "1"}}', "'x': forward_s must be seconds from 0 to 1000000000, got: \"1\""),
    ('{"x": {"forward_s": 1e308}}', "'x': forward_s must be seconds from 0 to 1000000000, got: 1"),
    ('{"x": {"forward_s": 1, "backward_s": -2}}', "'x': backward_s must be seconds from 0 to 1000000000, got: -2"),
    ('{"x": {"forward_s": 1}, "x": {"forward_s": 2}}', "an object must have each field once, got 'x' twice"),
    ('{"ops": {"x": {"forward_s": 1, "forward_s": 2}}}', "an object must have each field once, got 'forward_s' twice"),
]


@pytest.mark.parametrize(("text", "message"), PROFILES)
def test_profiles(tmp_path: Path, layers: Path, text: str, message: str) -> None:
    (tmp_path / "host.json").write_text(text)
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("devices:\n  - {name: a, kind: cpu, count: 2, profile: host.json}\n")
    found = error_of(hethub("plan", layers, "--cluster", cluster, "-o", tmp_path / "out.json"))
    assert "host.json: " in found
    assert message in found
    assert not (tmp_path / "out.json").exists()


def test_memory_that_is_a_byte_too_small(tmp_path: Path, layers: Path) -> None:
    """The message names the smallest addition with which the model fits: with it, it does; with a byte less, not."""
    cluster, out = tmp_path / "cluster.yaml", tmp_path / "out.json"

    def plan_with(memory: int) -> Any:
        figures = "peak: 9 GFLOP/s, memory_bandwidth: 9 GB/s"
        cluster.write_text(f"devices:\n  - {{name: a, kind: cpu, count: 2, memory: {memory}, {figures}}}\n")
        return hethub("plan", layers, "--cluster", cluster, "-o", out)

    message = error_of(plan_with(500))
    lacks = int(message.partition(" and lacks ")[2].partition(" bytes")[0])
    assert lacks > 1
    assert "lacks 1 bytes" in error_of(plan_with(500 + lacks - 1))
    assert plan_with(500 + lacks).returncode == 0
