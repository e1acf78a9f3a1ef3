"""hh-run --probe and --drain: what measurements of the runtime itself rest on."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import hethub
import numpy as np
import oracle
import pytest
import small_models
from hethub import tools
from hethub.npz import load_npz, save_npz
from hethub.output import OutputFolder, Rank
from hethub.probe import run_ranks, step_seconds

TIMEOUT = 120.0


def probe(size: int, *options: str) -> list[dict[str, Any]]:
    ranks = [Rank(k, k, 0, "cpu") for k in range(2)]
    return run_ranks(ranks, [[str(tools.find("hh-run")), f"--probe={size}", *options]] * 2, TIMEOUT)


@pytest.mark.parametrize("size", [0, 1, 1 << 20])
def test_a_probe_sends_what_is_asked_for(size: int) -> None:
    sender, receiver = probe(size, "--microbatches=3", "--repeats=2", "--probe-work=0.001")
    assert [rank["computes"] for rank in (sender, receiver)] == [6, 6]
    assert (sender["bytes_sent"], receiver["bytes_received"]) == (6 * size, 6 * size)
    # Work is there: at least some of the six milliseconds even where the calibration was disturbed.
    assert sum(sender["repeat_busy_s"]) > 0
    assert sum(receiver["repeat_busy_s"]) > 0


def test_drained_steps_do_not_overlap() -> None:
    """All ranks begin a repeat when the last one has ended the repeat before."""
    ranks = probe(4096, "--drain", "--microbatches=4", "--repeats=5")
    assert all(len(rank[name]) == 5 for rank in ranks for name in ("repeat_begin_s", "repeat_end_s", "repeat_busy_s"))
    begins = [[rank["start_s"] + rank["repeat_begin_s"][k] for rank in ranks] for k in range(5)]
    ends = [[rank["start_s"] + rank["repeat_end_s"][k] for rank in ranks] for k in range(5)]
    for end, begin in zip(ends, begins[1:], strict=False):
        assert max(end) <= min(begin)
    seconds = step_seconds(ranks)
    assert len(seconds) == 5
    assert all(second > 0 for second in seconds)


@pytest.mark.parametrize("drain", [False, True])
def test_drained_or_not_the_outputs_are_the_same(tmp_path: Path, drain: bool) -> None:
    model = small_models.layers_model(tmp_path / "model.onnx")
    out = hethub.compile(model, tmp_path / "out", stages=2, emit=("program",))
    parts = [{"x": small_models.layers_input()["x"] + k} for k in range(3)]
    save_npz(tmp_path / "x.npz", {"x": np.concatenate([part["x"] for part in parts])})
    command = [str(tools.find("hh-run")), str(out), f"--inputs={tmp_path / 'x.npz'}", f"--outputs={tmp_path / 'y.npz'}"]
    command += ["--microbatches=3", "--repeats=4", *(["--drain"] if drain else [])]
    ranks = OutputFolder.read(out).ranks()
    stats = run_ranks(ranks, [command] * len(ranks), TIMEOUT)
    assert [rank["computes"] for rank in stats] == [12, 12]
    assert all(("repeat_begin_s" in rank) == drain or not rank["repeat_begin_s"] for rank in stats)
    oracle.assert_close(load_npz(tmp_path / "y.npz"), oracle.reference(model, parts))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--probe", "-1"], "--probe must be a number from 0 to 4.29497e+09, got: -1"),
        (["--probe=much"], "--probe must be a number from 0 to 4.29497e+09, got: much"),
        (["--probe=nan"], "--probe must be a number from 0 to 4.29497e+09, got: nan"),
        (["--probe"], "--probe needs a value"),
        (["--probe=1", "--probe-work=61"], "--probe-work must be a number from 0 to 60, got: 61"),
        (["--probe=1", "program.pb"], "unknown argument, see --help: program.pb"),
    ],
)
def test_wrong_probes(arguments: list[str], message: str) -> None:
    result = subprocess.run([tools.find("hh-run"), *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 1
    assert result.stderr.splitlines() == [f"error: {message}"]
