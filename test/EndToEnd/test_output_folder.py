"""The folder that `hethub compile` writes: complete, movable, replaced as a whole."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import clusters
import hethub
import oracle
import pytest
import small_models
from command import error_of
from command import hethub as command

INPUTS = small_models.layers_input()


def test_what_is_in_it(tmp_path: Path, layers: Path) -> None:
    out = hethub.compile(layers, tmp_path / "out", stages=2, emit=("program", "cpp"))
    top = {p.name for p in out.iterdir()}
    assert {"plan.json", "schedule.json", "run", "stage_0", "stage_1"} <= top
    assert os.access(out / "run", os.X_OK)
    for k in range(2):
        files = {p.name for p in (out / f"stage_{k}").iterdir()}
        assert {"program.pb", "weights.json", "main.cpp", "CMakeLists.txt"} <= files
    assert json.loads((out / "schedule.json").read_text())
    # The model's own names, so that a person finds their way.
    assert "w_0" in (out / "stage_0" / "main.cpp").read_text()


def test_compiling_again_replaces_all_of_it(tmp_path: Path, layers: Path) -> None:
    out = hethub.compile(layers, tmp_path / "out", stages=3, emit=("program",))
    hethub.compile(layers, out, stages=2, emit=("program",))
    assert not (out / "stage_2").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert hethub.run(out, INPUTS).outputs["y"].shape == (2, 8)


def test_failure_keeps_the_old_one(tmp_path: Path, layers: Path) -> None:
    out = hethub.compile(layers, tmp_path / "out", stages=2, emit=("program",))
    before = (out / "plan.json").read_text()
    error_of(command("compile", tmp_path / "none.onnx", "--stages", 2, "-o", out))
    assert (out / "plan.json").read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_other_peoples_folders_are_left_alone(tmp_path: Path, layers: Path) -> None:
    (tmp_path / "thesis.txt").write_text("two years of work")
    message = error_of(command("compile", layers, "--stages", 2, "-o", tmp_path))
    assert "must be new, empty or written by hethub" in message
    assert (tmp_path / "thesis.txt").exists()


@pytest.mark.parametrize("packed", [False, True])
def test_it_can_be_moved(tmp_path: Path, layers: Path, packed: bool) -> None:
    """With packed weights even without the model's file."""
    model = Path(shutil.copy(layers, tmp_path / "model.onnx"))
    out = hethub.compile(model, tmp_path / "out", stages=2, emit=("program",), pack_weights=packed)
    expected = hethub.run(out, INPUTS).outputs
    (tmp_path / "elsewhere").mkdir()
    moved = out.rename(tmp_path / "elsewhere" / "moved")
    if packed:
        model.unlink()
    oracle.assert_same_bits(hethub.run(moved, INPUTS).outputs, expected)


def test_equal_inputs_give_equal_bytes(tmp_path: Path, layers: Path) -> None:
    """With a cluster that states all figures; those that it leaves out are measured, each time anew."""
    cluster = clusters.write_cluster(tmp_path, types=2)
    first, second = (
        hethub.compile(layers, tmp_path / name, cluster=cluster, emit=("program", "cpp")) for name in ("one", "two")
    )
    for file in sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file() and p.name != "run"):
        assert (first / file).read_bytes() == (second / file).read_bytes(), file
