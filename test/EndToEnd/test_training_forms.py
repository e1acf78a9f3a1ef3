"""Small nets that train: batch norm and dropout in both engines, running statistics, a loss that is the model's own."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import onnx
import pytest
import safetensors.numpy
import safetensors.torch
import small_models
import torch
from hethub import TrainingStep
from onnx import TensorProto, helper, numpy_helper

SAMPLES, MICROBATCH, MICROBATCHES, WIDTH = 24, 4, 3, 6
STEPS = 3


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A matrix that both stages read, batch norm and dropout, exported as for inference."""
    random = np.random.default_rng(5)
    weights = {
        "w": random.standard_normal((WIDTH, WIDTH), np.float32) / 2,
        "scale": np.ones(WIDTH, np.float32),
        "shift": np.zeros(WIDTH, np.float32),
        "mean": np.zeros(WIDTH, np.float32),
        "variance": np.ones(WIDTH, np.float32),
        "v": random.standard_normal((WIDTH, WIDTH), np.float32) / 2,
    }
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("BatchNormalization", ["h", "scale", "shift", "mean", "variance"], ["n"], name="norm"),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("Dropout", ["r"], ["d"], name="drop"),
        helper.make_node("MatMul", ["d", "v"], ["m"], name="middle"),
        helper.make_node("Tanh", ["m"], ["t"], name="tanh"),
        helper.make_node("MatMul", ["t", "w"], ["y"], name="last"),
    ]
    return small_models.save_graph(
        tmp_path_factory.mktemp("cpp") / "model.onnx",
        nodes,
        {"x": (TensorProto.FLOAT, [MICROBATCH, WIDTH])},
        {"y": (1, [MICROBATCH, WIDTH])},
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )


