"""`hethub compile --train`: real models in stages have whole programs and tables, and bad input has one message."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import hethub
import numpy as np
import onnx
import pytest
import small_models
from command import error_of
from command import hethub as command
from hethub import TrainingStep
from model_table import Model, ensure
from onnx import TensorProto, helper, numpy_helper
from stage_program import action, functions, read_stages

MICROBATCHES = 3
# The model, and float initializers that are no parameters: tables that the exporter made of the model's buffers.
NETS = {
    "gpt2.static": (),
    "bert.static": (),
    "resnet50.static": (),
    "mixtral.static": ("unsqueeze_*",),
    "llama_tied.static": ("unsqueeze_*",),
}
CASES = [
    *[(spec, stages, "1f1b") for spec in NETS for stages in (1, 3)],
    *[("gpt2.static", stages, schedule) for stages in (2, 4) for schedule in ("gpipe", "zero-bubble")],
    ("llama_tied.static", 4, "zero-bubble"),
]


def float_initializers(path: Path) -> set[str]:
    graph = onnx.load(path, load_external_data=False).graph
    return {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.FLOAT and tensor.dims}


def trained_by_stage(programs: list) -> list[dict[str, tuple[int, ...]]]:
    """Of each stage: parameters that have gradients, with the stages that share them."""
    return [{p.name: tuple(p.gradient_stages) for p in program.parameters if p.gradient_stages} for program in programs]


def check_slots(program) -> None:
    """What a function reads was saved by one before it, once, and is read by some function; gradients are made once."""
    saved: dict[int, object] = {}
    read, gradients = set(), Counter()
    for function in program.functions:
        for port in function.inputs:
            if port.HasField("saved"):
                assert saved[port.saved] == port.type, port
                read.add(port.saved)
        for port in function.outputs:
            if port.HasField("saved"):
                assert port.saved not in saved
                saved[port.saved] = port.type
            if port.gradient_of:
                assert function.name != "forward"
                gradients[port.gradient_of] += 1
    assert read == set(saved)
    assert gradients == Counter(p.name for p in program.parameters if p.gradient_stages)


def saved_bytes(program) -> int:
    """Of one microbatch, by the forward pass."""
    ports = [port.type for port in functions(program)["forward"].outputs if port.HasField("saved")]
    return sum(math.prod(t.dims) * onnx.helper.tensor_dtype_to_np_dtype(t.dtype).itemsize for t in ports)


def check_table(program, schedule: str) -> None:
    """Each microbatch goes through each function once, each value once over each channel."""
    rows = Counter((action(row.action), row.channel) for row in program.schedule.rows)
    assert not program.schedule.per_microbatch and program.schedule.microbatches == MICROBATCHES
    assert program.training
    assert rows["FORWARD", -1] == rows["BACKWARD", -1] == MICROBATCHES
    assert ("weight" in functions(program)) == (schedule == "zero-bubble")
    assert rows["WEIGHT", -1] == (MICROBATCHES if schedule == "zero-bubble" else 0)
    assert action(program.schedule.rows[-1].action) == "OPTIMIZER_STEP"
    for channel in program.channels:
        kind = "SEND" if channel.from_stage == program.stage else "RECEIVE"
        assert rows[kind, channel.id] == MICROBATCHES
    back = Counter((c.to_stage, c.from_stage) for c in program.channels if c.from_stage > c.to_stage)
    there = Counter((c.from_stage, c.to_stage) for c in program.channels if c.from_stage < c.to_stage)
    assert back <= there


@pytest.mark.parametrize(("spec", "stages", "schedule"), CASES)
def test_programs_and_tables_are_whole(spec: str, stages: int, schedule: str, tmp_path: Path) -> None:
    model = ensure(Model(spec))
    out = hethub.compile(
        model,
        tmp_path / "out",
        stages=stages,
        microbatches=MICROBATCHES,
        training=TrainingStep(loss="cross-entropy", loss_output="logits", schedule=schedule, freeze=NETS[spec]),
    )
    plan = json.loads((out / "plan.json").read_text())
    assert plan["training"] is True and plan["loss"] == "loss" and len(plan["stages"]) == stages
    programs = read_stages(out)
    for program in programs:
        check_slots(program)
        check_table(program, schedule)
        if schedule != "zero-bubble":  # there values wait for the weight program as well
            assert plan["stages"][program.stage]["activation_bytes"] == saved_bytes(program)
        manifest = json.loads((out / f"stage_{program.stage}" / "weights.json").read_text())["parameters"]
        assert {entry["name"] for entry in manifest} == {p.name for p in program.parameters}

    # Every parameter has a gradient, and stages agree on who shares it.
    trained = trained_by_stage(programs)
    expected = {name for name in float_initializers(model) if not name.startswith("unsqueeze_")}
    assert set().union(*trained) == expected
    for stage, names in enumerate(trained):
        for name, sharing in names.items():
            assert stage in sharing
            assert sharing == tuple(k for k in range(stages) if name in trained[k])
    if spec == "llama_tied.static" and stages > 1:
        assert any(len(sharing) > 1 for names in trained for sharing in names.values())

    last = functions(programs[-1])["forward"]
    losses = [port for program in programs for port in functions(program)["forward"].outputs if port.loss]
    assert [port.name for port in losses] == ["loss"] and losses[0] in last.outputs
    assert "labels" in {port.name for port in last.inputs}


def test_training_form(tmp_path: Path) -> None:
    """Running statistics leave the forward pass as new values of their parameters; dropout draws."""
    spec = ensure(Model("resnet50_small.plain"))
    step = TrainingStep(loss="cross-entropy", training_mode=("batch-norm", "dropout"))
    program = read_stages(hethub.compile(spec, tmp_path / "out", stages=1, training=step))[0]
    names = float_initializers(spec)
    updates = [port.update_of for port in functions(program)["forward"].outputs if port.update_of]
    assert Counter(updates) == Counter(name for name in names if "running" in name)
    assert {p.name for p in program.parameters if p.gradient_stages} == {
        name for name in names if "running" not in name
    }
    calls = Counter(i.call.op for f in program.functions for i in f.body)
    assert calls["aten::native_batch_norm"] == len(updates) / 2 > 0
    assert not calls["aten::batch_norm"]


def test_recomputation_is_the_plan_s_choice(tmp_path: Path, layers: Path) -> None:
    """A stage that computes again saves what it receives and nothing else; the other one saves what it computed."""
    training = TrainingStep(loss="mse")
    plan = hethub.plan(layers, tmp_path / "plan.json", stages=2, training=training)
    plan["stages"][0]["recompute"] = True
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    out = hethub.compile(layers, tmp_path / "out", stages=2, plan_file=tmp_path / "plan.json", training=training)
    again, kept = ([p.name for p in functions(s)["forward"].outputs if p.HasField("saved")] for s in read_stages(out))
    assert again == ["x"]
    assert len(kept) > 2
    ops = [i.call.op for i in functions(read_stages(out)[0])["backward"].body]
    assert "aten::relu" in ops and "aten::threshold_backward" in ops


def test_frozen_parameters(tmp_path: Path, layers: Path) -> None:
    step = TrainingStep(loss="mse", freeze=("w_0", "b_?"))
    programs = read_stages(hethub.compile(layers, tmp_path / "out", stages=2, training=step))
    assert set().union(*trained_by_stage(programs)) == {"w_1", "w_2", "w_3"}


def test_frozen_layers_have_no_backward_pass(tmp_path: Path, layers: Path) -> None:
    """The last layer learns on what the others give: their stage goes forward only, in the plan and in the table."""
    step = TrainingStep(loss="mse", freeze=("[wb]_[012]",))
    stages = [{"device_type": "cpu"}, {"device_type": "cpu", "first": "matmul_3"}]
    plan = hethub.plan(layers, stages=2, training=TrainingStep(loss="mse"))
    names = [name for stage in plan["stages"] for name in stage["nodes"]]
    stages[1]["first"] = names[names.index("relu_2") + 1]
    (tmp_path / "own.json").write_text(json.dumps({"stages": stages}))
    out = hethub.compile(
        layers, tmp_path / "out", stages=2, plan_file=tmp_path / "own.json", microbatches=2, training=step
    )
    first, last = read_stages(out)
    assert set(functions(first)) == {"forward"} and "backward" in functions(last)
    assert {action(row.action) for row in first.schedule.rows} == {"FORWARD", "SEND", "OPTIMIZER_STEP"}
    planned = json.loads((out / "plan.json").read_text())["stages"]
    assert planned[0]["backward_seconds"] == 0 < planned[1]["backward_seconds"]


def branch(operator: str, *inputs: str) -> onnx.GraphProto:
    """A sub-graph that applies an operator to the outer value "scaled"."""
    value = helper.make_tensor_value_info(f"in_{operator}", 1, [3, 3])
    return helper.make_graph([helper.make_node(operator, ["scaled", *inputs], [value.name])], operator, [], [value])


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A choice at run time, with random numbers, on the way to one output; integers and a scalar as others."""
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32), "w")
    ratio = numpy_helper.from_array(np.array(0.5, dtype=np.float32), "ratio")
    training = numpy_helper.from_array(np.array(True), "training")
    then, other = branch("Dropout", "ratio", "training"), branch("Exp")
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["scaled"], name="scale"),
        helper.make_node("If", ["flag"], ["chosen"], name="choice", then_branch=then, else_branch=other),
        helper.make_node("ReduceSum", ["chosen"], ["sum"], name="sum_of_choice", keepdims=0),
        helper.make_node("ArgMax", ["scaled"], ["best"], name="choose", axis=1),
        helper.make_node("ReduceSum", ["x"], ["total"], name="sum_of_x", keepdims=0),
    ]
    return small_models.save_graph(
        tmp_path_factory.mktemp("odd") / "model.onnx",
        nodes,
        {"x": (TensorProto.FLOAT, [3, 3]), "flag": (TensorProto.BOOL, [])},
        {"sum": (1, []), "best": (TensorProto.INT64, [3, 1]), "scaled": (1, [3, 3]), "total": (1, [])},
        [weight, ratio, training],
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loss-output", "best"], "the loss must be a float scalar, or be made of an output"),
        (["--loss-output", "scaled"], "the loss must be a float scalar, or be made of an output"),
        (["--loss", "mse", "--loss-output", "none"], "there are: 'sum', 'best', 'scaled', 'total'; got: 'none'"),
        (["--loss", "mse"], "the output that makes the loss must be named (--loss-output), got: 'sum', 'best'"),
        ([], "the output that makes the loss must be named (--loss-output), got: 'sum', 'total'"),
        (
            ["--loss-output", "total"],
            "the loss must depend on a parameter that is trained, got none that a gradient reaches",
        ),
        (
            ["--loss-output", "sum"],
            "node 'choice': hh.if cannot be differentiated: a gradient cannot pass a branch that draws random numbers",
        ),
        (
            ["--loss", "mse", "--loss-output", "scaled", "--freeze", "v*"],
            "a pattern of frozen parameters must match one, got: 'v*'",
        ),
        (["--loss", "mse", "--loss-output", "scaled", "--freeze", "*"], "a parameter must be left to train, got none"),
        (["--training-mode", "norm"], "operators in training form must be batch-norm or dropout, got: norm"),
        (["--microbatches", "0"], "microbatches must be at least 1, got: 0"),
    ],
)
def test_bad_input(odd: Path, tmp_path: Path, options: list[str], message: str) -> None:
    result = command("compile", odd, "--stages", 1, "--train", "-o", tmp_path / "out", *options)
    assert message in error_of(result)
    assert not (tmp_path / "out").exists()


