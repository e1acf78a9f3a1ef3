"""A checkpoint continues in its own plan to the same bits, in any other plan to the same values, and goes back to ONNX;
what does not fit is refused before anything is changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import hethub
import numpy as np
import oracle
import pytest
import safetensors.numpy
import small_models
import torch
import torch_training
from hethub import HetHubError, tools
from model_table import ensure
from onnx import load, numpy_helper
from torch_training import TASKS
from training_layers import compile_layers, write_data
from training_runs import compile_task, options

STEPS, SAVED_AT = 9, 5
# Devices of each stage.
PLANS = {"one": (1,), "three": (1, 1, 1), "replicas": (2, 1)}


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One model in several plans, with data."""
    folder = tmp_path_factory.mktemp("plans")
    model = small_models.layers_model(folder / "model.onnx")
    write_data(folder / "data.npz")
    return {name: compile_layers(model, folder / name, replicas) for name, replicas in PLANS.items()}


def train(out: Path, checkpoint: Path, steps: int, *more: str) -> None:
    """In an order that is shuffled anew in each epoch, with an optimizer that has state."""
    data = out.parent / "data.npz"
    tools.run("hh-run", ["--loopback", str(out), f"--data={data}", f"--steps={steps}", "--seed=5",
                         "--learning-rate=0.01", f"--checkpoint={checkpoint}", *more])  # fmt: skip


def newest(checkpoint: Path) -> Path:
    return checkpoint / (checkpoint / "latest").read_text().strip()


def tensors(checkpoint: Path) -> dict[str, np.ndarray]:
    """All that the newest checkpoint holds, parameters and optimizer state."""
    found: dict[str, np.ndarray] = {}
    for file in newest(checkpoint).glob("*.safetensors"):
        found |= safetensors.numpy.load_file(file)
    return found


@pytest.fixture(scope="module")
def straight(plans: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, np.ndarray]]:
    """What each plan has learnt without a break."""
    folder = tmp_path_factory.mktemp("straight")
    for name, out in plans.items():
        train(out, folder / name, STEPS)
    return {name: tensors(folder / name) for name in plans}


@pytest.mark.parametrize("name", PLANS)
def test_resumes_to_the_same_bits(
    plans: dict[str, Path], straight: dict[str, dict[str, np.ndarray]], name: str, tmp_path: Path
) -> None:
    train(plans[name], tmp_path / "ckpt", SAVED_AT)
    train(plans[name], tmp_path / "ckpt", STEPS, "--resume")
    oracle.assert_same_bits(dict(sorted(tensors(tmp_path / "ckpt").items())), dict(sorted(straight[name].items())))


@pytest.mark.parametrize(("before", "after"), [("three", "one"), ("one", "replicas"), ("replicas", "three")])
def test_continues_in_another_plan(
    plans: dict[str, Path], straight: dict[str, dict[str, np.ndarray]], before: str, after: str, tmp_path: Path
) -> None:
    train(plans[before], tmp_path / "ckpt", SAVED_AT)
    kept = tensors(tmp_path / "ckpt")
    train(plans[after], tmp_path / "ckpt", STEPS, "--resume")
    found = tensors(tmp_path / "ckpt")
    manifest = json.loads((newest(tmp_path / "ckpt") / "manifest.json").read_text())
    assert len(manifest["parameters"]) == len(PLANS[after])
    assert found.keys() == kept.keys() == straight[after].keys()
    for key, right in straight[after].items():
        scale = float(np.abs(right).max())
        np.testing.assert_allclose(found[key], right, rtol=1e-4, atol=1e-5 * scale, err_msg=key)
        assert not np.array_equal(found[key], kept[key]), key


def test_goes_back_to_onnx(tmp_path: Path) -> None:
    """A transformer, trained on two stages and exported: its parameters are torch's, and onnxruntime gives what torch's
    trained module gives."""
    task, steps = TASKS["bert"], 3
    out = compile_task(task, (1, 1), "1f1b", tmp_path / "out")
    checkpoint = tmp_path / "ckpt"
    arguments = [*options(task, tmp_path, steps), f"--checkpoint={checkpoint}"]
    tools.run("hh-run", ["--loopback", str(out), *arguments])
    trained = hethub.export(checkpoint, ensure(task.model), tmp_path / "trained.onnx")
    right = torch_training.train("bert", steps=steps)
    before = {t.name: numpy_helper.to_array(t) for t in load(ensure(task.model)).graph.initializer}
    after = {t.name: numpy_helper.to_array(t) for t in load(trained).graph.initializer}
    assert before.keys() == after.keys()
    for name, array in after.items():
        if name in right.parameters:
            np.testing.assert_allclose(array, right.parameters[name], rtol=1e-4, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(array, before[name], err_msg=name)
    assert any(not np.array_equal(after[name], before[name]) for name in right.parameters)
    net = torch_training.make_net(task)
    inputs = net.inputs(0)
    with torch.no_grad():
        net.module.load_state_dict(right.state)
        expected = net.module(*inputs.values()).numpy()
    ours = oracle.reference_once(trained, {name: value.numpy() for name, value in inputs.items()})["logits"]
    np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-4)


def refusal(out: Path, checkpoint: Path, *more: str) -> str:
    before = {file: file.read_bytes() for file in checkpoint.rglob("*") if file.is_file()}
    with pytest.raises(HetHubError) as caught:
        train(out, checkpoint, STEPS, *more)
    assert {file: file.read_bytes() for file in checkpoint.rglob("*") if file.is_file()} == before
    return str(caught.value)


def test_bad_checkpoints(plans: dict[str, Path], tmp_path: Path) -> None:
    good = tmp_path / "good"
    train(plans["three"], good, SAVED_AT)
    out = plans["replicas"]
    assert "must be new or used with --resume" in refusal(out, good)

    def changed(name: str) -> Path:
        return newest(shutil.copytree(good, tmp_path / name))

    step = changed("truncated")
    file = step / "stage_1.safetensors"
    file.write_bytes(file.read_bytes()[:-10])
    message = refusal(out, step.parent, "--resume")
    assert f"{file} must have" in message
    assert "(truncated)" in message

    step = changed("newer")
    manifest = json.loads((step / "manifest.json").read_text())
    (step / "manifest.json").write_text(json.dumps(manifest | {"format": 99}))
    assert "must be at most 1, got: 99" in refusal(out, step.parent, "--resume")

    other = small_models.layers_model(tmp_path / "wider.onnx", width=2 * small_models.WIDTH)
    wider = compile_layers(other, tmp_path / "wider", (1,))
    x = np.ones((8, 2 * small_models.WIDTH), np.float32)
    np.savez(tmp_path / "data.npz", x=x, labels=x)
    assert "must be 16x16xfloat32, got 8x8xfloat32" in refusal(wider, good, "--resume")

    longer = small_models.layers_model(tmp_path / "longer.onnx", layers=small_models.LAYERS + 1)
    assert "is missing in checkpoint" in refusal(compile_layers(longer, plans["one"].parent / "longer", (1,)),
                                                 good, "--resume")  # fmt: skip
    assert "holds the state of optimizer 'adamw', got: 'sgd'" in refusal(out, good, "--resume", "--optimizer=sgd")

    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with pytest.raises(HetHubError, match=r"cannot (?:write|read) .*file"):
        train(out, blocked / "ckpt", STEPS)
