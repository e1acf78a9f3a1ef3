"""A rank that is killed or stopped in the middle of a run: all stop, one message names it, nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command import COMMAND, error_of

LONG = 100_000_000  # repeats: never ends by itself


def start(job, folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [*COMMAND, "run", str(job.out), "--inputs", str(job.inputs), "--outputs", str(folder / "y.npz")]
    command += ["--microbatches", "4", "--repeats", str(LONG), *options]
    # A shell starts its background jobs, and all that they start, with SIGINT ignored.
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def children(pid: int) -> dict[int, int]:
    """Process ids of the ranks by rank, when all three compute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = {}
        for task in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((task / "stat").read_text().rpartition(")")[2].split()[1])
                environment = (task / "environ").read_bytes().split(b"\0")
            except (OSError, IndexError, ValueError):
                continue
            rank = next((int(e[5:]) for e in environment if e.startswith(b"RANK=")), None)
            if parent == pid and rank is not None:
                found[rank] = int(task.name)
        if len(found) == 3 and all(_cpu_seconds(p) > 0.3 for p in found.values()):
            time.sleep(1)
            return found
        time.sleep(0.1)
    raise AssertionError("the ranks did not start")


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def finish(process: subprocess.Popen[str], timeout: float) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def assert_gone(pids: dict[int, int]) -> None:
    assert not [pid for pid in pids.values() if Path(f"/proc/{pid}").exists()]


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_killed_rank(tmp_path: Path, job, victim: int) -> None:
    process = start(job, tmp_path)
    pids = children(process.pid)
    os.kill(pids[victim], signal.SIGKILL)
    result = finish(process, 30)
    assert error_of(result).startswith(f"rank {victim} (stage {victim}")
    assert "killed by SIGKILL" in error_of(result)
    assert_gone(pids)
    assert not (tmp_path / "y.npz").exists()


@pytest.mark.parametrize("victim", [0, 1])
def test_stopped_rank(tmp_path: Path, job, victim: int) -> None:
    process = start(job, tmp_path, "--timeout", "4")
    pids = children(process.pid)
    os.kill(pids[victim], signal.SIGSTOP)
    begin = time.monotonic()
    result = finish(process, 40)
    assert time.monotonic() - begin < 20
    assert error_of(result).startswith(f"rank {victim} (stage {victim}")
    assert "stopped" in error_of(result)
    assert_gone(pids)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_launcher_ends_its_ranks(tmp_path: Path, job, number: signal.Signals) -> None:
    process = start(job, tmp_path)
    pids = children(process.pid)
    process.send_signal(number)
    result = finish(process, 30)
    assert result.returncode == 128 + number
    assert "Traceback" not in result.stderr
    assert_gone(pids)
    assert list(tmp_path.iterdir()) == []
