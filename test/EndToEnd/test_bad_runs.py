"""Runs that cannot be: inputs that do not fit, changed files, a port in use. One message, no process left."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import hethub
import numpy as np
import pytest
import small_models
from command import error_of
from command import hethub as command
from hethub.npz import save_npz

GOOD = small_models.layers_input()


def refused(out: Path, folder: Path, inputs: dict[str, np.ndarray] | None, *options: str) -> str:
    arguments = [] if inputs is None else ["--inputs", folder / "x.npz"]
    if inputs is not None:
        save_npz(folder / "x.npz", inputs)
    message = error_of(command("run", out, *arguments, "--outputs", folder / "y.npz", *options, timeout=60))
    assert not (folder / "y.npz").exists()
    return message


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        (None, [], "input 'x' must be given, got: none"),
        ({}, [], "input 'x' must be given, got: none"),
        ({"z": GOOD["x"]}, [], "input 'x' must be given, got: z"),
        (GOOD | {"z": GOOD["x"]}, [], "input 'z' must be one of the model's (x), got: another name"),
        ({"x": GOOD["x"][:, :5]}, [], "input 'x' must have shape [2, 8], got: [2, 5]"),
        ({"x": GOOD["x"].astype(np.float64)}, [], "input 'x' must be float32, got: float64"),
        (
            {"x": np.zeros((5, 8), np.float32)},
            ["--microbatches", "3"],
            "input 'x' must have shape [6, 8] (3 microbatches of [2, 8]), got: [5, 8]",
        ),
    ],
)
def test_inputs(tmp_path: Path, three_stages: Path, inputs, options: list[str], message: str) -> None:
    assert refused(three_stages, tmp_path, inputs, *options).splitlines()[0] == message


def test_missing_inputs_file(tmp_path: Path, three_stages: Path) -> None:
    message = error_of(command("run", three_stages, "--inputs", tmp_path / "none.npz"))
    assert "none.npz" in message


def test_output_in_a_folder_that_does_not_exist(tmp_path: Path, three_stages: Path) -> None:
    save_npz(tmp_path / "x.npz", GOOD)
    result = command("run", three_stages, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "no" / "y.npz")
    assert "the output's folder must exist" in error_of(result)


@pytest.fixture
def spoilt(tmp_path: Path, layers: Path) -> Path:
    """A compiled folder of one's own to spoil."""
    return hethub.compile(layers, tmp_path / "out", stages=2, emit=("program",))


def test_changed_program_file(tmp_path: Path, spoilt: Path) -> None:
    file = spoilt / "stage_1" / "program.pb"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    message = refused(spoilt, tmp_path, GOOD)
    assert "stage_1/program.pb" in message
    assert "as the compiler wrote it" in message


def test_program_of_another_plan(tmp_path: Path, layers: Path, spoilt: Path) -> None:
    """The file is whole, but the ranks do not agree on the plan."""
    other_model = small_models.layers_model(tmp_path / "other.onnx", layers=6)
    other = hethub.compile(other_model, tmp_path / "other", stages=2, emit=("program",))
    shutil.copyfile(other / "stage_1" / "program.pb", spoilt / "stage_1" / "program.pb")
    message = refused(spoilt, tmp_path, GOOD, "--timeout", "20")
    assert "plan" in message


def test_missing_stage(tmp_path: Path, spoilt: Path) -> None:
    shutil.rmtree(spoilt / "stage_1")
    assert "stage_1" in refused(spoilt, tmp_path, GOOD)


def test_weights_that_are_gone(tmp_path: Path) -> None:
    """The weights stay in the model's file: a rank that does not find them says which file it wants."""
    model = small_models.layers_model(tmp_path / "model.onnx", width=64)
    out = hethub.compile(model, tmp_path / "out", stages=2, emit=("program",))
    model.unlink()
    message = refused(out, tmp_path, small_models.layers_input(width=64), "--timeout", "20")
    assert "model.onnx" in message
    assert message.startswith("rank ")


def test_cpp_that_was_not_built(tmp_path: Path, spoilt: Path) -> None:
    assert "must be built first" in refused(spoilt, tmp_path, GOOD, "--cpp")


def test_port_in_use(tmp_path: Path, three_stages: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen(1)
        port = holder.getsockname()[1]
        assert refused(three_stages, tmp_path, GOOD, "--port", str(port)).startswith(
            f"the port must be free, got: {port}"
        )