def write_data(file: Path, samples: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(8)
    data = {name: random.standard_normal((samples, WIDTH), np.float32) for name in ("x", "labels")}
    np.savez(file, **data)
    return data


def checkpoint(folder: Path) -> dict[str, bytes]:
    newest = folder / (folder / "latest").read_text().strip()
    return {file.name: file.read_bytes() for file in newest.glob("*.safetensors")}


def test_both_engines_take_the_same_steps(model: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    stages = [["first", "norm", "relu", "drop"], ["middle", "tanh", "last", "loss/difference", "loss/square", "loss"]]
    plan.write_text(json.dumps({"stages": [{"device_type": "cpu", "nodes": nodes} for nodes in stages]}))
    step = TrainingStep(loss="mse", schedule="zero-bubble", training_mode=("batch-norm", "dropout"))
    out = hethub.compile(model, tmp_path / "out", stages=2, plan_file=plan, microbatches=MICROBATCHES, training=step)
    hethub.build(out)
    write_data(tmp_path / "data.npz", SAMPLES)

    losses, checkpoints = {}, {}
    for engine in ("program", "cpp"):
        folder, log = tmp_path / engine, tmp_path / f"{engine}.jsonl"
        settings = hethub.Settings(checkpoint=folder, seed=4)
        hethub.train(out, tmp_path / "data.npz", steps=STEPS, settings=settings, engine=engine, log=log, timeout=60)
        losses[engine] = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
        checkpoints[engine] = checkpoint(folder)
    assert len(losses["program"]) == STEPS and len(set(losses["program"])) == STEPS
    assert losses["cpp"] == losses["program"]
    assert checkpoints["cpp"] == checkpoints["program"]


def test_running_statistics_follow_torch(model: Path, tmp_path: Path) -> None:
    """Each microbatch moves them by a tenth, the variance by the unbiased one of the batch (torch.nn.BatchNorm1d)."""
    samples = MICROBATCH * MICROBATCHES
    x = write_data(tmp_path / "data.npz", samples)["x"]
    step = TrainingStep(loss="mse", training_mode=("batch-norm",))
    out = hethub.compile(model, tmp_path / "out", stages=1, microbatches=MICROBATCHES, emit=("program",), training=step)
    settings = hethub.Settings(checkpoint=tmp_path / "ckpt", in_order=True)
    hethub.train(out, tmp_path / "data.npz", steps=1, settings=settings, timeout=60)

    weight = next(t for t in onnx.load(model).graph.initializer if t.name == "w")
    norm = torch.nn.BatchNorm1d(WIDTH).train()
    for rows in np.split(x @ numpy_helper.to_array(weight), MICROBATCHES):
        norm(torch.from_numpy(rows))
    newest = tmp_path / "ckpt" / (tmp_path / "ckpt" / "latest").read_text().strip()
    found: dict[str, np.ndarray] = {}
    for file in newest.glob("*.safetensors"):
        found |= safetensors.numpy.load_file(file)
    np.testing.assert_allclose(found["mean"], norm.running_mean.numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["variance"], norm.running_var.numpy(), rtol=1e-5)


class OwnLoss(torch.nn.Module):
    """Computes what it is trained for, and gives its scores as well."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.SiLU(), torch.nn.Linear(WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self.layers(x)
        return torch.nn.functional.cross_entropy(scores, target) + 0.1 * scores.pow(2).mean(), scores


def test_loss_of_the_model_itself(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = OwnLoss()
    random = np.random.default_rng(2)
    samples = MICROBATCH * MICROBATCHES
    data = {"x": random.standard_normal((samples, WIDTH), np.float32), "target": random.integers(0, WIDTH, samples)}
    np.savez(tmp_path / "data.npz", **data)
    parts = [
        [torch.from_numpy(array) for array in part]
        for part in zip(*(np.split(a, MICROBATCHES) for a in data.values()), strict=True)
    ]
    torch.onnx.export(
        module,
        tuple(parts[0]),
        tmp_path / "model.onnx",
        input_names=list(data),
        output_names=["total", "scores"],
        dynamo=True,
    )
    out = hethub.compile(
        tmp_path / "model.onnx",
        tmp_path / "out",
        stages=2,
        microbatches=MICROBATCHES,
        emit=("program",),
        training=TrainingStep(),
    )
    settings = hethub.Settings(optimizer="sgd", learning_rate=0.1, in_order=True)
    log = tmp_path / "log.jsonl"
    hethub.train(out, tmp_path / "data.npz", steps=STEPS, settings=settings, log=log, timeout=60)

    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    expected = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        losses = [module(*part)[0] / MICROBATCHES for part in parts]
        sum(losses).backward()
        optimizer.step()
        expected.append(sum(loss.item() for loss in losses))
    assert expected[-1] < expected[0]
    found = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


class Narrow(torch.nn.Module):
    """Computes in bfloat16."""

    def __init__(self) -> None:
        super().__init__()
        layers = [torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH)]
        self.layers = torch.nn.Sequential(*layers).to(torch.bfloat16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x.to(torch.bfloat16)).float()


def test_parameters_of_16_bits_have_fp32_masters(tmp_path: Path) -> None:
    """Steps far below the resolution of bfloat16 add up: as with torch.optim on fp32 copies that are rounded after each
    step. Gradients of microbatches add up in fp32."""
    torch.manual_seed(0)
    module = Narrow().eval()
    samples, steps = MICROBATCH * MICROBATCHES, 12
    data = write_data(tmp_path / "data.npz", samples)
    torch.onnx.export(
        module,
        (torch.from_numpy(data["x"][:MICROBATCH]),),
        tmp_path / "model.onnx",
        input_names=["x"],
        output_names=["y"],
        dynamo=True,
    )
    out = hethub.compile(
        tmp_path / "model.onnx",
        tmp_path / "out",
        stages=2,
        microbatches=MICROBATCHES,
        emit=("program",),
        training=TrainingStep(loss="mse"),
    )
    rate, log = 2e-4, tmp_path / "log.jsonl"
    settings = hethub.Settings(learning_rate=rate, in_order=True, checkpoint=tmp_path / "ckpt", weight_decay=0.0)
    hethub.train(out, tmp_path / "data.npz", steps=steps, settings=settings, log=log, timeout=60)

    parameters = dict(module.named_parameters())
    masters = {name: p.detach().float() for name, p in parameters.items()}
    optimizer = torch.optim.AdamW(masters.values(), rate, weight_decay=0.0)
    expected = []
    for _ in range(steps):
        total = {name: torch.zeros_like(master) for name, master in masters.items()}
        losses = []
        for x, labels in zip(*(np.split(data[name], MICROBATCHES) for name in ("x", "labels")), strict=True):
            module.zero_grad()
            loss = torch.nn.functional.mse_loss(module(torch.from_numpy(x)), torch.from_numpy(labels)) / MICROBATCHES
            loss.backward()
            losses.append(loss.item())
            for name, p in parameters.items():
                total[name] += p.grad.float()
        for name, master in masters.items():
            master.grad = total[name]
        optimizer.step()
        with torch.no_grad():
            for name, p in parameters.items():
                p.copy_(masters[name])
        expected.append(sum(losses))
    found = [json.loads(line)["loss"] for line in log.read_text().splitlines()]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    newest = tmp_path / "ckpt" / (tmp_path / "ckpt" / "latest").read_text().strip()
    state: dict[str, torch.Tensor] = {}
    for file in newest.glob("*.safetensors"):
        state |= safetensors.torch.load_file(file)
    trained = {name.removeprefix("master/"): value for name, value in state.items() if name.startswith("master/")}
    # Exporters transpose weights, and call them by other names then.
    for name, master in masters.items():
        close = [
            key
            for key, value in trained.items()
            if any(
                form.shape == master.shape and torch.allclose(form, master, rtol=0, atol=rate)
                for form in (value, value.t())
            )
        ]
        assert len(close) == 1, name
        assert trained[close[0]].dtype == torch.float32
        assert torch.equal(state[close[0]], trained[close[0]].to(torch.bfloat16))


def train_on(cluster: str, model: Path, folder: Path, steps: int) -> tuple[list[float], dict[str, np.ndarray]]:
    """Losses and parameters of two stages, of which the first has half of the layers."""
    folder.mkdir()
    (folder / "cluster.yaml").write_text(cluster)
    stages = [{"device_type": "narrow"}, {"device_type": "wide", "first": f"add_{small_models.LAYERS // 2}"}]
    (folder / "plan.json").write_text(json.dumps({"stages": stages}))
    out = hethub.compile(
        model,
        folder / "out",
        cluster=folder / "cluster.yaml",
        plan_file=folder / "plan.json",
        microbatches=MICROBATCHES,
        emit=("program",),
        training=TrainingStep(loss="mse"),
    )
    settings = hethub.Settings(optimizer="sgd", learning_rate=0.02, in_order=True, checkpoint=folder / "ckpt")
    log = folder / "log.jsonl"
    hethub.train(out, folder.parent / "data.npz", steps=steps, settings=settings, log=log, timeout=60)
    newest = folder / "ckpt" / (folder / "ckpt" / "latest").read_text().strip()
    values: dict[str, np.ndarray] = {}
    for k in range(2):
        values |= safetensors.numpy.load_file(newest / f"stage_{k}.safetensors")
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()], values


def test_a_device_type_that_trains_in_bfloat16(tmp_path: Path) -> None:
    """Its products are those of bfloat16 on parameters that stay float32; the other stage is as before."""
    model = small_models.layers_model(tmp_path / "model.onnx", batch=MICROBATCH)
    steps, samples, layers = 8, MICROBATCH * MICROBATCHES, small_models.LAYERS
    random = np.random.default_rng(6)
    data = {name: random.standard_normal((samples, small_models.WIDTH), np.float32) for name in ("x", "labels")}
    np.savez(tmp_path / "data.npz", **data)
    devices = (
        "devices:\n  - {{name: narrow, kind: cpu, memory: 1 GiB{}}}\n  - {{name: wide, kind: cpu, memory: 1 GiB}}\n"
    )
    narrow, parameters = train_on(devices.format(", training_precision: bfloat16"), model, tmp_path / "narrow", steps)
    wide, _ = train_on(devices.format(""), model, tmp_path / "wide", steps)

    values = {t.name: torch.from_numpy(numpy_helper.to_array(t).copy()) for t in onnx.load(model).graph.initializer}
    for value in values.values():
        value.requires_grad_()
    optimizer = torch.optim.SGD(values.values(), 0.02)
    expected = []
    for _ in range(steps):
        optimizer.zero_grad()
        losses = []
        for h, labels in zip(*(torch.from_numpy(data[name]).split(MICROBATCH) for name in data), strict=True):
            for k in range(layers):
                w, b = values[f"w_{k}"].t(), values[f"b_{k}"]
                if k < layers // 2:
                    h = torch.nn.functional.linear(h.bfloat16(), w.bfloat16(), b.bfloat16()).float()
                else:
                    h = torch.nn.functional.linear(h, w, b)
                h = h.relu()
            losses.append(torch.nn.functional.mse_loss(h, labels) / MICROBATCHES)
        sum(losses).backward()
        optimizer.step()
        expected.append(sum(loss.item() for loss in losses))
    np.testing.assert_allclose(narrow, expected, rtol=1e-5)
    assert expected[-1] < expected[0]
    assert abs(narrow[0] / wide[0] - 1) > 1e-4
    for name, value in values.items():
        assert parameters[name].dtype == np.float32
        np.testing.assert_allclose(parameters[name], value.detach().numpy(), rtol=1e-4, atol=1e-6)
