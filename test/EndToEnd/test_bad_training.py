"""Training that cannot be: one clear message before anything is learnt or written, exit code 1."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import small_models
from command import error_of
from command import hethub as command
from hethub import tools
from onnx import TensorProto, helper, numpy_helper
from training_layers import compile_layers, write_data

MICROBATCHES = 4
SAMPLES = 40


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stages, of which the second, which reads the labels, has two replicas; and a checkpoint of two steps."""
    folder = tmp_path_factory.mktemp("bad")
    out = compile_layers(small_models.layers_model(folder / "model.onnx"), folder / "out", (1, 2), MICROBATCHES)
    write_data(folder / "data.npz", SAMPLES)
    result = command(*train(out, "--checkpoint", folder / "ckpt", steps=2))
    assert result.returncode == 0, result.stderr
    return out


def train(out: Path, *options: object, data: Path | None = None, steps: int = 3) -> list[str]:
    arguments = ["train", out, "--data", data or out.parent / "data.npz", "--steps", steps, "--timeout", 20, *options]
    return [str(argument) for argument in arguments]


Arrays = dict[str, np.ndarray]

# what is wrong with the data, the message after the rank
DATA: list[tuple[str, Callable[[Arrays], Arrays], str]] = [
    (
        "shorter than one step",
        lambda a: {name: array[:7] for name, array in a.items()},
        "the data must have at least the 8 samples of one step (4 microbatches of 2), got: 7 in ",
    ),
    (
        "empty",
        lambda a: {name: array[:0] for name, array in a.items()},
        "' must be ?x8xfloat32 in ",
    ),
    (
        "labels of another type",
        lambda a: a | {"labels": a["labels"].astype(np.int64)},
        "input 'labels' must be ?x8xfloat32 in ",
    ),
    (
        "labels of another width",
        lambda a: a | {"labels": a["labels"][:, :4]},
        "input 'labels' must be ?x8xfloat32 in ",
    ),
    ("no labels", lambda a: {"x": a["x"]}, "input 'labels' is missing in "),
    (
        "fewer labels than samples",
        lambda a: a | {"labels": a["labels"][:20]},
        "must agree on the number of samples, got: ",
    ),
]


@pytest.mark.parametrize(("change", "message"), [pytest.param(f, m, id=name) for name, f, m in DATA])
def test_data(out: Path, tmp_path: Path, change: Callable[[Arrays], Arrays], message: str) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, **change(dict(np.load(out.parent / "data.npz"))))
    error = error_of(command(*train(out, "--checkpoint", tmp_path / "ckpt", data=data)))
    assert message in error
    assert "\n" not in error
    assert [path.name for path in tmp_path.iterdir()] == ["data.npz"]


def test_data_that_is_no_file_of_arrays(out: Path, tmp_path: Path) -> None:
    data = tmp_path / "data.npz"
    data.write_bytes(b"PK\x03\x04 and no more")
    error = error_of(command(*train(out, data=data)))
    assert "data.npz" in error
    assert "\n" not in error


NUMBERS = [
    ("--learning-rate", "nan", "--learning-rate must be a number of at least 0, got: nan"),
    ("--learning-rate", "-0.1", "--learning-rate must be a number of at least 0, got: -0.1"),
    ("--learning-rate", "inf", "--learning-rate must be a number of at least 0, got: inf"),
    ("--weight-decay", "nan", "--weight-decay must be a number of at least 0, got: nan"),
    ("--clip-norm", "nan", "--clip-norm must be a number of at least 0, got: nan"),
    ("--minimum-learning-rate", "nan", "--minimum-learning-rate must be a number of at least 0, got: nan"),
    ("--checkpoint-every", "0", "--checkpoint-every must be a number of at least 1, got: 0"),
]