def test_open_dimensions_are_told_as_in_inference(tmp_path: Path) -> None:
    model = ensure(Model("gpt2.dyn"))
    result = command("compile", model, "--stages", 1, "--train", "--loss", "cross-entropy", "-o", tmp_path / "out")
    assert "symbolic dimensions 'batch', 'seq' have no size: give --dim batch=N --dim seq=N" in error_of(result)


def test_training_options_need_train(odd: Path, tmp_path: Path) -> None:
    result = command("compile", odd, "--stages", 1, "--loss", "mse", "-o", tmp_path / "out")
    assert error_of(result) == "--loss needs --train"


def test_fewer_microbatches_than_stages(layers: Path, tmp_path: Path) -> None:
    options = ["--train", "--loss", "mse", "--stages", 3, "--microbatches", 2]
    result = command("compile", layers, *options, "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert "hethub: warning: " in result.stderr
    assert "microbatches should be at least the number of stages, 3, got: 2" in result.stderr
    assert len(read_stages(tmp_path / "out")) == 3


def test_other_outputs_are_named(odd: Path, tmp_path: Path) -> None:
    result = command(
        "compile", odd, "--stages", 1, "--train", "--loss", "mse", "--loss-output", "scaled", "-o", tmp_path / "out"
    )
    assert result.returncode == 0, result.stderr
    said = "outputs that are not the loss are left out of the training step: 'sum', 'best', 'total'"
    assert said in result.stderr
    program = read_stages(tmp_path / "out")[0]
    assert {i.call.op for i in functions(program)["forward"].body}.isdisjoint({"aten::exp", "aten::argmax"})
