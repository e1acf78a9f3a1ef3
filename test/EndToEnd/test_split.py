"""hethub split: the files of the stages chain to the model's answer, whatever the borders are."""

from __future__ import annotations

import json
from pathlib import Path

import hethub
import numpy as np
import onnx
import pytest
import small_models
from command import error_of
from command import hethub as command
from exported import evaluate, same
from model_table import BY_SPEC, ensure, example, fixed_dims
from onnx import TensorProto, helper, numpy_helper


def check(model: Path, out: Path, feeds: dict[str, np.ndarray]) -> dict:
    """Every node stands in one stage as it was, and the chain gives the bits of the whole."""
    manifest = json.loads((out / "stages.json").read_text())
    whole = onnx.load(model, load_external_data=False)
    names: list[str] = []
    constants = set()
    for stage in manifest["stages"]:
        part = onnx.load(out / stage["file"], load_external_data=False)
        onnx.checker.check_model(str(out / stage["file"]))
        assert [o.version for o in part.opset_import] == [o.version for o in whole.opset_import]
        for found in part.graph.node:
            if found.output[0] in names:
                constants.add(found.output[0])
            names.append(found.output[0])
    assert set(names) == {n.output[0] for n in whole.graph.node}
    values = dict(feeds)
    for stage in manifest["stages"]:
        values |= evaluate(out / stage["file"], values)
    expected = evaluate(model, feeds)
    assert all(same(values[name], expected[name]) for name in expected)
    return manifest


def test_stages(tmp_path):
    model = small_models.layers_model(tmp_path / "model.onnx")
    done = command("split", model, "--stages", 3, "-o", tmp_path / "out", "--verify")
    assert done.returncode == 0, done.stderr
    assert "the same bits as the whole model" in done.stderr
    manifest = check(model, tmp_path / "out", small_models.layers_input())
    assert [len(stage["inputs"]) for stage in manifest["stages"]] == [1, 1, 1]
    plan = json.loads((tmp_path / "out/plan.json").read_text())
    assert sum(len(stage["nodes"]) for stage in plan["stages"]) == 12
    assert "predicted ms" in done.stdout
    link = manifest["stages"][0]["outputs"][0]
    assert link["to"] == [1] and manifest["stages"][1]["inputs"][0]["from"] == 0
    assert manifest["stages"][1]["inputs"][0]["name"] == link["name"]


def test_cluster(tmp_path):
    """Uneven stages of unlike devices."""
    model = small_models.layers_model(tmp_path / "model.onnx", layers=8, width=256, batch=64)
    device = "  - {{name: {}, kind: cpu, memory: 1 GiB, peak: {{float32: {} GFLOP/s}}, memory_bandwidth: {} GB/s}}\n"
    devices = device.format("fast", 300, 90) + device.format("slow", 100, 30)
    (tmp_path / "cluster.yaml").write_text("devices:\n" + devices)
    hethub.split(model, tmp_path / "out", cluster=tmp_path / "cluster.yaml")
    check(model, tmp_path / "out", small_models.layers_input(64, 256))
    stages = json.loads((tmp_path / "out/plan.json").read_text())["stages"]
    sizes = {stage["device_type"]: len(stage["nodes"]) for stage in stages}
    assert sizes["fast"] > sizes["slow"]


def residual(path: Path) -> Path:
    """x -> a -> b -> c, with a read by c; a weight that two stages read through a Transpose; an output on the way."""
    weights = [numpy_helper.from_array(np.random.default_rng(3).standard_normal((8, 8), np.float32), "w")]
    nodes = [
        helper.make_node("Transpose", ["w"], ["wt"], name="turn", perm=[1, 0]),
        helper.make_node("MatMul", ["x", "wt"], ["a"], name="first"),
        helper.make_node("Relu", ["a"], ["b"], name="second"),
        helper.make_node("MatMul", ["b", "wt"], ["c"], name="third"),
        helper.make_node("Add", ["c", "a"], ["y"], name="last"),
    ]
    ports = {"x": (1, ["n", 8])}, {"y": (1, ["n", 8]), "b": (1, ["n", 8])}
    return small_models.save_graph(path, nodes, *ports, weights)