@pytest.mark.parametrize(("option", "value", "message"), NUMBERS)
def test_numbers(out: Path, tmp_path: Path, option: str, value: str, message: str) -> None:
    """Judged by each rank before it meets the others."""
    arguments = [
        f"--data={out.parent / 'data.npz'}",
        "--steps=2",
        f"{option}={value}",
        f"--checkpoint={tmp_path / 'c'}",
    ]
    result = subprocess.run([tools.find("hh-run"), out, *arguments], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stderr == f"error: {message}\n"
    assert not list(tmp_path.iterdir())


def spoil_format(step: Path) -> None:
    manifest = json.loads((step / "manifest.json").read_text())
    (step / "manifest.json").write_text(json.dumps(manifest | {"format": manifest["format"] + 1}))


def truncate(step: Path) -> None:
    file = step / "stage_1.safetensors"
    file.write_bytes(file.read_bytes()[:-5])


CHECKPOINTS = [
    (spoil_format, "(it was written by a newer version)"),
    (truncate, "(truncated)"),
    (lambda step: (step / "stage_0.optimizer.safetensors").unlink(), "stage_0.optimizer.safetensors"),
    (lambda step: (step / "manifest.json").write_text("{"), "manifest.json: parse error at line 1"),
]


@pytest.mark.parametrize(("spoil", "message"), CHECKPOINTS)
def test_checkpoints(out: Path, tmp_path: Path, spoil: Callable[[Path], object], message: str) -> None:
    shutil.copytree(out.parent / "ckpt", tmp_path / "ckpt")
    spoil(tmp_path / "ckpt" / "step-000002")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    error = error_of(command(*train(out, "--checkpoint", tmp_path / "ckpt", "--resume")))
    assert message in error
    assert "\n" not in error
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_checkpoint_of_another_model(out: Path, tmp_path: Path) -> None:
    wider = small_models.layers_model(tmp_path / "model.onnx", layers=6)
    other = compile_layers(wider, tmp_path / "out", (1, 1), MICROBATCHES)
    checkpoint = out.parent / "ckpt"
    before = {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()}
    data = out.parent / "data.npz"
    error = error_of(command(*train(other, "--checkpoint", checkpoint, "--resume", data=data)))
    assert "step-000002" in error
    assert "\n" not in error
    assert {path: path.read_bytes() for path in checkpoint.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("program", ["run", "hh-run"])
def test_another_number_of_ranks_than_the_plan_has(out: Path, tmp_path: Path, program: str) -> None:
    command = [str(out / "run")] if program == "run" else [str(tools.find("hh-run")), str(out)]
    command += [f"--data={out.parent / 'data.npz'}", "--steps=2", f"--checkpoint={tmp_path / 'ckpt'}", "--timeout=2"]
    environment = os.environ | {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29417"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert "3" in line
    assert line.endswith("got: 2")
    assert not list(tmp_path.iterdir())


def test_operations_that_have_no_gradient_are_listed_at_once(tmp_path: Path) -> None:
    """Each with its node, before anything is written. Mean and deviation are results of a normalisation that nothing
    may be learnt through."""
    random = np.random.default_rng(0)
    weights = {"w": random.standard_normal((8, 8), np.float32), "s": np.ones(8, np.float32)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="product"),
        helper.make_node("LayerNormalization", ["h", "s"], ["n", "mean"], name="norm_a"),
        helper.make_node("Add", ["n", "mean"], ["a"], name="sum"),
        helper.make_node("LayerNormalization", ["a", "s"], ["m", "", "deviation"], name="norm_b"),
        helper.make_node("Mul", ["m", "deviation"], ["y"], name="scaled"),
    ]
    model = small_models.save_graph(
        tmp_path / "model.onnx",
        nodes,
        {"x": (TensorProto.FLOAT, [4, 8])},
        {"y": (1, [4, 8])},
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    error = error_of(command("compile", model, "--stages", 1, "--train", "--loss", "mse", "-o", tmp_path / "out"))
    why = "aten.native_layer_norm cannot be differentiated: its mean and deviation have no gradient"
    assert error.splitlines()[:2] == [f"node 'norm_a': {why}", f"node 'norm_b': {why}"]
    assert "2 of " in error.splitlines()[2]
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
