"""What users of pipeline planners complain about, from the model file on. unittests/Planner/ComplaintsTest.cpp has the
planner's part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hethub
import numpy as np
import oracle
import pytest
import small_models
from onnx import TensorProto, helper, numpy_helper

WIDTH = small_models.WIDTH
TABLE_BYTES = 4 * WIDTH * WIDTH


def write_plan(file: Path, *stages: list[str]) -> Path:
    file.write_text(json.dumps({"stages": [{"device_type": "cpu", "nodes": nodes} for nodes in stages]}))
    return file


def weight(name: str, seed: int) -> Any:
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal((WIDTH, WIDTH), np.float32), name)


def save(path: Path, nodes: list[tuple[str, str, list[str], str]], weights: list[Any]) -> Path:
    """Nodes are (operator, name, inputs, output); x goes in, y comes out."""
    made = [helper.make_node(kind, inputs, [output], name=name) for kind, name, inputs, output in nodes]
    shape = (TensorProto.FLOAT, [small_models.BATCH, WIDTH])
    return small_models.save_graph(path, made, {"x": shape}, {"y": shape}, weights)


@pytest.mark.parametrize(("layers", "stages"), [(30, 4), (5, 4), (7, 2)])
def test_layers_that_do_not_divide_are_all_kept(tmp_path: Path, layers: int, stages: int) -> None:
    """30 layers on 4 stages are 7 or 8 each, 5 on 4 one or two: as even as whole layers can be, and none is lost."""
    model = small_models.layers_model(tmp_path / "model.onnx", layers=layers)
    plan = hethub.plan(model, stages=stages)
    names = [node for stage in plan["stages"] for node in stage["nodes"]]
    assert names == [f"{op}_{k}" for k in range(layers) for op in ("add", "relu")]
    counts = [sum(node.startswith("add_") for node in stage["nodes"]) for stage in plan["stages"]]
    assert len(counts) == stages
    assert sum(counts) == layers
    assert max(counts) == -(-layers // stages)


def test_stated_layer_counts(tmp_path: Path, layers: Path) -> None:
    """One, two and one of the four layers, stated by the operations that the stages begin with."""
    file = tmp_path / "own.json"
    stages: list[dict[str, str]] = [{"device_type": "cpu"}]
    stages += [{"device_type": "cpu", "first": f"add_{layer}"} for layer in (1, 3)]
    file.write_text(json.dumps({"stages": stages}))
    plan = hethub.plan(layers, stages=3, plan_file=file)
    assert [len(stage["nodes"]) for stage in plan["stages"]] == [2, 4, 2]


def test_tied_weights_are_held_by_both_stages(tmp_path: Path) -> None:
    """The table is counted once in a stage, however many operations read it, and both stages compute with it."""
    nodes = [
        ("MatMul", "first", ["x", "table"], "a"),
        ("MatMul", "again", ["a", "table"], "b"),
        ("Relu", "middle", ["b"], "c"),
        ("MatMul", "last", ["c", "table"], "y"),
    ]
    model = save(tmp_path / "model.onnx", nodes, [weight("table", 1)])
    file = write_plan(tmp_path / "own.json", ["first", "again"], ["middle", "last"])
    out = hethub.compile(model, tmp_path / "out", stages=2, plan_file=file, emit=("program",))
    plan = json.loads((out / "plan.json").read_text())
    assert [stage["parameter_bytes"] for stage in plan["stages"]] == [TABLE_BYTES, TABLE_BYTES]
    whole = hethub.compile(model, tmp_path / "whole", stages=1, emit=("program",))
    inputs = small_models.layers_input()
    oracle.assert_same_bits(hethub.run(out, inputs).outputs, hethub.run(whole, inputs).outputs)


def test_skip_connections_are_sent_once_to_each_stage(tmp_path: Path) -> None:
    """One value for two operations of stage 1 and one of stage 2: two messages, both from stage 0."""
    nodes = [
        ("MatMul", "first", ["x", "w"], "skip"),
        ("Relu", "one", ["skip"], "a"),
        ("Add", "two", ["a", "skip"], "b"),
        ("MatMul", "three", ["b", "w"], "c"),
        ("Add", "last", ["c", "skip"], "y"),
    ]
    model = save(tmp_path / "model.onnx", nodes, [weight("w", 2)])
    file = write_plan(tmp_path / "own.json", ["first"], ["one", "two"], ["three", "last"])
    plan = hethub.plan(model, stages=3, plan_file=file)
    sent = [(m["value"], m["from_stage"], m["to_stage"]) for m in plan["messages"]]
    assert sorted(sent) == [("b", 1, 2), ("skip", 0, 1), ("skip", 0, 2)]
    assert [stage["receive_bytes"] for stage in plan["stages"]] == [
        0,
        *[4 * small_models.BATCH * WIDTH * k for k in (1, 2)],
    ]


def test_a_stage_map_that_no_cuts_give(tmp_path: Path) -> None:
    """Two towers whose operations stand in turn in the file, each a stage of its own: all values flow forward."""
    nodes = [
        ("MatMul", "left_0", ["x", "w"], "l0"),
        ("MatMul", "right_0", ["x", "v"], "r0"),
        ("Relu", "left_1", ["l0"], "l1"),
        ("Sigmoid", "right_1", ["r0"], "r1"),
        ("Add", "join", ["l1", "r1"], "y"),
    ]
    model = save(tmp_path / "model.onnx", nodes, [weight("w", 3), weight("v", 4)])
    file = write_plan(tmp_path / "own.json", ["left_0", "left_1"], ["right_0", "right_1"], ["join"])
    out = hethub.compile(model, tmp_path / "out", stages=3, plan_file=file, emit=("program",))
    plan = json.loads((out / "plan.json").read_text())
    assert [stage["nodes"] for stage in plan["stages"]] == [["left_0", "left_1"], ["right_0", "right_1"], ["join"]]
    whole = hethub.compile(model, tmp_path / "whole", stages=1, emit=("program",))
    inputs = small_models.layers_input()
    oracle.assert_same_bits(hethub.run(out, inputs).outputs, hethub.run(whole, inputs).outputs)
