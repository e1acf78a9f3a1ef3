"""Inputs are checked before any process starts, and every fault is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hethub import HetHubError
from hethub.inputs import check_inputs
from hethub.npz import load_npz, save_npz
from hethub.output import OutputFolder
from hethub.program import Port, StageInfo


def folder(*ports: Port) -> OutputFolder:
    return OutputFolder(Path("out"), {"stages": [{}]}, [StageInfo(0, [1], ["cpu"], list(ports))])


IDS = Port("ids", 0, "int64", (2, 5))
SCALE = Port("scale", 1, "float32", ())


def test_whole_and_split_inputs_fit() -> None:
    check_inputs(folder(IDS, SCALE), {"ids": np.zeros((2, 5), np.int64), "scale": np.float32(1)}, 1)
    check_inputs(folder(IDS, SCALE), {"ids": np.zeros((6, 5), np.int64), "scale": np.float32(1)}, 3)


def test_unknown_sizes_fit_any() -> None:
    check_inputs(folder(Port("x", 0, "float32", (-1, 3))), {"x": np.zeros((7, 3), np.float32)}, 1)


@pytest.mark.parametrize(
    ("given", "microbatches", "message"),
    [
        ({}, 1, "input 'ids' must be given, got: none"),
        ({"ids": np.zeros((2, 4), np.int64)}, 1, "input 'ids' must have shape [2, 5], got: [2, 4]"),
        ({"ids": np.zeros(10, np.int64)}, 1, "input 'ids' must have shape [2, 5], got: [10]"),
        ({"ids": np.zeros((2, 5), np.int32)}, 1, "input 'ids' must be int64, got: int32"),
        (
            {"ids": np.zeros((5, 5), np.int64)},
            3,
            "input 'ids' must have shape [6, 5] (3 microbatches of [2, 5]), got: [5, 5]",
        ),
        (
            {"ids": np.zeros((2, 5), np.int64), "idx": np.zeros(1)},
            1,
            "input 'idx' must be one of the model's (ids), got: another name",
        ),
    ],
)
def test_faults_are_named(given: dict[str, np.ndarray], microbatches: int, message: str) -> None:
    with pytest.raises(HetHubError) as failure:
        check_inputs(folder(IDS), given, microbatches)
    assert str(failure.value) == message


def test_all_faults_are_listed_at_once() -> None:
    with pytest.raises(HetHubError) as failure:
        check_inputs(folder(IDS, SCALE), {"ids": np.zeros((1, 1), np.float32)}, 1)
    assert len(str(failure.value).splitlines()) == 3


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04garbage", b"\x93NUMPY"])
def test_files_that_are_no_npz(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(HetHubError, match=r"the inputs must be an \.npz file, got: "):
        load_npz(path)


def test_any_name_is_a_key(tmp_path: Path) -> None:
    arrays = {name: np.arange(3) for name in ("file", "allow_pickle", "a/b:0", "x.1")}
    save_npz(tmp_path / "x.npz", arrays)
    assert list(load_npz(tmp_path / "x.npz")) == list(arrays)
