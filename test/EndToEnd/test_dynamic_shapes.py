"""What only a run knows: open dimensions, sizes that follow from data, loops, sequences, strings."""

from __future__ import annotations

from pathlib import Path

import hethub
import numpy as np
import onnx
import onnx.parser
import oracle
import pytest
from command import error_of
from command import hethub as command
from model_table import BY_SPEC, ensure, example
from node_programs import beside

LAYERS = """
    <ir_version: 10, opset_import: ["": 20]>
    layers (float[batch, 6] x) => (float[batch, 6] y)
    <float[6, 6] w = {WEIGHTS}>
    {
        a = MatMul (x, w)
        b = Relu (a)
        s = Shape (b)
        one = Constant <value_ints = [1]> ()
        wide = Concat <axis = 0> (s, one)
        c = Reshape (b, wide)
        axes = Constant <value_ints = [2]> ()
        d = Squeeze (c, axes)
        e = MatMul (d, w)
        m = ReduceMean <keepdims = 1> (e, one)
        y = Sub (e, m)
    }
"""
LAYERS = LAYERS.replace("WEIGHTS", ", ".join(f"{value:.3f}" for value in np.random.default_rng(3).standard_normal(36)))

# Halves x until the sum is small: how often depends on the data; what each iteration has is stacked.
HALVING = """
    <ir_version: 10, opset_import: ["": 20]>
    halving (float[4] x) => (float[4] last, float[count, 4] all, int64 steps)
    <int64 most = {50}, bool go = {1}, float half = {0.5}, float limit = {1}, int64 none = {0}, int64 next = {1}>
    {
        last, steps, all = Loop (most, go, x, none) <body = body (int64 i, bool before, float[4] v, int64 n)
            => (bool again, float[4] w, int64 more, float[4] kept) {
            w = Mul (v, half)
            total = ReduceSum <keepdims = 0> (w)
            again = Greater (total, limit)
            more = Add (n, next)
            kept = Identity (w)
        }>
    }
"""

# The rows in which something is above 0, twice where their sum is: sizes follow from the data.
ROWS = """
    <ir_version: 10, opset_import: ["": 20]>
    rows (float[5, 3] x) => (float[kept, 3] y, int64[two, kept] where)
    <float zero = {0}, int64[1] axis = {1}>
    {
        best = ReduceMax <keepdims = 0> (x, axis)
        chosen = Greater (best, zero)
        all = NonZero (chosen)
        where = Concat <axis = 0> (all, all)
        row = Squeeze (all)
        picked = Gather <axis = 0> (x, row)
        y = Mul (picked, picked)
    }
"""

# Pieces of run-time lengths, each scaled by how many there are, joined again in reverse order.
PIECES = """
    <ir_version: 10, opset_import: ["": 20]>
    pieces (float[7, 2] x, int64[3] lengths) => (float[rows, 2] y)
    <bool go = {1}, int64 last = {-1}>
    {
        parts = SplitToSequence <axis = 0> (x, lengths)
        count = SequenceLength (parts)
        empty = SequenceEmpty ()
        left, turned = Loop (count, go, parts, empty) <body = body
            (int64 i, bool c, seq(float[n, 2]) rest, seq(float[n, 2]) made)
            => (bool d, seq(float[n, 2]) fewer, seq(float[n, 2]) more) {
            d = Identity (c)
            piece = SequenceAt (rest, last)
            fewer = SequenceErase (rest)
            number = Cast <to = 1> (count)
            scaled = Mul (piece, number)
            more = SequenceInsert (made, scaled)
        }>
        y = ConcatFromSequence <axis = 0> (turned)
    }
"""

TEXT = """
    <ir_version: 10, opset_import: ["": 20]>
    text (string[2, 2] a, string[2, 1] b) => (string[2, 2] joined, bool[2, 2] plain, bool[2, 2] same)
    {
        joined = StringConcat (a, b)
        plain = RegexFullMatch <pattern = "[a-z]+"> (joined)
        c = StringConcat (b, a)
        same = Equal (joined, c)
    }
"""


def save(path: Path, text: str) -> Path:
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


INPUTS = {
    "halving": [HALVING, [{"x": np.float32([1, 2, 3, 40])}, {"x": np.float32([0, 0, 0, 0.1])}]],
    "rows": [ROWS, [{"x": floats(5, 3)}, {"x": np.abs(floats(5, 3))}]],
    "pieces": [PIECES, [{"x": floats(7, 2), "lengths": np.int64(n)} for n in ([1, 2, 4], [5, 1, 1])]],
    "text": [TEXT, [{"a": np.array([["a", "b"], ["é", ""]]), "b": np.array([["a"], ["€"]])}]],
}


