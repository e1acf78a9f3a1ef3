"""Training under faults: whichever rank is lost, at whatever moment and however, no other rank hangs, each says why in
one line, and the run goes on from the last checkpoint to the bits of a run that nothing happened to.

`make soak` runs all of it; `make test` a few of the moments."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import small_models
from hh_ranks import TrainingRanks
from training_layers import compile_layers, write_data

MOMENTS = 50
QUICK_MOMENTS = 5
STEPS = 400
LIMIT_SECONDS = 10  # until all others have stopped
REPLICAS = (1, 2)  # three ranks


@dataclass(frozen=True)
class Job:
    out: Path
    data: Path
    expected: dict[str, bytes]  # the last checkpoint's files
    seconds: float  # of its steps

    def options(self, checkpoint: Path, *more: str) -> list[str]:
        return [f"--data={self.data}", f"--steps={STEPS}", "--learning-rate=0.01", f"--checkpoint={checkpoint}",
                "--checkpoint-every=10", "--timeout=60", *more]  # fmt: skip


def last_checkpoint(folder: Path) -> dict[str, bytes]:
    step = folder / (folder / "latest").read_text().strip()
    assert step.name == f"step-{STEPS:06}"
    return {file.name: file.read_bytes() for file in step.glob("*.safetensors")}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("faults")
    out = compile_layers(small_models.layers_model(folder / "model.onnx"), folder / "out", REPLICAS)
    job = Job(out, write_data(folder / "data.npz"), {}, 0)
    with TrainingRanks(out, job.options(folder / "ckpt"), folder) as ranks:
        wait_for_steps(folder / "ckpt")
        begin = time.monotonic()
        assert ranks.wait(300) == [0, 0, 0], ranks.said(0)
    return Job(out, job.data, last_checkpoint(folder / "ckpt"), time.monotonic() - begin)


def wait_for_steps(checkpoint: Path) -> None:
    """Returns when the ranks have found each other and the first step is about to begin."""
    deadline = time.monotonic() + 120
    while not checkpoint.is_dir() and time.monotonic() < deadline:
        time.sleep(0.005)


def strike(ranks: TrainingRanks, victim: int, how: str, choice: int) -> bool:
    """False: the rank had ended already, or had no connection left."""
    if ranks.processes[victim].poll() is not None:
        return False
    if how == "socket":
        return ranks.cut_socket(victim, choice)
    ranks.signal(victim, signal.Signals[how])
    return True


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP", "socket"])
def test_a_sum_over_three_ranks_names_who_broke_it(tmp_path: Path, how: str) -> None:
    """Three replicas of one stage, which have nothing but sums in common. A lost connection has two ends: either may be
    named."""
    out = compile_layers(small_models.layers_model(tmp_path / "model.onnx"), tmp_path / "out", (3,), microbatches=3)
    data = write_data(tmp_path / "data.npz")
    log = tmp_path / "log.jsonl"
    options = [f"--data={data}", "--steps=1000000", "--learning-rate=1e-6", "--timeout=60", f"--log={log}"]
    with TrainingRanks(out, options, tmp_path) as ranks:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (log.exists() and log.stat().st_size):
            time.sleep(0.05)
        # Not every connection is used in a sum.
        for choice in range(40):
            assert strike(ranks, 1, how, choice) or how == "socket"
            if how != "socket" or ranks.wait(0.5, [0]) != [None]:
                break
        others = [0, 2] if how != "socket" else [0, 1, 2]
        assert None not in ranks.wait(LIMIT_SECONDS, others)
        for rank in others:
            [words] = ranks.said(rank)
            assert " failed: " in words
            if how != "socket":
                assert "rank 1 (stage 0 on type0" in words, words


@pytest.mark.parametrize(
    "moment", [pytest.param(k, marks=[] if k < QUICK_MOMENTS else [pytest.mark.wide]) for k in range(MOMENTS)]
)
def test_any_rank_at_any_moment(job: Job, tmp_path: Path, moment: int) -> None:
    chance = random.Random(moment)
    how = ("SIGKILL", "SIGSTOP", "socket")[moment % 3]
    victim = chance.randrange(sum(REPLICAS))
    checkpoint = tmp_path / "ckpt"
    with TrainingRanks(job.out, job.options(checkpoint), tmp_path) as ranks:
        wait_for_steps(checkpoint)
        time.sleep(chance.uniform(0, 0.95) * job.seconds)
        struck = strike(ranks, victim, how, chance.randrange(100))
        others = [rank for rank in range(sum(REPLICAS)) if rank != victim]
        codes = ranks.wait(LIMIT_SECONDS if struck else 300, others)
        assert None not in codes, f"{how} of rank {victim}: a rank hangs: {codes}"
        if any(codes):
            for rank in [rank for rank, code in zip(others, codes, strict=True) if code]:
                words = ranks.said(rank)
                assert len(words) == 1, words
                # A broken connection has two ends; which of them is to blame nobody can know.
                if how != "socket":
                    assert f"rank {victim} (stage" in words[0], words
                assert " failed: " in words[0], words
        if how == "socket":
            assert ranks.wait(LIMIT_SECONDS, [victim]) != [None]
    with TrainingRanks(job.out, job.options(checkpoint, "--resume"), tmp_path) as ranks:
        assert ranks.wait(300) == [0, 0, 0], [ranks.said(rank) for rank in range(3)]
    assert last_checkpoint(checkpoint) == job.expected


def test_a_stop_on_one_rank_saves_on_all(job: Job, tmp_path: Path) -> None:
    checkpoint = tmp_path / "ckpt"
    with TrainingRanks(job.out, job.options(checkpoint, "--checkpoint-every=100000"), tmp_path) as ranks:
        wait_for_steps(checkpoint)
        time.sleep(0.2)
        ranks.signal(2, signal.SIGTERM)
        assert ranks.wait(LIMIT_SECONDS) == [0, 0, 0], [ranks.said(rank) for rank in range(3)]
    saved = [path.name for path in checkpoint.iterdir() if path.name.startswith("step-")]
    assert len(saved) == 1
    with TrainingRanks(job.out, job.options(checkpoint, "--resume"), tmp_path) as ranks:
        assert ranks.wait(300) == [0, 0, 0]
    assert last_checkpoint(checkpoint) == job.expected


def test_out_of_memory_is_named(tmp_path: Path) -> None:
    """A rank whose memory ends says so, and the others name it."""
    import resource

    batch = 1_200_000  # activations of 38 MB: mapped anew for each microbatch
    model = small_models.layers_model(tmp_path / "model.onnx", batch=batch)
    out = compile_layers(model, tmp_path / "out", (1, 1), microbatches=1)
    data = write_data(tmp_path / "data.npz", samples=batch)
    options = [f"--data={data}", "--steps=100000", "--learning-rate=1e-9", "--timeout=60", "--progress"]
    with TrainingRanks(out, options, tmp_path) as ranks:
        deadline = time.monotonic() + 120
        while not ranks.said(0) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ranks.said(0), "no step was done"
        pid = ranks.processes[1].pid
        resource.prlimit(pid, resource.RLIMIT_AS, (virtual_bytes(pid) - 100_000_000,) * 2)
        assert ranks.wait(LIMIT_SECONDS + 10) == [1, 1]
        for rank in range(2):
            assert "rank 1 (stage 1 on type1) failed: " in ranks.said(rank)[-1]
            assert "memory" in ranks.said(rank)[-1]


def virtual_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def usage(pid: int) -> tuple[int, int, int]:
    """Resident bytes, open files, threads."""
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, len(os.listdir(f"/proc/{pid}/fd")), len(os.listdir(f"/proc/{pid}/task"))


@pytest.mark.parametrize("steps", [2_000, pytest.param(50_000, marks=[pytest.mark.wide])])
def test_many_steps_do_not_grow(job: Job, tmp_path: Path, steps: int) -> None:
    log = tmp_path / "log.jsonl"
    options = [f"--data={job.data}", f"--steps={steps}", f"--log={log}", f"--checkpoint={tmp_path / 'ckpt'}",
               f"--checkpoint-every={steps // 40}"]  # fmt: skip

    def done() -> int:
        return log.read_bytes().count(b"\n") if log.exists() else 0

    samples: list[list[tuple[int, int, int]]] = []
    with TrainingRanks(job.out, options, tmp_path) as ranks:
        for at in (0.4, 0.9):  # what is filled once is filled by then
            while done() < at * steps and all(process.poll() is None for process in ranks.processes):
                time.sleep(0.02)
            assert all(process.poll() is None for process in ranks.processes), [ranks.said(k) for k in range(3)]
            samples.append([usage(process.pid) for process in ranks.processes])
        assert ranks.wait(300) == [0, 0, 0]
    for rank, (early, late) in enumerate(zip(*samples, strict=True)):
        assert late[0] - early[0] < 2 << 20, f"rank {rank} grew by {late[0] - early[0]} bytes"
        # A checkpoint that is being written has a file open.
        assert abs(late[1] - early[1]) <= 2, f"rank {rank} had {early[1]} files, then {late[1]}"
        assert late[2] <= early[2], f"rank {rank} had {early[2]} threads, then {late[2]}"
