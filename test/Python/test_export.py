"""hethub export: trained weights back in the model, all else as it was. Checkpoint files are written by the
safetensors package."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import onnx
import pytest
import safetensors.numpy
import small_models
from hethub import HetHubError
from onnx import TensorProto, helper, numpy_helper


def write_checkpoint(folder: Path, *stages: dict[str, np.ndarray], step: int = 4, **manifest: object) -> Path:
    path = folder / f"step-{step:06}"
    path.mkdir(parents=True)
    files = []
    for k, tensors in enumerate(stages):
        file = path / f"stage_{k}.safetensors"
        safetensors.numpy.save_file(tensors, file)
        files.append({"file": file.name, "bytes": file.stat().st_size})
    content = {"format": 1, "model": "g", "step": step, "parameters": files} | manifest
    (path / "manifest.json").write_text(json.dumps(content))
    (folder / "latest").write_text(path.name + "\n")
    return folder


def weights(path: Path) -> dict[str, np.ndarray]:
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Two layers, an integer initializer, and a weight that stands in a Constant node."""
    table = numpy_helper.from_array(np.arange(8, dtype=np.float32), "")
    indices = numpy_helper.from_array(np.array([1, 0], np.int64), "rows")
    nodes = [
        helper.make_node("Constant", [], ["scale"], value=table),
        helper.make_node("Gather", ["x", "rows"], ["swapped"], axis=0),
        helper.make_node("MatMul", ["swapped", "layer/w"], ["m"]),
        helper.make_node("Mul", ["m", "scale"], ["y"]),
    ]
    w = numpy_helper.from_array(np.eye(8, dtype=np.float32), "layer/w")
    side = {"x": (TensorProto.FLOAT, [2, 8])}, {"y": (TensorProto.FLOAT, [2, 8])}
    return small_models.save_graph(tmp_path / "model.onnx", nodes, *side, [w, indices])


def test_trained_weights_are_put_in_and_others_stay(model: Path, tmp_path: Path) -> None:
    new = np.random.default_rng(3).standard_normal((8, 8), np.float32)
    scale = np.full(8, 2, np.float32)
    folder = write_checkpoint(tmp_path / "ckpt", {"layer/w": new}, {"scale": scale})
    out = hethub.export(folder, model, tmp_path / "trained.onnx")
    onnx.checker.check_model(out, full_check=True)
    assert np.array_equal(weights(out)["layer/w"], new)
    assert np.array_equal(weights(out)["rows"], [1, 0])
    constant = onnx.load(out).graph.node[0].attribute[0].t
    assert np.array_equal(numpy_helper.to_array(constant), scale)
    before, after = onnx.load(model), onnx.load(out)
    assert [n.op_type for n in before.graph.node] == [n.op_type for n in after.graph.node]
    assert weights(model)["layer/w"].trace() == 8  # the model itself is untouched
    assert not (tmp_path / "trained.onnx.data").exists()


def test_external_data_goes_to_a_new_file(model: Path, tmp_path: Path) -> None:
    big = onnx.load(model)
    kept = np.random.default_rng(4).standard_normal(700, np.float32)
    big.graph.initializer.append(numpy_helper.from_array(kept, "kept"))
    source = tmp_path / "big" / "big.onnx"
    source.parent.mkdir()
    onnx.save(big, source, save_as_external_data=True, location="weights.bin", size_threshold=64)
    data_before = (source.parent / "weights.bin").read_bytes()
    new = np.full((8, 8), 5, np.float32)
    folder = write_checkpoint(tmp_path / "ckpt", {"layer/w": new})
    out = hethub.export(folder, source, tmp_path / "out.onnx")
    assert np.array_equal(weights(out)["layer/w"], new)
    assert np.array_equal(weights(out)["kept"], kept)
    assert (tmp_path / "out.onnx.data").stat().st_size >= new.nbytes + kept.nbytes
    assert (source.parent / "weights.bin").read_bytes() == data_before
    locations = [t.external_data[0].value for t in onnx.load(out, load_external_data=False).graph.initializer[:1]]
    assert locations == ["out.onnx.data"]


def test_the_newest_checkpoint_is_taken(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ckpt"
    for step in (20, 10):
        write_checkpoint(folder, {"layer/w": np.full((8, 8), step, np.float32)}, step=step)
    assert weights(hethub.export(folder, model, tmp_path / "a.onnx"))["layer/w"][0, 0] == 10  # what `latest` names
    (folder / "latest").unlink()
    assert weights(hethub.export(folder, model, tmp_path / "b.onnx"))["layer/w"][0, 0] == 20
    one = hethub.export(folder / "step-000010", model, tmp_path / "c.onnx")
    assert weights(one)["layer/w"][0, 0] == 10


def refusal(folder: Path, model: Path, output: Path) -> str:
    before = sorted(p.name for p in output.parent.iterdir())
    with pytest.raises(HetHubError) as caught:
        hethub.export(folder, model, output)
    assert sorted(p.name for p in output.parent.iterdir()) == before
    return str(caught.value)


def test_refusals(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "trained.onnx"
    good = np.eye(8, dtype=np.float32)
    assert "must hold a checkpoint of `hethub train`" in refusal(tmp_path, model, out)
    other = write_checkpoint(tmp_path / "other", {"head": good, "layer/w": np.eye(7, dtype=np.float32)})
    message = refusal(other, model, out)
    assert "parameter 'head'" in message
    assert "'layer/w' must be F32 [8, 8]" in message
    assert "got: F32 [7, 7]" in message
    newer = write_checkpoint(tmp_path / "newer", {"layer/w": good}, format=2)
    assert "must be at most 1, got: 2" in refusal(newer, model, out)
    cut = write_checkpoint(tmp_path / "cut", {"layer/w": good})
    file = cut / "step-000004" / "stage_0.safetensors"
    file.write_bytes(file.read_bytes()[:-4])
    assert f"{file} must have" in refusal(cut, model, out)
    fine = write_checkpoint(tmp_path / "fine", {"layer/w": good})
    assert "must not replace what it is made from" in refusal(fine, model, model)
    (tmp_path / "text.onnx").write_text("no model")
    assert "cannot read the model" in refusal(fine, tmp_path / "text.onnx", out)
