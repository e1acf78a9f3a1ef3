"""Interleaved stages: devices that have several each, which lie apart in the model. What they learn is what torch and
stages with devices of their own learn; program files and C++ do the same; table, predictor and trace agree."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import pytest
import small_models
import torch_training
from command import error_of
from command import hethub as command
from hethub import Settings, TrainingStep, tools
from hethub.timeline import read_timeline
from model_table import ensure
from torch_training import MICROBATCHES, TASKS
from training_runs import gradients, losses, options

ROWS = {"receive", "forward", "send", "backward", "weight"}
STEPS = 30


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight layers."""
    return small_models.layers_model(tmp_path_factory.mktemp("deep") / "model.onnx", layers=8)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(3)
    x = random.standard_normal((64, small_models.WIDTH), np.float32)
    file = tmp_path_factory.mktemp("data") / "data.npz"
    np.savez(file, x=x, labels=np.maximum(x, 0))
    return file


def interleaved(model: Path, out: Path, each: int, schedule: str = "interleaved", **more) -> Path:
    """On two equal devices."""
    training = TrainingStep(loss="mse", schedule=schedule, stages_per_device=each)
    more = {"stages": 2 * each, "microbatches": 4, "emit": ("program",)} | more
    return hethub.compile(model, out, training=training, **more)


def apart(model: Path, folder: Path, plan: dict) -> Path:
    """The same stages on devices of their own."""
    stages = [{"device_type": "cpu", "nodes": stage["nodes"]} for stage in plan["stages"]]
    (folder / "apart.json").write_text(json.dumps({"stages": stages}))
    return hethub.compile(
        model, folder / "apart", stages=len(stages), plan_file=folder / "apart.json", microbatches=4,
        emit=("program",), training=TrainingStep(loss="mse"),
    )  # fmt: skip


def newest(checkpoint: Path) -> dict[str, bytes]:
    folder = checkpoint / (checkpoint / "latest").read_text().strip()
    return {file.name: file.read_bytes() for file in folder.glob("*.safetensors")}


def test_predicted_as_the_formula_says(tmp_path: Path) -> None:
    # m v (f + b) of work and (p - 1) (f + b) of bubble, f and b those of a share: Narayanan et al. (2021).
    stage = {"device_type": "a", "forward_seconds": 1, "backward_seconds": 2, "activation_bytes": 10}
    stages = [
        stage | {"in_flight": 4, "memory_bytes": 100 + 4 * 10, "memory_limit_bytes": 300, "first_rank": k % 2}
        for k in range(4)
    ]
    messages = [{"from_stage": k, "to_stage": k + 1, "seconds": 0} for k in range(3)]
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"training": True, "microbatches": 4, "stages": stages, "messages": messages}))
    step = hethub.predict(file)
    assert step["step_seconds"] == pytest.approx(4 * 2 * 3 + (2 - 1) * 3)
    # Weights of both stages and what is in flight at most.
    assert all(2 * 100 < figures["peak_bytes"] <= 300 for figures in step["stages"])
    assert all(figures["fits"] for figures in step["stages"])
    table = command("predict", file)
    assert "a (rank 1)" in table.stdout
    step = hethub.predict(file, schedule="gpipe")
    assert [figures["peak_bytes"] for figures in step["stages"]] == [2 * 100 + 2 * 4 * 10] * 4


@pytest.mark.parametrize(("name", "each"), [("gpt2", 2), ("gpt2", 3)])
def test_equals_torch(name: str, each: int, tmp_path: Path) -> None:
    task, steps = TASKS[name], 5
    training = TrainingStep(
        loss="cross-entropy", loss_output=task.output, schedule="interleaved", stages_per_device=each
    )
    out = hethub.compile(
        ensure(task.model), tmp_path / "out", stages=2 * each, microbatches=MICROBATCHES, training=training,
        emit=("program",),
    )  # fmt: skip
    plan = json.loads((out / "plan.json").read_text())
    assert [stage["first_rank"] for stage in plan["stages"]] == [0, 1] * each
    tools.run("hh-run", ["--loopback", str(out), *options(task, tmp_path, steps)])
    right = torch_training.train(name, steps=steps)
    errors = torch_training.relative_errors(gradients(tmp_path), right.gradients)
    assert max(errors.values()) <= 1e-5, errors
    np.testing.assert_allclose(losses(tmp_path), right.losses[:steps], rtol=1e-4)