def test_borders(tmp_path):
    model = residual(tmp_path / "model.onnx")
    feeds = small_models.layers_input(3)
    done = command("split", model, "--at", "b", "-o", tmp_path / "out", "--json", "--verify", "--dim", "n=5")
    assert done.returncode == 0, done.stderr
    manifest = json.loads(done.stdout)
    assert manifest["largest_difference"] == 0
    assert check(model, tmp_path / "out", feeds)["stages"] == manifest["stages"]
    first, second = manifest["stages"]
    # The residual crosses as well; the turned weight is copied, not sent.
    assert [(port["name"], port["to"], port["is_output"]) for port in first["outputs"]] == [
        ("b", [1], True),
        ("a", [1], False),
    ]
    assert [port["name"] for port in second["inputs"]] == ["a", "b"]
    assert first["inputs"][0]["shape"] == ["n", 8]
    # Costs are for some size, and say so.
    done = command("split", model, "--stages", "2", "-o", tmp_path / "planned")
    assert "remark: sizes that costs are for, since none are given (--dim): n=1" in done.stderr
    done = command("split", model, "--stages", "2", "--dim", "n=4", "-o", tmp_path / "planned")
    assert "remark" not in done.stderr
    stages = check(model, tmp_path / "planned", feeds)["stages"]
    assert {port["shape"][0] for stage in stages for port in stage["inputs"] + stage["outputs"]} == {"n"}
    # In any order, and several tensors at one border.
    hethub.split(model, tmp_path / "out", at=["c", "a"])
    assert len(check(model, tmp_path / "out", feeds)["stages"]) == 3
    hethub.split(model, tmp_path / "out", at=["a,b"])
    assert len(check(model, tmp_path / "out", feeds)["stages"]) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--at", "bb"], "a cut must be at a tensor of the model, got: 'bb'; nearest: 'b'"),
        (["--at", "x"], "a cut must be behind a node, got an input of the model: 'x'"),
        (["--at", "w"], "a cut must be behind a node, got a weight: 'w'"),
        (["--at", "wt"], "a cut must be behind something that depends on inputs, got: 'wt' of node 'turn' (Transpose)"),
        (["--at", "y"], "a cut must leave something in each stage, got nothing behind 'y'"),
        (["--at", "a", "a"], "a cut must leave something in each stage, got nothing new before 'a'"),
        (["--stages", "5"], "stages"),
        (["--stages", "0"], "stages must be at least 1, got: 0"),
        (["--annotated"], "no node names a pipeline stage"),
        (["--stages", "2", "--at", "b"], "give one of: a cluster or a number of stages, borders"),
        ([], "give one of: a cluster or a number of stages, borders"),
        (["--stages", "2", "--dim", "m=2"], "no dim of the inputs has this name: 'm'"),
        (["--stages", "2", "--microbatches", "0"], "microbatches must be at least 1, got: 0"),
        (["--cluster", "missing.yaml"], "missing.yaml"),
    ],
)
def test_refusals(arguments, words, tmp_path):
    model = residual(tmp_path / "model.onnx")
    message = error_of(command("split", model, *arguments, "-o", tmp_path / "out"))
    assert words in message
    assert not (tmp_path / "out").exists()


def test_what_nobody_lowers(tmp_path):
    """Operators without a schema, sequences, functions and sub-graphs that capture values are cut like others."""
    function = helper.make_function(
        "local", "Double", ["v"], ["u"], [helper.make_node("Add", ["v", "v"], ["u"])], [helper.make_opsetid("", 20)]
    )
    branch = [
        helper.make_graph(
            [helper.make_node(op, ["h"], [f"{op}_out"])], op, [], [helper.make_tensor_value_info(f"{op}_out", 1, [2])]
        )
        for op in ("Neg", "Abs")
    ]
    nodes = [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("Double", ["h"], ["d"], domain="local"),
        helper.make_node("If", ["flag"], ["i"], then_branch=branch[0], else_branch=branch[1]),
        helper.make_node("SequenceConstruct", ["d", "i"], ["seq"]),
        helper.make_node("ConcatFromSequence", ["seq"], ["y"], axis=0),
    ]
    ports = {"x": (1, [2]), "flag": (TensorProto.BOOL, [])}, {"y": (1, [4])}
    opsets = [helper.make_opsetid("local", 1)]
    model = small_models.save_graph(tmp_path / "model.onnx", nodes, *ports, opsets=opsets, functions=[function])
    feeds = {"x": np.asarray([-1, 2], np.float32), "flag": np.asarray(True)}
    for border in ("h", "d", "d,i"):
        hethub.split(model, tmp_path / "out", at=[border])
        check(model, tmp_path / "out", feeds)
    hethub.split(model, tmp_path / "out", stages=2)
    check(model, tmp_path / "out", feeds)
    message = error_of(command("split", model, "--at", "seq", "-o", tmp_path / "other"))
    assert (
        "only tensors may cross stages, got: 'seq' of node 'seq' (SequenceConstruct) from stage 0 to stage 1" in message
    )

    proto = onnx.load(model)
    proto.graph.node[0].domain, proto.graph.node[0].op_type = "nobody.knows", "Thing"
    proto.opset_import.append(helper.make_opsetid("nobody.knows", 1))
    proto.graph.value_info.append(helper.make_tensor_value_info("d", 1, [2]))
    model.write_bytes(proto.SerializeToString())
    hethub.split(model, tmp_path / "out", at=["d,i"])
    assert onnx.load(tmp_path / "out/stage_0.onnx").graph.node[0].op_type == "Thing"
    message = error_of(command("split", model, "--at", "h", "-o", tmp_path / "other"))
    assert "the type of a value that crosses stages must be known, got none for 'h'" in message
    message = error_of(command("split", model, "--stages", 2, "-o", tmp_path / "other"))
    assert "node 'h' (nobody.knows.Thing)" in message and "--at cuts without costs" in message


