"""The C++ emitter calls the functions of the runtime as the interpreter does: many small models as one program."""

from __future__ import annotations

from pathlib import Path

import hethub
import numpy as np
import onnx
import pytest
from domain_cases import Weight, case, microsoft_cases, ml_cases, reals, scalar
from node_cases import Case
from onnx import TensorProto, helper


def plain(op: str, inputs: list, outputs: int | list[int] = 1, **attributes: object) -> Case:
    return case(op, inputs, outputs, domain="", **attributes)


def default_domain_cases() -> list[Case]:
    signal, image = reals(2, 16, 1), reals(1, 2, 6, 5)
    boxes = np.array([[0, 0, 4, 4], [1, 1, 3, 5]], dtype=np.float32)
    lengths = [scalar(v, np.int64) for v in (8, 16, 8000)]
    edges = [scalar(v) for v in (0.0, 4000.0)]
    return [
        plain("DFT", [signal, scalar(8, np.int64), scalar(1, np.int64)], label="run", onesided=1),
        plain("DFT", [signal], onesided=1, atol=1e-4),
        plain("STFT", [signal, Weight(scalar(4, np.int64)), Weight(reals(8))], onesided=1, atol=1e-4),
        plain("STFT", [signal, scalar(4, np.int64), reals(8)], label="run", onesided=1, atol=1e-4),
        plain("MelWeightMatrix", [*lengths, *edges]),
        plain("HannWindow", [scalar(9, np.int64)]),
        plain("RoiAlign", [image, boxes, np.zeros(2, np.int64)], output_height=2, output_width=3, sampling_ratio=2),
        plain("MaxRoiPool", [image, np.hstack([np.zeros((2, 1), np.float32), boxes])], pooled_shape=[2, 2]),
        plain("NonMaxSuppression", [boxes[None], reals(1, 2, 2), np.array([1], dtype=np.int64)]),
        plain("Unique", [np.array([2.0, 1.0, 2.0, 0.5], dtype=np.float32)], 4, sorted=0),
        plain("Compress", [image, np.array([False, True, True])], axis=3),
        plain("Dropout", [image, scalar(0.0), scalar(True, bool)], 2),
        plain("QuantizeLinear", [reals(3, 4), Weight(scalar(0.1)), Weight(scalar(3, np.uint8))]),
        plain("NonZero", [np.array([[1, 0], [2, 3]], dtype=np.int64)]),
    ]


def merged(cases: list[Case]) -> tuple[onnx.ModelProto, dict[str, np.ndarray], dict[str, tuple[Case, np.ndarray]]]:
    """One model that does what all do, side by side, its inputs, and of each output its case and what is wanted."""
    graph, feeds, wanted = onnx.GraphProto(name="all"), {}, {}
    for i, one in enumerate(cases):
        part = onnx.compose.add_prefix(one.model, f"c{i}_").graph
        for field in ("node", "input", "output", "initializer"):
            getattr(graph, field).extend(getattr(part, field))
        feeds |= {port.name: value for port, value in zip(part.input, one.inputs, strict=True)}
        wanted |= {port.name: (one, value) for port, value in zip(part.output, one.outputs, strict=True)}
    return helper.make_model(graph, opset_imports=cases[0].model.opset_import, ir_version=10), feeds, wanted


def is_text(one: Case) -> bool:
    return any(port.type.tensor_type.elem_type == TensorProto.STRING for port in one.model.graph.input)


@pytest.mark.wide
@pytest.mark.parametrize("make", [default_domain_cases, ml_cases, microsoft_cases], ids=["onnx", "ml", "microsoft"])
def test_cpp_programs(make, tmp_path: Path) -> None:
    model, inputs, wanted = merged([one for one in make() if not is_text(one)])
    onnx.save(model, tmp_path / "model.onnx")
    out = hethub.compile(tmp_path / "model.onnx", tmp_path / "out", stages=1, emit=("program", "cpp"))
    hethub.build(out)
    outputs = hethub.run(out, inputs, engine="cpp", timeout=120).outputs
    for name, (one, value) in wanted.items():
        if value.dtype.kind == "O":
            assert outputs[name].tolist() == value.tolist(), one.name
            continue
        assert outputs[name].dtype == value.dtype, one.name
        np.testing.assert_allclose(outputs[name], value, one.rtol, one.atol, err_msg=one.name)
    program = hethub.run(out, inputs, engine="program", timeout=120).outputs
    assert all(outputs[name].tobytes() == program[name].tobytes() for name in wanted)
