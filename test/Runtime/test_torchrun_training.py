"""torchrun's own restarts: a training run whose rank is killed goes on from its checkpoint to the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import hethub
import numpy as np
import small_models
from hethub import Settings, TrainingStep

STEPS = 600
TORCHRUN = str(Path(sys.executable).with_name("torchrun"))


def weights(checkpoint: Path) -> dict[str, bytes]:
    folder = checkpoint / (checkpoint / "latest").read_text().strip()
    return {file.name: file.read_bytes() for file in folder.glob("*.safetensors")}


def pid_of_rank(rank: int, out: Path) -> int | None:
    for task in Path("/proc").glob("[0-9]*"):
        try:
            words = (task / "cmdline").read_bytes().split(b"\0")
            environment = (task / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        ours = any(str(out).encode() in word for word in words) and words[0].endswith(b"hh-run")
        if ours and f"RANK={rank}".encode() in environment:
            return int(task.name)
    return None


def test_killed_rank(tmp_path: Path) -> None:
    model = small_models.layers_model(tmp_path / "model.onnx")
    random = np.random.default_rng(3)
    x = random.standard_normal((64, small_models.WIDTH), np.float32)
    np.savez(tmp_path / "data.npz", x=x, labels=np.abs(x))
    out = hethub.compile(
        model, tmp_path / "out", stages=2, microbatches=4, emit=("program",), training=TrainingStep(loss="mse")
    )
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    hethub.train(out, tmp_path / "data.npz", steps=STEPS, settings=Settings(checkpoint=tmp_path / "whole"))

    log = tmp_path / "log.jsonl"
    command = [TORCHRUN, "--no-python", "--nproc-per-node=2", "--max-restarts=2", "--monitor-interval=0.1"]
    command += ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--", str(out / "run")]
    command += [f"--data={tmp_path / 'data.npz'}", f"--steps={STEPS}", f"--checkpoint={tmp_path / 'parts'}", "--resume"]
    command += ["--checkpoint-every=20", f"--log={log}", "--timeout=20"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 120
    while not (log.exists() and len(log.read_text().splitlines()) > 50):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    victim = pid_of_rank(1, out)
    assert victim
    os.kill(victim, signal.SIGKILL)
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 0, text
    assert "exitcode: -9" in text  # it was in the middle of its work
    # Steps since the last checkpoint are done again; a rank killed beside a checkpoint has none of them.
    steps = [json.loads(line)["step"] for line in log.read_text().splitlines()]
    assert steps[-1] == STEPS
    assert set(steps) == set(range(1, STEPS + 1))
    assert weights(tmp_path / "parts") == weights(tmp_path / "whole")
