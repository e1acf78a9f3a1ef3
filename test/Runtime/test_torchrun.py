"""The same programs under the real torchrun."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hethub
import oracle
import small_models
from hethub.npz import load_npz, save_npz

TORCHRUN = str(Path(sys.executable).with_name("torchrun"))


def torchrun(out: Path, *arguments: object, ranks: int = 3) -> subprocess.CompletedProcess[str]:
    command = [TORCHRUN, "--no-python", f"--nproc-per-node={ranks}", "--master-port=0", str(out / "run")]
    command[3:4] = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=180)


def test_program_files(tmp_path: Path, job) -> None:
    result = torchrun(job.out, "--inputs", job.inputs, "--outputs", tmp_path / "y.npz", "--microbatches", 4)
    assert result.returncode == 0, result.stderr
    oracle.assert_close(load_npz(tmp_path / "y.npz"), job.expected)


def test_wrong_number_of_ranks_is_refused(tmp_path: Path, job) -> None:
    result = torchrun(job.out, "--inputs", job.inputs, "--outputs", tmp_path / "y.npz", ranks=2)
    assert result.returncode != 0
    assert "the number of ranks must be 3, got: 2" in result.stdout + result.stderr
    assert not (tmp_path / "y.npz").exists()


def test_failure_of_one_rank_is_named(tmp_path: Path, job) -> None:
    result = torchrun(job.out, "--inputs", tmp_path / "none.npz", "--outputs", tmp_path / "y.npz", "--timeout=20")
    assert result.returncode != 0
    assert "rank 0" in result.stderr + result.stdout
    assert "none.npz" in result.stderr + result.stdout


def test_cpp_programs(tmp_path: Path) -> None:
    model = small_models.layers_model(tmp_path / "model.onnx")
    out = hethub.compile(model, tmp_path / "out", stages=2, emit=("cpp", "program"))
    hethub.build(out)
    inputs = small_models.layers_input()
    save_npz(tmp_path / "x.npz", inputs)
    result = torchrun(out, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz", ranks=2)
    assert result.returncode == 0, result.stderr
    oracle.assert_close(load_npz(tmp_path / "y.npz"), oracle.reference(model, [inputs]))
