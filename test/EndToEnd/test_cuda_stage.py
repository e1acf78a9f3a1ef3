"""A stage for a CUDA device compiles and links against NCCL without a GPU, and says in one line that there is none."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch
from command import hethub


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU, so nothing is refused")
def test_cuda_stage_builds_and_refuses_to_run_without_gpu(tmp_path: Path, layers: Path) -> None:
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("devices:\n  - {name: new, accelerator: A100-80GB, count: 1}\n")
    out = tmp_path / "out"
    assert hethub("compile", layers, "--cluster", cluster, "--emit=cpp", "-o", out).returncode == 0
    built = hethub("build", out)
    assert built.returncode == 0, built.stderr
    stage = out / "stage_0" / "build" / "stage"
    libraries = subprocess.run(["ldd", stage], capture_output=True, text=True).stdout
    assert "runtime_cuda" in libraries
    result = subprocess.run([stage, "--inputs", "none.npz"], capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert "needs a GPU" in lines[0]
