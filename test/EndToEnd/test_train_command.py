"""`hethub train` on real ranks: log and trace, a stop that goes on to the same bits, a killed rank."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import hethub
import numpy as np
import pytest
import small_models
from command import COMMAND, error_of
from command import hethub as command
from hethub import Settings, TrainingStep, tools
from hethub.timeline import read_timeline

ROWS = {"receive", "forward", "send", "backward", "weight"}
STEPS = 30
SAMPLES = 64


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory, layers: Path) -> Path:
    """Three stages that learn another linear map."""
    folder = tmp_path_factory.mktemp("train")
    random = np.random.default_rng(3)
    x = random.standard_normal((SAMPLES, small_models.WIDTH), np.float32)
    labels = np.maximum(x @ random.standard_normal((small_models.WIDTH, small_models.WIDTH), np.float32), 0)
    np.savez(folder / "data.npz", x=x, labels=labels)
    return hethub.compile(
        layers, folder / "out", stages=3, microbatches=4, emit=("program",), training=TrainingStep(loss="mse")
    )


def train(out: Path, *options: object, steps: int = STEPS) -> list[str]:
    arguments = ["train", out, "--data", out.parent / "data.npz", "--steps", steps, "--learning-rate", 0.01, *options]
    return [str(argument) for argument in arguments]


def records(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def newest(checkpoint: Path) -> dict[str, bytes]:
    """The bytes of all files of the newest checkpoint but its manifest."""
    folder = checkpoint / (checkpoint / "latest").read_text().strip()
    return {file.name: file.read_bytes() for file in folder.glob("*.safetensors")}


def test_options_are_those_of_the_runtime() -> None:
    known = set(re.findall(r"--[a-z-]+", tools.run("hh-run", ["--help"]).stdout))
    assert {"--" + entry.name.replace("_", "-") for entry in dataclasses.fields(Settings)} <= known


def test_log_trace_and_report(tmp_path: Path, out: Path) -> None:
    files = [tmp_path / name for name in ("log.jsonl", "trace.json", "figures.json", "report.html")]
    result = command(*train(out, "--log", files[0], "--trace", files[1], "--json"))
    assert result.returncode == 0, result.stderr
    log = records(files[0])
    assert [record["step"] for record in log] == list(range(1, STEPS + 1))
    assert log[-1]["loss"] < 0.7 * log[0]["loss"]
    assert all(record["learning_rate"] == 0.01 for record in log)
    facts = json.loads(result.stdout)
    assert facts["first"] == log[0]
    assert facts["last"] == log[-1]
    assert len(facts["ranks"]) == 3
    files[2].write_text(result.stdout)
    hethub.report(out, files[3], log=files[0], trace=files[1], figures_file=files[2])
    assert re.search(r"measured: [\d.]+ ms for 4 microbatches", files[3].read_text())


@pytest.mark.parametrize("kind", ["gpipe", "1f1b", "zero-bubble"])
def test_predictor_table_and_trace_agree_on_the_order(tmp_path: Path, out: Path, layers: Path, kind: str) -> None:
    microbatches = 6
    folder = hethub.compile(
        layers,
        tmp_path / "out",
        stages=3,
        microbatches=microbatches,
        emit=("program",),
        training=TrainingStep(loss="mse", schedule=kind),
    )
    rows = json.loads((folder / "schedule.json").read_text())["rows"]
    step = hethub.predict(folder, trace=tmp_path / "predicted.json")
    assert step["schedule"] == kind
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["simulated_seconds"] == pytest.approx(step["step_seconds"])
    hethub.train(folder, out.parent / "data.npz", steps=2, trace=tmp_path / "trace.json")
    for file, same in (("predicted.json", {"forward", "backward", "weight"}), ("trace.json", ROWS)):
        slices = read_timeline(tmp_path / file).last_step().slices
        for stage in range(3):
            done = [(s.action, s.microbatch % microbatches) for s in slices if s.rank == stage and s.action in same]
            table = [(r["action"].lower(), r["microbatch"]) for r in rows if r["stage"] == stage]
            assert done == [row for row in table if row[0] in same], f"{file}, stage {stage}"


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path, out: Path) -> None:
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    steps = 800
    assert command(*train(out, "--checkpoint", tmp_path / "whole", steps=steps)).returncode == 0
    log = tmp_path / "log.jsonl"
    arguments = train(out, "--checkpoint", tmp_path / "parts", "--log", log, steps=steps)
    process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (log.exists() and len(records(log)) > 20):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, err
    stopped = records(log)[-1]["step"]
    assert 20 < stopped < steps
    assert f"stopped at step {stopped}; --resume goes on from {tmp_path / 'parts'}" in err
    result = command(*arguments, "--resume")
    assert result.returncode == 0, result.stderr
    assert [record["step"] for record in records(log)] == list(range(1, steps + 1))
    assert newest(tmp_path / "parts") == newest(tmp_path / "whole")


def test_a_killed_rank_is_started_again(tmp_path: Path, out: Path) -> None:
    log, checkpoint = tmp_path / "log.jsonl", tmp_path / "ckpt"
    checkpoint.mkdir()
    killed = []

    def kill(record: dict) -> None:
        if record["step"] >= 60 and not killed:
            killed.append(child_of(os.getpid(), rank=1))
            os.kill(killed[0], signal.SIGKILL)

    steps = 500
    settings = Settings(learning_rate=0.01, checkpoint=checkpoint, checkpoint_every=25)
    result = hethub.train(
        out, out.parent / "data.npz", steps=steps, settings=settings, restarts=1, log=log, on_step=kill
    )
    assert result.restarts == 1
    assert [record["step"] for record in records(log)] == list(range(1, steps + 1))


def child_of(parent: int, rank: int) -> int:
    for task in Path("/proc").glob("[0-9]*"):
        try:
            owner = int((task / "stat").read_text().rpartition(")")[2].split()[1])
            environment = (task / "environ").read_bytes().split(b"\0")
        except (OSError, IndexError, ValueError):
            continue
        if owner == parent and f"RANK={rank}".encode() in environment:
            return int(task.name)
    raise AssertionError("no such rank")


BAD_RUNS = [
    (["--learning-rate", "nan"], "--learning-rate must be a number"),
    (["--optimizer", "lion"], "--optimizer must be one of sgd, adam, adamw, got: lion"),
    (["--restarts", "1"], "restarts needs a folder of checkpoints (--checkpoint)"),
]


@pytest.mark.parametrize(("options", "message"), BAD_RUNS)
def test_bad_runs(out: Path, options: list[str], message: str) -> None:
    error = error_of(command(*train(out, *options)))
    assert message in error
    assert "\n" not in error


def test_programs_are_of_one_kind(tmp_path: Path, out: Path, three_stages: Path) -> None:
    error = error_of(command("train", three_stages, "--data", out.parent / "data.npz", "--steps", 1))
    assert "the folder must hold a training program (hethub compile --train)" in error
    error = error_of(command("run", out))
    assert "the folder must hold programs of inference, got training ones (hethub train)" in error