def test_weights_stay_in_place(tmp_path):
    """--reference-weights copies nothing; without, each stage has the weights it reads."""
    model = small_models.layers_model(tmp_path / "model.onnx", width=32)
    feeds = small_models.layers_input(width=32)
    hethub.split(model, tmp_path, at=["h_1"], reference_weights=True)
    check(model, tmp_path, feeds)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "model.onnx", "plan.json", "stage_0.onnx", "stage_1.onnx", "stages.json",
    ]  # fmt: skip
    hethub.split(model, tmp_path / "out", at=["h_1"])
    check(model, tmp_path / "out", feeds)
    assert [(tmp_path / f"out/stage_{k}.onnx.data").stat().st_size for k in (0, 1)] == [8192, 8192]
    message = error_of(command("split", model, "--at", "h_1", "--reference-weights", "-o", tmp_path / "out"))
    assert "stages can only point at weights in their own folder or below" in message


def annotate(model: Path, stages: dict[str, int | None], configuration: str = "pipe") -> Path:
    proto = onnx.load(model)
    proto.ir_version = 11
    proto.ClearField("configuration")
    proto.configuration.add(name="pipe", num_devices=2, device=["cpu", "cpu"])
    for found in proto.graph.node:
        found.ClearField("device_configurations")
        if stages.get(found.name) is not None:
            found.device_configurations.add(configuration_id=configuration, pipeline_stage=stages[found.name])
    model.write_bytes(proto.SerializeToString())
    return model


def test_annotated(tmp_path):
    """The stages that the file names are kept, by split and by compile; what contradicts itself is refused."""
    model = residual(tmp_path / "model.onnx")
    good = {"first": 0, "second": 1, "third": 1}
    annotate(model, good)
    feeds = small_models.layers_input(3)
    hethub.split(model, tmp_path / "out", annotated=True, annotate=True)
    manifest = check(model, tmp_path / "out", feeds)
    assert [stage["nodes"] for stage in manifest["stages"]] == [2, 4]  # with the copied Transpose
    # What is written can be read again.
    hethub.split(tmp_path / "out/annotated.onnx", tmp_path / "again", annotated=True)
    assert json.loads((tmp_path / "again/stages.json").read_text())["stages"] == manifest["stages"]
    # Without being asked for they change nothing.
    plan = hethub.plan(model, stages=2, dims={"n": 3}, annotated=True)
    assert [stage["nodes"] for stage in plan["stages"]] == [["turn", "first"], ["second", "third", "last"]]
    for wrong, words in [
        (
            {**good, "first": 1, "second": 0},
            "values must flow to later stages, got: 'a' of node 'first' (MatMul) in stage 1",
        ),
        ({**good, "third": 3}, "pipeline stages must be numbered from 0 without gaps, got no node in stage 2 of 4"),
        ({**good, "third": -1}, "node 'third' (MatMul): pipeline stage must be from 0"),
    ]:
        annotate(model, wrong)
        assert words in error_of(command("split", model, "--annotated", "-o", tmp_path / "other"))
        assert words in error_of(
            command("compile", model, "--annotated", "--stages", 2, "--dim", "n=3", "-o", tmp_path / "c")
        )
    annotate(model, good, "nothing")
    message = error_of(command("split", model, "--annotated", "-o", tmp_path / "other"))
    assert "device configuration must be one that the model declares, got: 'nothing'" in message


def test_compiled_stages(tmp_path):
    """--emit onnx: the model cut as its programs are, whatever was folded or raised on the way."""
    model = residual(tmp_path / "model.onnx")
    feeds = small_models.layers_input(3)
    hethub.compile(model, tmp_path / "out", stages=2, dims={"n": 3}, emit=["onnx"])
    found = hethub.chain(tmp_path / "out", feeds)
    expected = evaluate(model, feeds)
    assert list(found) == ["y", "b"]
    assert same(found, expected)
    assert not (tmp_path / "out/stage_0/program.pb").exists()
    hethub.compile(model, tmp_path / "out", stages=2, dims={"n": 3}, emit=["program", "onnx"])
    assert (tmp_path / "out/stage_1/program.pb").exists() and (tmp_path / "out/stage_1/stage.onnx").exists()
    refused = command(
        "compile", model, "--stages", 2, "--emit", "onnx", "--train", "--loss", "mse", "-o", tmp_path / "t"
    )
    assert "--emit=onnx is for inference" in error_of(refused)


REAL = [
    "gpt2.dyn",
    "minilm.dyn",
    "ocr_recognise.package",
    "bert.legacy",
    "resnet50.static",
    "gpt2.op23",
    "unet.dyn",
]


@pytest.mark.parametrize("spec", [pytest.param(s, marks=[] if s in REAL[:2] else [pytest.mark.wide]) for s in REAL])
@pytest.mark.parametrize("stages", [2, 4])
def test_real_models(spec, stages, tmp_path):
    model = BY_SPEC[spec]
    path = ensure(model)
    hethub.split(path, tmp_path / "out", stages=stages)
    assert len(check(path, tmp_path / "out", example(model))["stages"]) == stages
    dims = fixed_dims(model, example(model))
    hethub.compile(path, tmp_path / "compiled", stages=stages, dims=dims, emit=["onnx"])
    assert len(check(path, tmp_path / "compiled", example(model))["stages"]) == stages
