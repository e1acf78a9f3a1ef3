"""The launcher of training: progress, restarts from a checkpoint, signals, logs. The ranks are stand-ins that keep what
docs/Training.md says of options, logs, checkpoints and SIGTERM; real ones are in test/EndToEnd."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from command import COMMAND, error_of
from command import hethub as command
from hethub import HetHubError, Settings, train
from hethub.progress import TrainingProgress, duration
from hethub.trainlog import read_records

RANK = """\
#!{python}
import json, os, pathlib, signal, sys, time
options = dict(o.removeprefix("--").partition("=")[::2] for o in sys.argv[1:])
here, rank = pathlib.Path(__file__).parent.parent.parent, int(os.environ["RANK"])
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
latest = pathlib.Path(options["checkpoint"]) / "latest" if "checkpoint" in options else None
step = int(latest.read_text()) if "resume" in options and latest.exists() else 0
fail = json.loads((here / "fail.json").read_text()) if (here / "fail.json").exists() else []
log = open(options["log"], "a") if rank == 0 else None
(here / f"options.rank{{rank}}").write_text(json.dumps(sys.argv[1:]))
run = here / ("run" + os.environ["MASTER_PORT"])
run.mkdir(exist_ok=True)
while step < int(options["steps"]) and not stop:
    time.sleep(0.02)
    step += 1
    if log:
        print(json.dumps({{"step": step, "loss": 10 / step, "samples_per_s": 50.0}}), file=log, flush=True)
    if latest and rank == 0 and step % 5 == 0:
        latest.write_text(str(step))
    if fail and fail[0][:2] == [rank, step]:
        time.sleep(0.1)
        (here / "fail.json").write_text(json.dumps(fail[1:]))
        (run / "dead").touch()
        if fail[0][2] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        print(f"rank {{rank}} (stage {{rank}} on cpu) failed: {{fail[0][2]}}")
        sys.exit(1)
    (run / f"{{rank}}.{{step}}").touch()
    while not (run / f"{{1 - rank}}.{{step}}").exists() and not stop:
        time.sleep(0.002)
        if (run / "dead").exists():
            sys.exit(1)
if latest and rank == 0:
    latest.write_text(str(step))
pathlib.Path(options["stats"] + f".rank{{rank}}").write_text(json.dumps({{"rank": rank}}))
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    for stage in range(2):
        binary = folder / f"stage_{stage}" / "build" / "stage"
        binary.parent.mkdir(parents=True)
        binary.write_text(RANK.format(python=sys.executable))
        binary.chmod(0o755)
    stages = [{"device_type": "cpu", "replicas": 1}] * 2
    (folder / "plan.json").write_text(json.dumps({"stages": stages, "training": True}))
    (tmp_path / "data.npz").write_bytes(b"")
    return folder


def fail_at(out: Path, *failures: tuple[int, int, str]) -> None:
    """(rank, step, "kill" or a message), one after the other."""
    (out / "fail.json").write_text(json.dumps(failures))


def steps_of(file: Path) -> list[int]:
    return [json.loads(line)["step"] for line in file.read_text().splitlines()]


def test_steps_options_and_log(tmp_path: Path, out: Path) -> None:
    seen = []
    settings = Settings(optimizer="sgd", learning_rate=0.5, betas="0.9,0.99", nesterov=True)
    result = train(
        out, tmp_path / "data.npz", steps=7, settings=settings, log=tmp_path / "log", on_step=seen.append, threads=2
    )
    assert [record["step"] for record in result.steps] == list(range(1, 8)) == steps_of(tmp_path / "log")
    assert seen == result.steps
    assert [rank["rank"] for rank in result.ranks] == [0, 1]
    for rank in (0, 1):
        options = json.loads((out / f"options.rank{rank}").read_text())
        wanted = {
            "--steps=7",
            "--optimizer=sgd",
            "--learning-rate=0.5",
            "--betas=0.9,0.99",
            "--nesterov",
            "--threads=2",
        }
        assert wanted <= set(options)
        assert not any(option.startswith(("--resume", "--momentum", "--checkpoint")) for option in options)


def test_killed_ranks_are_started_again_from_the_checkpoint(tmp_path: Path, out: Path) -> None:
    fail_at(out, (1, 8, "kill"), (0, 13, "out of memory"))
    checkpoint = tmp_path / "ckpt"
    checkpoint.mkdir()
    settings = Settings(checkpoint=checkpoint)
    result = train(out, tmp_path / "data.npz", steps=15, settings=settings, restarts=2, log=tmp_path / "log")
    assert result.restarts == 2
    assert result.stopped_by is None
    # What came after the checkpoint has been done again, and stands in the log once.
    assert [record["step"] for record in result.steps] == list(range(1, 16)) == steps_of(tmp_path / "log")
    # A resumed run continues the log.
    more = train(out, tmp_path / "data.npz", steps=18, settings=settings, resume=True, log=tmp_path / "log")
    assert [record["step"] for record in more.steps] == [16, 17, 18]
    assert steps_of(tmp_path / "log") == list(range(1, 19))


def test_a_run_that_is_complete_does_nothing(tmp_path: Path, out: Path) -> None:
    checkpoint = tmp_path / "ckpt"
    checkpoint.mkdir()
    arguments = ["train", out, "--data", tmp_path / "data.npz", "--steps", 4, "--checkpoint", checkpoint]
    log = tmp_path / "log"
    assert command(*arguments, "--log", log).returncode == 0
    result = command(*arguments, "--log", log, "--resume")
    assert result.returncode == 0, result.stderr
    assert "no step was left to do" in result.stderr
    assert steps_of(log) == [1, 2, 3, 4]


