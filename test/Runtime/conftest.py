"""A small model on three stages whose runs take as long as a test wants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import hethub
import numpy as np
import oracle
import pytest
import small_models
from hethub.npz import save_npz


@dataclass(frozen=True)
class Job:
    """A compiled folder with inputs for one run."""

    out: Path
    inputs: Path
    expected: dict[str, np.ndarray]


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """Program files of three stages, four microbatches."""
    folder = tmp_path_factory.mktemp("job")
    model = small_models.layers_model(folder / "model.onnx")
    out = hethub.compile(model, folder / "out", stages=3, emit=("program",))
    parts = [{"x": small_models.layers_input()["x"] + k} for k in range(4)]
    save_npz(folder / "x.npz", {"x": np.concatenate([part["x"] for part in parts])})
    return Job(out, folder / "x.npz", oracle.reference(model, parts))
