"""Clusters and stage maps that cannot be: one clear message, exit code 1, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import hethub as package
import pytest
from command import error_of, hethub

CPU = "{name: a, kind: cpu, count: 1}"

# file content, what the message must name
CLUSTERS = [
    ("devices: []\n", "device"),
    ("links: []\n", "device"),
    ("devices:\n  - {name: a, kind: cpu, count: 0}\n", "count"),
    ("devices:\n  - {name: a, kind: cpu, count: 1, memory: -8 GiB}\n", "memory"),
    ("devices:\n  - {name: a, kind: cpu, count: 1, peak: 0}\n", "peak"),
    ("devices:\n  - {name: a, accelerator: H1000, count: 1}\n", "H1000"),
    ("devices:\n  - {name: a, kind: abacus, count: 1}\n", "abacus"),
    (f"devices:\n  - {CPU}\nlinks:\n  - {{between: [a, nowhere], bandwidth: 1 GB/s}}\n", "nowhere"),
    (f"devices:\n  - {CPU}\n  - {CPU}\n", "a"),
    (f"devices:\n  - {CPU}\ncolour: red\n", "colour"),
    ("devices: {\n", "cluster.yaml"),
    ("devices:\n  - {name: a, kind: cpu, profile: no-such.json}\n", "no-such.json"),
]


@pytest.mark.parametrize(("text", "word"), CLUSTERS)
def test_cluster_files(tmp_path: Path, layers: Path, text: str, word: str) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(text)
    message = error_of(hethub("compile", layers, "--cluster", cluster, "-o", tmp_path / "out"))
    assert word in message
    assert [p.name for p in tmp_path.iterdir()] == ["cluster.yaml"]


def test_missing_cluster_file(tmp_path: Path, layers: Path) -> None:
    message = error_of(hethub("compile", layers, "--cluster", tmp_path / "none.yaml", "-o", tmp_path / "out"))
    assert "none.yaml" in message


def test_model_that_fits_on_no_combination_of_devices(tmp_path: Path, layers: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("devices:\n  - {name: tiny, kind: cpu, count: 2, memory: 400 B}\n")
    message = error_of(hethub("compile", layers, "--cluster", cluster, "-o", tmp_path / "out"))
    assert "tiny" in message
    assert "stage" in message
    assert "bytes" in message or " B" in message or "KiB" in message
    assert [p.name for p in tmp_path.iterdir()] == ["cluster.yaml"]


@pytest.fixture
def stage_map(tmp_path: Path, layers: Path) -> tuple[Path, dict]:
    """A plan of two stages to be spoilt."""
    file = tmp_path / "plan.json"
    return file, package.plan(layers, file, stages=2)


def compile_with(layers: Path, file: Path, plan: dict) -> str:
    file.write_text(json.dumps(plan))
    out = file.parent / "out"
    message = error_of(hethub("compile", layers, "--stages", "2", "--plan", file, "-o", out))
    assert not out.exists()
    return message


def test_stage_map_that_loses_an_operation(layers: Path, stage_map: tuple[Path, dict]) -> None:
    file, plan = stage_map
    lost = plan["stages"][1]["nodes"].pop()
    assert lost in compile_with(layers, file, plan)


def test_stage_map_that_repeats_an_operation(layers: Path, stage_map: tuple[Path, dict]) -> None:
    file, plan = stage_map
    twice = plan["stages"][0]["nodes"][0]
    plan["stages"][1]["nodes"].append(twice)
    assert twice in compile_with(layers, file, plan)


def test_stage_map_that_reorders_operations(layers: Path, stage_map: tuple[Path, dict]) -> None:
    file, plan = stage_map
    first, second = (stage["nodes"] for stage in plan["stages"])
    first[-1], second[0] = second[0], first[-1]
    message = compile_with(layers, file, plan)
    assert first[-1] in message or second[0] in message


def test_stage_map_with_an_unknown_operation(layers: Path, stage_map: tuple[Path, dict]) -> None:
    file, plan = stage_map
    plan["stages"][0]["nodes"].append("no_such_node")
    assert "no_such_node" in compile_with(layers, file, plan)


def test_stage_map_with_an_empty_stage(layers: Path, stage_map: tuple[Path, dict]) -> None:
    file, plan = stage_map
    plan["stages"][0]["nodes"] += plan["stages"][1]["nodes"]
    plan["stages"][1]["nodes"] = []
    assert "stage 1" in compile_with(layers, file, plan)


def test_stage_map_that_is_no_json(layers: Path, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text("{")
    message = error_of(hethub("compile", layers, "--stages", "2", "--plan", file, "-o", tmp_path / "out"))
    assert "plan.json" in message
