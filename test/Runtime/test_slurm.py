"""The same programs under a real Slurm of one node."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import oracle
import pytest
from hethub.npz import load_npz
from slurm import CannotStart, Slurm


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    # Sockets want short paths, so not the folder that pytest gives.
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        Path(folder).chmod(0o755)
        try:
            running = Slurm(Path(folder)).__enter__()
        except CannotStart as reason:
            pytest.skip(f"no Slurm on this machine: {reason}")
        try:
            yield running
        finally:
            running.close()


def test_srun_starts_the_daemons_as_expected(slurm: Slurm) -> None:
    result = slurm.srun("-n3", "sh", "-c", "echo $SLURM_PROCID of $SLURM_NTASKS")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.split("\n"))[-3:] == ["0 of 3", "1 of 3", "2 of 3"]


def test_program_files(slurm: Slurm, tmp_path: Path, job) -> None:
    arguments = ["--inputs", job.inputs, "--outputs", tmp_path / "y.npz", "--microbatches", 4, "--timeout=60"]
    result = slurm.srun("-n3", job.out / "run", *arguments)
    assert result.returncode == 0, result.stderr
    oracle.assert_close(load_npz(tmp_path / "y.npz"), job.expected)


def test_two_runs_one_after_the_other(slurm: Slurm, tmp_path: Path, job) -> None:
    """Each job meets at a port of its own."""
    for k in range(2):
        outputs = tmp_path / f"y{k}.npz"
        result = slurm.srun("-n3", job.out / "run", "--inputs", job.inputs, "--outputs", outputs, "--microbatches=4")
        assert result.returncode == 0, result.stderr
        oracle.assert_close(load_npz(outputs), job.expected)


def test_wrong_number_of_ranks_is_refused(slurm: Slurm, tmp_path: Path, job) -> None:
    result = slurm.srun("-n2", job.out / "run", "--inputs", job.inputs, "--outputs", tmp_path / "y.npz")
    assert result.returncode != 0
    assert "the number of ranks must be 3, got: 2" in result.stderr
    assert not (tmp_path / "y.npz").exists()
