"""What is imported and exported says what the file said, and computes what it computed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import exported
import numpy as np
import onnx
import pytest
from hethub import tools
from model_table import MODELS, ensure, example
from onnx import TensorProto, helper, numpy_helper
from onnx_content import content, differences

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, kind=FLOAT, shape=("batch", 4), **texts):
    info = helper.make_tensor_value_info(name, kind, shape)
    info.doc_string = texts.get("doc", "")
    for key, text in texts.get("metadata", {}).items():
        info.metadata_props.add(key=key, value=text)
    return info


def save(path: Path, nodes, inputs, outputs, weights=(), opset=20, **model) -> Path:
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(weights), value_info=model.pop("value_info", ()))
    opsets = [helper.make_opsetid("", opset), *model.pop("opsets", ())]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=model.pop("ir_version", 10), **model)
    path.write_bytes(proto.SerializeToString())
    return path


def weight(name, shape, dtype=np.float32, seed=0):
    return numpy_helper.from_array(np.random.default_rng(seed).standard_normal(shape).astype(dtype), name)


def check(path: Path) -> onnx.ModelProto:
    assert exported.round_trip(path, path.with_name("exported.onnx")) == []
    return onnx.load(path.with_name("exported.onnx"), load_external_data=False)


def test_texts(tmp_path):
    """Docs and metadata of model, graph, nodes, values and weights; names of dims; declared types; producer."""
    path = tmp_path / "model.onnx"
    named = helper.make_node("Relu", ["h"], ["y"], name="last", doc_string="the last one")
    named.metadata_props.add(key="namespace", value=": M/relu: Relu")
    named.metadata_props.add(key="empty", value="")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),  # without a name
        named,
        helper.make_node("Neg", ["y"], ["z"], name="z"),  # called like its result
    ]
    w = weight("w", (4, 4))
    w.doc_string = "kernel"
    save(
        path,
        nodes,
        [value("x", doc="the input", metadata={"unit": "m"})],
        [value("z", doc="the output")],
        [w, weight("unread", (2,)), numpy_helper.from_array(np.asarray([3], np.int64), "unread_number")],
        value_info=[value("h", shape=("batch", None), doc="hidden", metadata={"a": "b"})],
        producer_name="us",
        producer_version="1.2",
        domain="org.test",
        model_version=7,
        doc_string="a model",
    )
    proto = onnx.load(path)
    proto.metadata_props.add(key="licence", value='none\n"quoted" \\ \u00e4')
    proto.graph.metadata_props.add(key="of", value="graph")
    proto.graph.doc_string = "a graph"
    proto.graph.quantization_annotation.add(tensor_name="h").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="w"
    )
    path.write_bytes(proto.SerializeToString())
    found = check(path)
    assert [n.name for n in found.graph.node] == ["", "last", "z"]
    assert found.graph.value_info[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_external_data_is_not_copied(tmp_path):
    """Weights stay where they are: slices of a file beside the model, or of the model itself."""
    w = weight("w", (64, 64))
    (tmp_path / "data").mkdir()
    (tmp_path / "data/weights.bin").write_bytes(b"\0" * 512 + w.raw_data)
    inline = weight("inline", (64,) * 2, seed=1)
    outside = TensorProto(name="w", data_type=FLOAT, dims=(64, 64), data_location=TensorProto.EXTERNAL)
    for key, text in (("location", "data/weights.bin"), ("offset", "512"), ("length", str(64 * 64 * 4))):
        outside.external_data.add(key=key, value=text)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "inline"], ["y"])]
    ports = [value("x", shape=(2, 64))], [value("y", shape=(2, 64))]
    path = save(tmp_path / "model.onnx", nodes, *ports, [outside, inline])
    found = check(path)
    where = {t.name: {e.key: e.value for e in t.external_data} for t in found.graph.initializer}
    assert where["w"] == {"location": "data/weights.bin", "offset": "512", "length": "16384"}
    assert where["inline"]["location"] == "model.onnx"
    assert (tmp_path / "exported.onnx").stat().st_size < 2048
    feeds = {"x": np.random.default_rng(2).standard_normal((2, 64), np.float32)}
    expected = exported.evaluate(path, feeds)
    assert exported.same(exported.evaluate(tmp_path / "exported.onnx", feeds), expected)

    # In another folder only a copy can be pointed at.
    (tmp_path / "other").mkdir()
    other = tmp_path / "other/model.onnx"
    refused = exported.export(path, other)
    assert refused.returncode == 1
    assert "an ONNX file can only point at data in its own folder or below" in refused.stderr
    assert "--pack-weights" in refused.stderr
    assert list(other.parent.iterdir()) == []
    assert exported.export(path, other, "--opset=own", "--pack-weights").returncode == 0
    assert sorted(p.name for p in other.parent.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert differences(content(path), content(other)) == []
    assert exported.same(exported.evaluate(other, feeds), expected)
    # Never over what is read.
    assert "must not replace a file that holds the model's weights" in exported.export(path, path).stderr
    assert differences(content(path), content(other)) == []


def test_memory_does_not_grow_with_weights(tmp_path):
    """64 GiB of weights are exported by a process of 2 GiB of address space."""
    shape = (1 << 17, 1 << 16)
    bytes_each = 2 * shape[0] * shape[1]
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(4 * bytes_each)
    tensors = []
    for k in range(4):
        tensor = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT16, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.bin")
        tensor.external_data.add(key="offset", value=str(bytes_each * k))
        tensors.append(tensor)
    nodes = [helper.make_node("Gather", [f"w{k}", "ids"], [f"y{k}"]) for k in range(4)]
    outputs = [value(f"y{k}", TensorProto.FLOAT16, ("n", shape[1])) for k in range(4)]
    path = save(tmp_path / "model.onnx", nodes, [value("ids", INT64, ("n",))], outputs, tensors)
    export = [str(tools.find("hh-translate")), f"--export-onnx={path}", "-o", str(tmp_path / "exported.onnx")]
    limited = ["sh", "-c", 'ulimit -v 2097152; exec "$@"', "sh", *export]
    done = subprocess.run(limited, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = onnx.load(tmp_path / "exported.onnx", load_external_data=False).graph.initializer
    assert [t.external_data[1].value for t in found] == [str(bytes_each * k) for k in range(4)]
    # Nor do stages that point at the same data; equal devices stand for any, whatever they hold.
    cut = [str(tools.find("hh-split")), str(path), "--stages=2", "--reference-weights", "-o", str(tmp_path)]
    done = subprocess.run([*limited[:4], *cut], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_sub_graphs(tmp_path):
    """If, Loop and Scan: names, docs and declared types inside, captured values, weights of sub-graphs, equal names in
    both branches, an outer value as a result."""

    def branch(name, scale):
        inner = numpy_helper.from_array(np.full((4,), scale, np.float32), "c")
        graph = helper.make_graph(
            [helper.make_node("Mul", ["h", "c"], ["inner"], name="mul"), helper.make_node("Neg", ["inner"], ["out"])],
            name,
            [],
            [value("out", shape=("batch", 4), doc=name)],
            [inner],
            value_info=[value("inner")],
        )
        graph.metadata_props.add(key="k", value=name)
        return graph

    body = helper.make_graph(
        [
            helper.make_node("Add", ["state", "h"], ["next"]),
            helper.make_node("Identity", ["keep_going"], ["go_on"]),
            helper.make_node("Constant", [], ["two"], value_float=2.0),
            helper.make_node("Mul", ["next", "two"], ["row"]),
        ],
        "body",
        [value("i", INT64, ()), value("keep_going", TensorProto.BOOL, ()), value("state")],
        [value("go_on", TensorProto.BOOL, ()), value("next"), value("row")],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("If", ["flag"], ["a"], then_branch=branch("yes", 2), else_branch=branch("no", 3)),
        helper.make_node("Loop", ["trips", "", "a"], ["b", "rows"], body=body, name="loop"),
    ]
    path = save(
        tmp_path / "model.onnx",
        nodes,
        [value("x"), value("flag", TensorProto.BOOL, ())],
        [value("b"), value("rows", shape=(None, "batch", 4))],
        [numpy_helper.from_array(np.asarray(3, np.int64), "trips")],
    )
    check(path)
    for flag in (True, False):
        feeds = {"x": np.ones((2, 4), np.float32), "flag": np.asarray(flag)}
        mine = exported.evaluate(tmp_path / "exported.onnx", feeds)
        assert exported.same(mine, exported.evaluate(path, feeds))


def test_constants(tmp_path):
    """Each form of Constant stays what it is."""
    forms = {
        "value_int": 5,
        "value_ints": [1, 2, 3],
        "value_float": 0.5,
        "value_floats": [0.25, -1.0],
        "value_string": b"text",
        "value_strings": [b"a", b"\xff\x00b"],
        "value": numpy_helper.from_array(np.asarray([[1.5, float("nan")]], np.float32)),
    }
    nodes = [helper.make_node("Constant", [], [name], name=f"node_{name}", **{name: v}) for name, v in forms.items()]
    kinds = {"value_int": INT64, "value_ints": INT64, "value_string": 8, "value_strings": 8}
    shapes = {"value_int": (), "value_float": (), "value_string": (), "value_ints": (3,), "value": (1, 2)}
    outputs = [value(name, kinds.get(name, FLOAT), shapes.get(name, (2,))) for name in forms]
    path = save(tmp_path / "model.onnx", nodes, [], outputs)
    found = check(path)
    assert [a.name for n in found.graph.node for a in n.attribute] == list(forms)


def test_default_inputs(tmp_path):
    """A weight that is an input too is one again, in its place; version 3 of the format asks for that."""
    nodes = [helper.make_node("Add", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "v"], ["y"])]
    ports = [value("w", shape=(4,)), value("x"), value("v", shape=(4,))], [value("y")]
    for version in (3, 8):
        path = save(
            tmp_path / "model.onnx", nodes, *ports, [weight("w", (4,)), weight("v", (4,))], 9, ir_version=version
        )
        found = check(path)
        assert [i.name for i in found.graph.input] == ["w", "x", "v"]
        assert found.ir_version == version


def test_kinds_of_values(tmp_path):
    """Sequences, optionals, strings, and types of elements that are packed or that NumPy lacks."""
    sequence = helper.make_tensor_sequence_value_info("seq", FLOAT, ["n", 4])
    optional = helper.make_value_info("maybe", helper.make_optional_type_proto(sequence.type))
    nodes = [
        helper.make_node("SplitToSequence", ["x", "parts"], ["seq"], axis=0),
        helper.make_node("Optional", ["seq"], ["maybe"]),
        helper.make_node("SequenceLength", ["seq"], ["length"]),
        helper.make_node("DequantizeLinear", ["q", "s"], ["d"]),
        helper.make_node("Cast", ["e"], ["f"], to=FLOAT),
        helper.make_node("Equal", ["words", "text"], ["same"]),
    ]
    nibbles = TensorProto(name="q", data_type=TensorProto.INT4, dims=(5,), raw_data=b"\x21\xf3\x07")
    e4 = helper.make_tensor("e", TensorProto.FLOAT8E4M3FN, (3,), [1.0, -2.0, 448.0])
    text = helper.make_tensor("text", TensorProto.STRING, (2,), [b"a", b"\xc3\xa4"])
    parts = numpy_helper.from_array(np.asarray([1, 1], np.int64), "parts")
    path = save(
        tmp_path / "model.onnx",
        nodes,
        [value("x", shape=(2, 4)), value("words", TensorProto.STRING, (2,))],
        [
            optional,
            value("length", INT64, ()),
            value("d", shape=(5,)),
            value("f", shape=(3,)),
            value("same", TensorProto.BOOL, (2,)),
        ],
        [parts, nibbles, weight("s", ()), e4, text],
        21,
        value_info=[sequence],
    )
    check(path)


def test_annotations(tmp_path):
    """Stages and shards on nodes, and the configurations that they are of."""
    nodes = [helper.make_node("Relu", ["x"], ["h"], name="a"), helper.make_node("Neg", ["h"], ["y"], name="b")]
    path = save(tmp_path / "model.onnx", nodes, [value("x")], [value("y")], opset=17, ir_version=11)
    proto = onnx.load(path)
    proto.configuration.add(name="pipe", num_devices=2, device=["left", "right"])
    for stage, node in enumerate(proto.graph.node):
        device = node.device_configurations.add(configuration_id="pipe", pipeline_stage=stage)
        shards = device.sharding_spec.add(tensor_name="h", device=[0, 1])
        shards.sharded_dim.add(axis=0).simple_sharding.add(dim_param="batch", num_shards=2)
    path.write_bytes(proto.SerializeToString())
    check(path)


def test_other_opsets(tmp_path):
    """The newest opset unless another is asked for, which all nodes must be of."""
    nodes = [helper.make_node("Gelu", ["x"], ["h"], name="gelu"), helper.make_node("Relu", ["h"], ["y"])]
    path = save(tmp_path / "model.onnx", nodes, [value("x")], [value("y")], opset=20)
    output = tmp_path / "exported.onnx"

    def opset(*options: str) -> int:
        done = exported.export(path, output, *options)
        assert done.returncode == 0, done.stderr
        onnx.checker.check_model(str(output))
        return onnx.load(output).opset_import[0].version

    assert opset() == onnx.defs.onnx_opset_version()
    assert opset("--opset=own") == 20
    assert opset("--opset=22") == 22
    refused = exported.export(path, output, "--opset=17")
    assert refused.returncode == 1
    assert "node must be one of opset 17, but needs 20: Gelu" in refused.stderr
    for wrong in ("0", "99", "x"):
        assert exported.export(path, output, f"--opset={wrong}").returncode == 1


QUICK = {"gpt2.dyn", "llama.static", "magika.package", "ocr_recognise.package", "minilm.dyn", "lstm_tagger.legacy"}


@pytest.mark.parametrize(
    "spec",
    [pytest.param(m.spec, marks=[] if m.spec in QUICK else [pytest.mark.wide]) for m in MODELS],
)
def test_models(spec, tmp_path):
    """Real models: the same content, and onnxruntime's answer to the bit."""
    model = next(m for m in MODELS if m.spec == spec)
    path = ensure(model)
    output = path.with_name("exported_" + tmp_path.name + ".onnx")
    try:
        assert exported.lost(path, output) == []
        feeds = example(model)
        assert exported.same(exported.evaluate(output, feeds), exported.evaluate(path, feeds))
    finally:
        output.unlink(missing_ok=True)
        output.with_name("again_" + output.name).unlink(missing_ok=True)