def reference(path: Path, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    as_objects = {name: x.astype(object) if x.dtype.kind == "U" else x for name, x in inputs.items()}
    return {
        name: x.astype(str) if x.dtype == object else x for name, x in oracle.reference_once(path, as_objects).items()
    }


@pytest.mark.parametrize("name", INPUTS)
def test_program_files(name: str, tmp_path: Path) -> None:
    text, runs = INPUTS[name]
    model = save(tmp_path / "model.onnx", text)
    out = hethub.compile(model, tmp_path / "out", stages=1, emit=("program",))
    for inputs in runs:
        oracle.assert_close(hethub.run(out, inputs, engine="program").outputs, reference(model, inputs))


def test_cpp(tmp_path: Path) -> None:
    """All of them in one program, since LibTorch's headers take long to compile."""
    path = tmp_path / "model.onnx"
    onnx.save(beside([onnx.parser.parse_model(INPUTS[name][0]) for name in INPUTS], [f"{n}_" for n in INPUTS]), path)
    inputs = {f"{name}_{key}": value for name in INPUTS for key, value in INPUTS[name][1][0].items()}
    out = hethub.compile(path, tmp_path / "out", stages=1, emit=("program", "cpp"))
    hethub.build(out)
    outputs = hethub.run(out, inputs, engine="cpp").outputs
    oracle.assert_close(outputs, reference(path, inputs))
    oracle.assert_same_bits(hethub.run(out, inputs, engine="program").outputs, outputs)


@pytest.mark.parametrize("stages", [1, 2])
def test_open_batch(stages: int, tmp_path: Path) -> None:
    """One program takes any batch; stages send tensors of the true shapes."""
    model = save(tmp_path / "model.onnx", LAYERS)
    out = hethub.compile(model, tmp_path / "out", stages=stages, dims={"batch": "?"}, emit=("program",))
    assert len(hethub.output.OutputFolder.read(out).plan["stages"]) == stages
    for batch in (1, 3, 8):
        inputs = {"x": floats(batch, 6)}
        oracle.assert_close(hethub.run(out, inputs, engine="program").outputs, reference(model, inputs))


@pytest.mark.parametrize("spec", ["gpt2.dyn", "llama.dyn", "vit.dyn"])
def test_real_models_take_any_batch_and_length(spec: str, tmp_path: Path) -> None:
    model = BY_SPEC[spec]
    path = ensure(model)
    out = hethub.compile(path, tmp_path / "out", stages=2, dims={"*": "?"}, emit=("program",))
    whole = example(model)
    token_models = spec != "vit.dyn"
    parts = [{name: x[:1, :5] if token_models else x[:1] for name, x in whole.items()}, whole]
    for inputs in parts:
        outputs = hethub.run(out, inputs, engine="program").outputs
        oracle.assert_close(outputs, oracle.reference_once(path, inputs), model.atol)


def test_open_image(tmp_path: Path) -> None:
    """Windows over axes of any size, with pads that are written out."""
    text = """
        <ir_version: 10, opset_import: ["": 20]>
        image (float[n, 1, h, w] x) => (float[n, 2] y)
        <float[2, 1, 3, 3] k = {KERNEL}, float[2, 2, 2, 2] t = {TRANSPOSED}>
        {
            a = Conv <pads = [1, 0, 1, 2], strides = [2, 1]> (x, k)
            b = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (a)
            c = ConvTranspose <strides = [2, 2]> (b, t)
            d = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (c)
            e = GlobalAveragePool (d)
            y = Flatten (e)
        }
    """
    for name, count in (("KERNEL", 18), ("TRANSPOSED", 16)):
        text = text.replace(name, ", ".join(f"{value:.3f}" for value in floats(count)))
    model = save(tmp_path / "model.onnx", text)
    out = hethub.compile(model, tmp_path / "out", stages=1, dims={"*": "?"}, emit=("program",))
    for shape in ((1, 1, 8, 9), (3, 1, 13, 6)):
        inputs = {"x": floats(*shape)}
        oracle.assert_close(hethub.run(out, inputs, engine="program").outputs, reference(model, inputs))


def test_typical_sizes_are_for_costs_alone(tmp_path: Path) -> None:
    model = save(tmp_path / "model.onnx", LAYERS)
    seconds = {}
    for dim in ("?", "?64", "?4096", "4096"):
        out = hethub.compile(
            model, tmp_path / dim.replace("?", "open"), stages=1, dims={"batch": dim}, emit=("program",)
        )
        seconds[dim] = hethub.output.OutputFolder.read(out).plan["step_seconds"]
    assert seconds["?"] <= seconds["?64"] < seconds["?4096"]
    assert seconds["?4096"] == pytest.approx(seconds["4096"], rel=0.5)
    inputs = {"x": floats(3, 6)}
    outputs = hethub.run(tmp_path / "open64", inputs, engine="program").outputs
    oracle.assert_close(outputs, reference(model, inputs))


def test_open_dimensions_are_asked_for(tmp_path: Path) -> None:
    model = save(tmp_path / "model.onnx", LAYERS)
    message = error_of(command("compile", model, "--stages", 1, "-o", tmp_path / "out"))
    assert (
        "symbolic dimension 'batch' has no size: give --dim batch=N (or =? where programs shall take any size)"
        in message
    )
    assert not (tmp_path / "out").exists()


def test_run_time_mistakes_name_the_node(tmp_path: Path) -> None:
    model = save(tmp_path / "model.onnx", PIECES)
    out = hethub.compile(model, tmp_path / "out", stages=1, emit=("program",))
    with pytest.raises(hethub.HetHubError, match=r"sizes of a split must sum up to 7"):
        hethub.run(out, {"x": floats(7, 2), "lengths": np.int64([1, 1, 1])}, engine="program")
