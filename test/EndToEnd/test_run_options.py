"""What `hethub run` can do besides running: splitting, names of outputs, traces, figures."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import oracle
import pytest
import small_models
from command import hethub as command
from hethub.npz import load_npz, save_npz
from onnx import TensorProto, helper

INPUTS = small_models.layers_input()


def test_command_writes_outputs_by_name(tmp_path: Path, layers: Path, three_stages: Path) -> None:
    save_npz(tmp_path / "x.npz", INPUTS)
    result = command("run", three_stages, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz")
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    oracle.assert_close(load_npz(tmp_path / "y.npz"), oracle.reference(layers, [INPUTS]))


@pytest.mark.parametrize("microbatches", [1, 3, 8])
def test_inputs_are_split_and_outputs_joined(layers: Path, three_stages: Path, microbatches: int) -> None:
    parts = [{"x": INPUTS["x"] + k} for k in range(microbatches)]
    whole = {"x": np.concatenate([part["x"] for part in parts])}
    outputs = hethub.run(three_stages, whole, microbatches=microbatches).outputs
    oracle.assert_close(outputs, oracle.reference(layers, parts))


def test_positional_names(three_stages: Path) -> None:
    named, counted = (hethub.run(three_stages, INPUTS, positional=p).outputs for p in (False, True))
    assert list(named) == ["y"]
    assert list(counted) == ["out0"]
    assert named["y"].tobytes() == counted["out0"].tobytes()


def test_one_value_listed_twice_and_odd_names(tmp_path: Path) -> None:
    """Outputs in graph order: an early one, one whose name is no identifier, and the first again."""
    nodes = [
        helper.make_node("Relu", ["in:0"], ["early"], name="n0"),
        helper.make_node("Neg", ["early"], ["out/put;1"], name="n1"),
        helper.make_node("Exp", ["out/put;1"], ["z"], name="n2"),
    ]
    vector = (TensorProto.FLOAT, [3])
    values = dict.fromkeys(("out/put;1", "early", "z"), vector)
    model = small_models.save_graph(tmp_path / "model.onnx", nodes, {"in:0": vector}, values)
    out = hethub.compile(model, tmp_path / "out", stages=3, emit=("program",))
    inputs = {"in:0": np.array([-1, 0.5, 2], np.float32)}
    expected = oracle.reference(model, [inputs])
    oracle.assert_close(hethub.run(out, inputs).outputs, expected)
    counted = hethub.run(out, inputs, positional=True).outputs
    oracle.assert_close(counted, {f"out{k}": v for k, v in enumerate(expected.values())})


def test_json_figures_and_trace(tmp_path: Path, three_stages: Path) -> None:
    save_npz(tmp_path / "x.npz", INPUTS)
    trace = tmp_path / "trace.json"
    result = command("run", three_stages, "--inputs", tmp_path / "x.npz", "--repeats", 3, "--trace", trace, "--json")
    assert result.returncode == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["outputs"] == {"y": {"dtype": "float32", "shape": [2, 8]}}
    assert [rank["stage"] for rank in facts["ranks"]] == [0, 1, 2]
    assert all(rank["computes"] == 3 for rank in facts["ranks"])
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1, 2}


def test_memory_of_a_rank_stays_near_its_weights(tmp_path: Path) -> None:
    """Weights of 256 MiB in four layers on two stages: a rank holds its half and the library, not the whole."""
    width = 4096
    model = small_models.layers_model(tmp_path / "model.onnx", width=width)
    out = hethub.compile(model, tmp_path / "out", stages=2, emit=("program",))
    ranks = hethub.run(out, small_models.layers_input(width=width)).ranks
    half = 2 * width * width * 4
    for rank in ranks:
        assert rank["weights_bytes"] < 1.1 * half
        assert rank["max_rss_bytes"] < 1.1 * half + 300 * 2**20, rank