@pytest.mark.parametrize(("each", "schedule"), [(2, "interleaved"), (3, "interleaved"), (2, "zero-bubble")])
def test_predictor_table_and_trace_agree_on_the_order(
    each: int, schedule: str, tmp_path: Path, deep: Path, data: Path
) -> None:
    out = interleaved(deep, tmp_path / "out", each, schedule, microbatches=6)
    plan = json.loads((out / "plan.json").read_text())
    rows = json.loads((out / "schedule.json").read_text())["rows"]
    step = hethub.predict(out, trace=tmp_path / "predicted.json")
    assert plan["simulated_seconds"] == pytest.approx(step["step_seconds"])
    result = hethub.train(out, data, steps=2, trace=tmp_path / "trace.json")
    assert [rank["stages"] for rank in result.ranks] == [list(range(rank, 2 * each, 2)) for rank in range(2)]
    computes = {"forward", "backward", "weight"}
    for file, same in (("predicted.json", computes), ("trace.json", ROWS)):
        slices = read_timeline(tmp_path / file).last_step().slices
        for rank in range(2):
            table = [(row["action"].lower(), row["microbatch"]) for row in rows if row["stage"] % 2 == rank]
            done = [(s.action, s.microbatch % 6) for s in slices if s.rank == rank and s.action in same]
            assert done == [row for row in table if row[0] in same], f"{file}, rank {rank}"
    # Which of its stages a rank worked on stands in both traces.
    for file in ("predicted.json", "trace.json"):
        events = json.loads((tmp_path / file).read_text())["traceEvents"]
        stages = {(e["pid"], e["args"]["stage"]) for e in events if e["ph"] == "X" and e["tid"] == 0}
        assert stages == {(stage % 2, stage) for stage in range(2 * each)}


