"""utils/fit_efficiency.py finds the figures that times were made from."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent.parent
COMMAND = [sys.executable, str(TOP / "utils" / "fit_efficiency.py")]
SIZES = (1, 2, 4, 8, 16, 64, 256, 1024, 4096)


def fit(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def work_of(profile: Path) -> dict:
    tool = TOP / "build" / "bin" / "hh-translate"
    return json.loads(subprocess.run([tool, f"--profile-work={profile}"], capture_output=True, check=True).stdout)


def test_shares_and_halves_are_found_again(tmp_path: Path) -> None:
    # Products bound by their FLOPs: a third of the peak, and half of that at 20 MFLOPs.
    share, half = 1 / 3, 2e7
    signatures = [f"MatMul({size}x512xf32, param 512x512xf32) -> ({size}x512xf32)" for size in SIZES]
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"ops": {signature: {"forward_s": 1.0} for signature in signatures}}))
    work = work_of(profile)
    assert [row["signature"] for row in work["operations"]] == sorted(signatures)
    times = {}
    for row in work["operations"]:
        assert row["class"] == "MatMul"
        assert row["flops"] == 2 * 512 * 512 * int(row["signature"][7:].split("x")[0])
        times[row["signature"]] = work["launch_s"] + (row["flops"] + half) / (row["peak_flops_per_s"] * share)
    profile.write_text(json.dumps({"ops": {signature: {"forward_s": time} for signature, time in times.items()}}))
    result = fit(profile)
    assert result.returncode == 0, result.stderr
    # The peak is measured anew, so that the share is only about the same.
    figures = result.stdout.removeprefix('EFFICIENCY("cpu", MatMul, ').partition(")")[0]
    found_share, _, found_half, _ = map(float, figures.split(", "))
    assert found_half == pytest.approx(half, rel=0.1)
    assert 0.1 < found_share < 0.9


def test_bad_profiles_are_refused(tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text('{"ops": {"x": {"forward_s": -1}}}')
    result = fit(profile)
    assert result.returncode == 1
    assert str(profile) in result.stderr
    assert "Traceback" not in result.stderr
