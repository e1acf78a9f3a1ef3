"""What `hethub plan` says of a plan, on a model and devices whose times a person can add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hethub
import pytest
from command import hethub as command

# Seconds of one of the four layers.
SLOW, FAST = 2.0, 1.0
MICROBATCHES = 9
# Messages take 30 us.
CLOSE = 1e-3


@pytest.fixture(scope="session")
def cluster(layers: Path) -> Path:
    """Two slow devices and a fast one, by profiles that are made up."""
    folder = layers.parent
    content = hethub.profile(layers, folder / "measured.json", repeats=1)
    lines = ["devices:"]
    for name, count, seconds in (("slow", 2, SLOW), ("fast", 1, FAST)):
        for entry in content["ops"].values():
            entry["forward_s"] = seconds if entry["op"].endswith("Gemm") else 0
        (folder / f"{name}.json").write_text(json.dumps(content))
        lines.append(f"  - {{name: {name}, kind: cpu, count: {count}, memory: 1 GiB, profile: {name}.json}}")
    file = folder / "unlike.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def planned(layers: Path, cluster: Path, folder: Path, *more: object) -> dict[str, Any]:
    arguments = ("--cluster", cluster, "--microbatches", MICROBATCHES, "-o", folder / "plan.json", "--json", *more)
    result = command("plan", layers, *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def gemms(stages: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return [(s["device_type"], s["replicas"], sum(n.startswith("add_") for n in s["nodes"])) for s in stages]


def test_slow_replicas_beside_a_fast_device(tmp_path: Path, layers: Path, cluster: Path) -> None:
    """Two layers each: 4 + 2 s and then 4 times 4 s or 8 times 2 s. One layer on the slow ones: 2 + 3 + 8 x 3 s."""
    plan = planned(layers, cluster, tmp_path)
    assert sorted(gemms(plan["stages"])) == [("fast", 1, 2), ("slow", 2, 2)]
    assert plan["step_seconds"] == pytest.approx(4 + 2 + 16, abs=CLOSE)
    explanation = plan["explanation"]
    assert explanation["fill_seconds"] == pytest.approx(6, abs=CLOSE)
    assert explanation["steady_seconds"] == pytest.approx(16, abs=CLOSE)
    assert explanation["unused_devices"] == {}
    assert explanation["imbalance"] == pytest.approx(0, abs=CLOSE)
    bottleneck = explanation["bottleneck"]
    assert bottleneck["load_seconds"] == pytest.approx(2, abs=CLOSE)
    assert bottleneck["heaviest"].startswith("add_")
    # A third layer for the neighbour makes it the slower one, by 4 x 2 or 8 x 1 s.
    (border,) = bottleneck["borders"]
    assert border["hold"] == "load"
    assert border["step_seconds"] > plan["step_seconds"] + 7


def test_other_plans(tmp_path: Path, layers: Path, cluster: Path) -> None:
    """One slow device alone can at best hold one layer: 2 + 3 + 8 x 3 s. The fast one alone: 4 + 8 x 4 s."""
    others = planned(layers, cluster, tmp_path)["explanation"]["alternatives"]
    steps = {change: other["step_seconds"] for other in others for change in other["changes"]}
    assert steps["one device of type 'slow' fewer"] == pytest.approx(29, abs=CLOSE)
    assert steps["without device type 'slow'"] == pytest.approx(36, abs=CLOSE)
    # Two slow devices: 8 s of work each second microbatch, 8 + 4 x 8 s.
    assert steps["without device type 'fast'"] == pytest.approx(40, abs=CLOSE)
    assert steps["one stage fewer"] == pytest.approx(36, abs=CLOSE)
    # A device each, as fast as replicas but for one more message.
    assert steps["no replicas"] == pytest.approx(22, abs=CLOSE)
    assert list(steps.values()) == sorted(steps.values())


def test_what_if(tmp_path: Path, layers: Path, cluster: Path) -> None:
    """Three slow ones take three layers, 6 + 1 + 2 x 6 s; two fast ones take three, 2 + 3 + 4 x 3 s."""
    explanation = planned(layers, cluster, tmp_path, "--what-if")["explanation"]
    found = {other["device_type"]: other for other in explanation["what_if"]}
    assert found["slow"]["count"] == 3
    assert found["slow"]["step_seconds"] == pytest.approx(19, abs=CLOSE)
    assert found["slow"]["throughput_gain"] == pytest.approx(22 / 19 - 1, abs=CLOSE)
    assert found["fast"]["count"] == 2
    assert found["fast"]["step_seconds"] == pytest.approx(17, abs=CLOSE)


def test_a_plan_of_ones_own_beside_the_automatic_one(tmp_path: Path, layers: Path, cluster: Path) -> None:
    """One layer on a slow device, three on the fast one: 2 + 3 + 8 x 3 s, where 22 s can be had."""
    names = [f"{op}_{k}" for k in range(4) for op in ("add", "relu")]
    stages = [{"device_type": "slow", "nodes": names[:2]}, {"device_type": "fast", "nodes": names[2:]}]
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"stages": stages}))
    plan = planned(layers, cluster, tmp_path, "--plan", file)
    assert [stage["nodes"] for stage in plan["stages"]] == [names[:2], names[2:]]
    assert plan["step_seconds"] == pytest.approx(29, abs=CLOSE)
    explanation = plan["explanation"]
    assert explanation["alternatives"] == []
    assert explanation["automatic"]["step_seconds"] == pytest.approx(22, abs=CLOSE)
    assert explanation["automatic_throughput_gain"] == pytest.approx(29 / 22 - 1, abs=CLOSE)
    assert explanation["unused_devices"] == {"slow": 1}
    # With another layer the slow device would need 4 s for each microbatch, more than the 3 s now.
    (border,) = explanation["bottleneck"]["borders"]
    assert border["hold"] == "load"
    text = command("plan", layers, "--cluster", cluster, "--microbatches", MICROBATCHES, "--plan", file, "-o", file)
    assert "+31.8 % throughput" in text.stdout
    assert "not used: 1 of 'slow'" in text.stdout


def test_what_is_printed(tmp_path: Path, layers: Path, cluster: Path) -> None:
    arguments = ("plan", layers, "--cluster", cluster, "--microbatches", MICROBATCHES, "-o", tmp_path / "plan.json")
    text = command(*arguments, "--what-if").stdout
    for line in ("why not better:", "other plans:", "one more device:"):
        assert line in text.splitlines()
    assert "slow (3)" in text
    brief = command(*arguments, "--no-explain").stdout
    assert "step for 9 microbatches: 22000.0 ms predicted" in brief
    assert "why not better:" not in brief
    assert "explanation" not in json.loads((tmp_path / "plan.json").read_text())
