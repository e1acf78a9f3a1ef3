"""Models that cannot be compiled: one clear message, exit code 1, nothing half-written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
import small_models
from command import error_of, hethub
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
VECTOR = {"x": (FLOAT, [4])}
RESULT = {"y": (FLOAT, [4])}


def refused(model: Path, folder: Path, *options: str, stages: bool = True) -> str:
    """The message of a refusal; checks that no trace of an output is left."""
    before = sorted(p.name for p in folder.iterdir())
    how = ["--stages", "2"] if stages else []
    message = error_of(hethub("compile", model, *how, *options, "-o", folder / "out"))
    assert sorted(p.name for p in folder.iterdir()) == before
    return message


def external(folder: Path, location: str, offset: int, length: int) -> Path:
    """A model whose one weight of 64 bytes lies in `location`."""
    weight = TensorProto(name="w", data_type=FLOAT, dims=[4, 4], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", location), ("offset", str(offset)), ("length", str(length))):
        weight.external_data.add(key=key, value=value)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")
    return small_models.save_graph(folder / "model.onnx", [node], VECTOR, RESULT, [weight])


def test_missing_file(tmp_path: Path) -> None:
    assert "no-such.onnx" in refused(tmp_path / "no-such.onnx", tmp_path)


def test_folder_instead_of_file(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").mkdir()
    assert "model.onnx" in refused(tmp_path / "model.onnx", tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"hello, this is no model\n", b"version https://git-lfs.github.com/spec/v1\n"]
)
def test_no_onnx_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(content)
    assert "model.onnx" in refused(tmp_path / "model.onnx", tmp_path)


def test_truncated_file(tmp_path: Path, layers: Path) -> None:
    data = layers.read_bytes()
    (tmp_path / "model.onnx").write_bytes(data[: len(data) // 2])
    assert "model.onnx" in refused(tmp_path / "model.onnx", tmp_path)


def test_cyclic_graph(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["x", "b"], ["a"], name="first_of_ring"),
        helper.make_node("Relu", ["a"], ["b"], name="second_of_ring"),
        helper.make_node("Neg", ["b"], ["y"], name="after_ring"),
    ]
    model = small_models.save_graph(tmp_path / "model.onnx", nodes, VECTOR, RESULT)
    message = refused(model, tmp_path)
    assert "cycl" in message
    assert "first_of_ring" in message or "second_of_ring" in message


def test_unknown_operators_are_listed_all_at_once(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Swirl", ["x"], ["a"], name="swirl_1", domain="my.domain"),
        helper.make_node("Relu", ["a"], ["b"], name="fine"),
        helper.make_node("Twist", ["b"], ["y"], name="twist_1", domain="my.domain"),
    ]
    opsets = [helper.make_opsetid("my.domain", 1)]
    model = small_models.save_graph(tmp_path / "model.onnx", nodes, VECTOR, RESULT, opsets=opsets)
    message = refused(model, tmp_path)
    for word in ("swirl_1", "Swirl", "twist_1", "Twist", "my.domain"):
        assert word in message
    assert "fine" not in message


@pytest.mark.parametrize("location", ["../outside.bin", "/etc/hostname", "a/../../outside.bin"])
def test_external_data_outside_the_models_folder(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(bytes(64))
    message = refused(external(folder, location, 0, 64), folder)
    assert location in message
    assert "w" in re.findall(r"\w+", message)


def test_external_data_missing(tmp_path: Path) -> None:
    assert "weights.bin" in refused(external(tmp_path, "weights.bin", 0, 64), tmp_path)


def test_external_data_short(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(40))
    message = refused(external(tmp_path, "weights.bin", 0, 64), tmp_path)
    assert "weights.bin" in message
    assert "40" in message


def test_external_data_of_wrong_length(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(64))
    message = refused(external(tmp_path, "weights.bin", 0, 60), tmp_path)
    assert "60" in message
    assert "64" in message


def test_symbolic_dimension_that_nobody_fixed(tmp_path: Path) -> None:
    model = small_models.layers_model(tmp_path / "model.onnx", batch="rows")
    message = refused(model, tmp_path)
    assert "rows" in message
    assert "--dim" in message


def test_dimension_that_the_model_does_not_have(tmp_path: Path, layers: Path) -> None:
    assert "columns" in refused(layers, tmp_path, "--dim", "columns=3")


def test_types_that_do_not_fit(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="mm")
    inputs = {"x": (FLOAT, [5])}
    model = small_models.save_graph(tmp_path / "model.onnx", [node], inputs, RESULT, [weight])
    assert "mm" in refused(model, tmp_path)


def test_every_refusal_above_is_about_the_model(tmp_path: Path, layers: Path) -> None:
    """The same command with a good model succeeds, so the refusals are not about something else."""
    result = hethub("compile", layers, "--stages", "2", "--emit", "program", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert onnx.load(layers).graph.node[0].name == "matmul_0"