def test_too_many_failures_name_the_rank_and_what_is_left(tmp_path: Path, out: Path) -> None:
    fail_at(out, (1, 8, "kill"), (1, 9, "kill"))
    checkpoint = tmp_path / "ckpt"
    checkpoint.mkdir()
    arguments = ["train", out, "--data", tmp_path / "data.npz", "--steps", 15, "--checkpoint", checkpoint]
    error = error_of(command(*arguments, "--restarts", 1))
    assert error.startswith("rank 1 (stage 1 on cpu) failed: killed by SIGKILL; after step ")
    assert error.endswith(f": --resume goes on from the newest checkpoint in {checkpoint}")
    assert "\n" not in error


def test_a_bad_option_is_not_tried_again(tmp_path: Path, out: Path) -> None:
    script = out / "stage_0" / "build" / "stage"
    script.write_text("#!/bin/sh\necho x >> $0.starts\necho 'rank 0 (stage 0 on cpu) failed: no'\nexit 1\n")
    settings = Settings(checkpoint=tmp_path)
    (tmp_path / "log").write_text("an old one\n")
    with pytest.raises(HetHubError, match=r"^rank 0 \(stage 0 on cpu\) failed: no$"):
        train(out, tmp_path / "data.npz", steps=1, settings=settings, restarts=3, log=tmp_path / "log")
    assert (tmp_path / "log").read_text() == "an old one\n"
    assert Path(f"{script}.starts").read_text() == "x\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_with_a_checkpoint(tmp_path: Path, out: Path, number: int) -> None:
    checkpoint = tmp_path / "ckpt"
    checkpoint.mkdir()
    arguments = ["train", out, "--data", tmp_path / "data.npz", "--steps", 100_000, "--checkpoint", checkpoint]
    process = subprocess.Popen(
        [*COMMAND, *map(str, [*arguments, "--log", tmp_path / "log"])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not ((tmp_path / "log").exists() and len(steps_of(tmp_path / "log")) > 6):
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number, err
    last = steps_of(tmp_path / "log")[-1]
    assert (checkpoint / "latest").read_text() == str(last)
    assert f"stopped at step {last}; --resume goes on from {checkpoint}" in err


def test_a_rank_that_was_asked_to_stop_stops_the_run(tmp_path: Path, out: Path) -> None:
    def ask() -> None:
        time.sleep(0.6)
        for task in Path("/proc").glob("[0-9]*/environ"):
            parent = (task.parent / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == str(os.getpid()) and b"\0RANK=" in b"\0" + task.read_bytes():
                os.kill(int(task.parent.name), signal.SIGTERM)

    threading.Thread(target=ask).start()
    result = train(out, tmp_path / "data.npz", steps=100_000)
    assert result.stopped_by == signal.SIGTERM
    assert 0 < result.steps[-1]["step"] < 100_000


BAD_CALLS = [
    ({"steps": 0}, "steps must be at least 1, got: 0"),
    ({"restarts": -1}, "restarts must be at least 0, got: -1"),
    ({"restarts": 1}, r"restarts needs a folder of checkpoints \(--checkpoint\)"),
    ({"resume": True}, r"resume needs a folder of checkpoints \(--checkpoint\)"),
    ({"timeout": 0}, "the timeout must be greater than 0 s, got: 0"),
    ({"engine": "rust"}, "the engine must be among program, cpp, got: rust"),
    ({"data": "missing.npz"}, "the data must be a file, got: missing.npz"),
    ({"log": "/nowhere/log"}, "the log's folder must exist, got: /nowhere/log"),
    ({"log": "/tmp"}, "the log must be a file, got a folder: /tmp"),
]


@pytest.mark.parametrize(("change", "message"), BAD_CALLS)
def test_bad_calls(tmp_path: Path, out: Path, change: dict, message: str) -> None:
    with pytest.raises(HetHubError, match=message):
        train(out, **{"data": tmp_path / "data.npz", "steps": 1} | change)


def test_programs_of_inference_are_refused(tmp_path: Path, out: Path) -> None:
    (out / "plan.json").write_text(json.dumps({"stages": [{}, {}]}))
    with pytest.raises(HetHubError, match="the folder must hold a training program"):
        train(out, tmp_path / "data.npz", steps=1)


def test_a_log_that_is_none_is_not_continued(tmp_path: Path, out: Path) -> None:
    (tmp_path / "log").write_text('{"step": 1}\nstep 2\n')
    with pytest.raises(HetHubError, match="log:2: each line must be a JSON object with a step, got: step 2"):
        train(
            out,
            tmp_path / "data.npz",
            steps=1,
            settings=Settings(checkpoint=tmp_path),
            resume=True,
            log=tmp_path / "log",
        )


def test_a_log_of_restarts_has_each_step_once(tmp_path: Path) -> None:
    losses = [(1, 4.0), (2, 3.0), (3, 2.5), (2, 3.5), (3, 2.0), (4, 1.0)]
    (tmp_path / "log").write_text("".join(f'{{"step": {step}, "loss": {loss}}}\n' for step, loss in losses))
    assert [(r["step"], r["loss"]) for r in read_records(tmp_path / "log")] == [(1, 4), (2, 3.5), (3, 2), (4, 1)]


def test_progress_line() -> None:
    progress = TrainingProgress(100, quiet=True)
    for step in (1, 2):
        progress.update({"step": step})
    progress._recent[-1] = (2, progress._recent[0][1] + 2)
    line = progress.line({"step": 2, "loss": 1.23456, "samples_per_s": 1234.5})
    assert line == "step 2 of 100  loss 1.235  1.23e+03 samples/s  3:16 left"
    assert duration(3725) == "1:02:05"
