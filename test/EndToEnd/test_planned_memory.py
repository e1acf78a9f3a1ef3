"""What the planner expects a stage to keep for its backward pass, against what the programs keep."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import pytest
import small_models
from onnx import TensorProto, helper, numpy_helper

STEPS, BATCH, WIDTH, HIDDEN = 12, 3, 5, 16
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(path: Path, cell: str, directions: int, **attributes: int) -> Path:
    """x [STEPS, BATCH, WIDTH] -> the network -> y [STEPS, directions, BATCH, HIDDEN]."""
    random = np.random.default_rng(3)
    rows = GATES[cell] * HIDDEN
    shapes = {"w": [rows, WIDTH], "r": [rows, HIDDEN], "b": [2 * rows]}
    weights = [
        numpy_helper.from_array(random.standard_normal((directions, *shape), np.float32), name)
        for name, shape in shapes.items()
    ]
    direction = "bidirectional" if directions == 2 else "forward"
    node = helper.make_node(
        cell, ["x", "w", "r", "b"], ["y"], name="cell", hidden_size=HIDDEN, direction=direction, **attributes
    )
    inputs = {"x": (TensorProto.FLOAT, [STEPS, BATCH, WIDTH])}
    outputs = {"y": (TensorProto.FLOAT, [STEPS, directions, BATCH, HIDDEN])}
    return small_models.save_graph(path, [node], inputs, outputs, weights)


@pytest.mark.parametrize(
    ("cell", "directions", "attributes"),
    [
        ("LSTM", 1, {}),
        ("LSTM", 2, {}),
        ("GRU", 1, {"linear_before_reset": 0}),
        ("GRU", 2, {"linear_before_reset": 1}),
        ("RNN", 1, {}),
    ],
)
def test_recurrent_networks_keep_what_was_planned(
    tmp_path: Path, cell: str, directions: int, attributes: dict[str, int]
) -> None:
    model = recurrent(tmp_path / "model.onnx", cell, directions, **attributes)
    training = hethub.TrainingStep(loss="mse")
    [planned] = hethub.plan(model, stages=1, training=training)["stages"]
    folder = hethub.compile(model, tmp_path / "out", stages=1, emit=("program",), training=training)
    [kept] = json.loads((folder / "plan.json").read_text())["stages"]
    assert planned["activation_bytes"] == pytest.approx(kept["activation_bytes"], rel=0.1)