def test_the_same_bits_as_with_devices_of_their_own(tmp_path: Path, deep: Path, data: Path) -> None:
    both = [interleaved(deep, tmp_path / "out", 2)]
    both.append(apart(deep, tmp_path, json.loads((both[0] / "plan.json").read_text())))
    files = []
    for out in both:
        checkpoint = tmp_path / f"ckpt-{out.name}"
        settings = Settings(learning_rate=0.01, checkpoint=checkpoint)
        hethub.train(out, data, steps=STEPS, settings=settings, log=tmp_path / f"{out.name}.jsonl")
        files.append(newest(checkpoint))
    assert len(files[0]) == 8
    assert files[0] == files[1]
    logs = [[json.loads(line) for line in (tmp_path / f"{out.name}.jsonl").read_text().splitlines()] for out in both]
    assert [line["loss"] for line in logs[0]] == [line["loss"] for line in logs[1]]
    # Half the way on one plan, half on the other.
    mixed = Settings(learning_rate=0.01, checkpoint=tmp_path / "mixed")
    hethub.train(both[0], data, steps=STEPS // 2, settings=mixed)
    hethub.train(both[1], data, steps=STEPS, settings=mixed, resume=True)
    assert newest(tmp_path / "mixed") == files[0]


def test_cpp_does_the_same(tmp_path: Path, deep: Path, data: Path) -> None:
    out = interleaved(deep, tmp_path / "out", 2, emit=("program", "cpp"))
    assert (out / "stage_2" / "stage.cpp").exists()
    assert not (out / "stage_2" / "CMakeLists.txt").exists()
    assert sorted(hethub.build(out, jobs=1)) == [0, 1]
    files = []
    for engine in ("program", "cpp"):
        settings = Settings(learning_rate=0.01, checkpoint=tmp_path / engine)
        hethub.train(out, data, steps=STEPS, settings=settings, engine=engine)
        files.append(newest(tmp_path / engine))
    assert files[0] == files[1]


def test_unlike_devices_and_what_is_printed(tmp_path: Path, deep: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text(
        "devices:\n"
        "  - {name: fast, kind: cpu, count: 1, memory: 1 GiB, peak: 4e9, memory_bandwidth: 4 GB/s}\n"
        "  - {name: slow, kind: cpu, count: 2, memory: 1 GiB, peak: 2e9, memory_bandwidth: 2 GB/s}\n"
    )
    arguments = ["plan", deep, "--cluster", cluster, "--train", "--loss", "mse", "--microbatches", 16]
    result = command(*arguments, "--schedule", "interleaved", "-o", tmp_path / "plan.json")
    assert result.returncode == 0, result.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    devices = len(plan["stages"]) // 2
    assert devices >= 2
    assert [stage["first_rank"] for stage in plan["stages"]] == [k % devices for k in range(2 * devices)]
    assert f"{plan['stages'][-1]['device_type']} (rank {devices - 1})" in result.stdout
    assert "way there and back" in result.stdout
    assert "one stage a device" in result.stdout
    again = command("compile", deep, "--cluster", cluster, "--train", "--loss", "mse", "--microbatches", 16,
                    "--plan", tmp_path / "plan.json", "-o", tmp_path / "out", "--emit", "program")  # fmt: skip
    assert again.returncode == 0, again.stderr
    same = json.loads((tmp_path / "out" / "plan.json").read_text())
    assert [stage["nodes"] for stage in same["stages"]] == [stage["nodes"] for stage in plan["stages"]]
    assert same["step_seconds"] == pytest.approx(plan["step_seconds"])


BAD = [
    (["--schedule", "interleaved"], "--schedule needs --train"),
    (["--train", "--stages-per-device", "0"], "--stages-per-device must be at least 1, got: 0"),
    (
        ["--train", "--schedule", "interleaved", "--stages-per-device", "1"],
        "--stages-per-device must be at least 2, got: 1",
    ),
    (["--train", "--schedule", "interleaved", "--stages", "3"], "stages must be 2 for each of at least 2 devices"),
    (
        ["--train", "--schedule", "interleaved", "--stages", "80"],
        "must be at most the number of operations (19), got: 80",
    ),
    (["--stages-per-device", "2"], "--stages-per-device needs --train"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_options(arguments: list[str], message: str, tmp_path: Path, deep: Path) -> None:
    loss = ["--loss", "mse"] if "--train" in arguments else []
    stages = [] if "--stages" in arguments else ["--stages", "4"]
    error = error_of(command("compile", deep, *loss, *stages, *arguments, "-o", tmp_path / "out"))
    assert message in error
    assert not (tmp_path / "out").exists()


def test_inference_is_refused(tmp_path: Path, deep: Path) -> None:
    plan = hethub.plan(deep, stages=2)
    for stage in plan["stages"]:
        stage["first_rank"] = 0
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    error = error_of(command("compile", deep, "--stages", 2, "--plan", tmp_path / "plan.json", "-o", tmp_path / "out"))
    assert "first_rank must be left out in a plan for inference" in error
    assert not (tmp_path / "out").exists()


def test_a_stage_of_another_rank_is_refused(tmp_path: Path, deep: Path, data: Path) -> None:
    out = interleaved(deep, tmp_path / "out", 2)
    (out / "stage_2" / "program.pb").write_bytes((out / "stage_3" / "program.pb").read_bytes())
    with pytest.raises(hethub.HetHubError, match="must belong to this plan"):
        hethub.train(out, data, steps=1)
    result = tools.run("hh-run", ["--loopback", str(out), f"--data={data}", "--steps=1"], keep_going=True)
    assert result.returncode == 1
    assert "number 2 of stage 3" in result.stderr
