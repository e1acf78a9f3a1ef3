"""`hethub predict` on models, folders and plans, and what it refuses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import hethub
import pytest
import small_models
from command import error_of
from command import hethub as command

STAGE_FIGURES = {
    "busy_seconds",
    "busy_share",
    "imbalance",
    "fill_seconds",
    "drain_seconds",
    "idle_seconds",
    "receive_seconds",
    "all_reduce_seconds",
    "optimizer_seconds",
    "in_flight",
    "peak_bytes",
    "process_bytes",
    "memory_limit_bytes",
}
RUNTIME = {"microbatch_s": 0.5, "send_s": 0.25, "send_s_per_byte": 0, "latency_s": 1.25, "bytes_per_s": 1e9}


@pytest.fixture
def measured(tmp_path: Path, layers: Path) -> Path:
    """A cluster of two devices on which each operation takes a second, and the runtime what RUNTIME says."""
    content = hethub.profile(layers, tmp_path / "host.json", repeats=1)
    for entry in content["ops"].values():
        entry["forward_s"] = 1.0
    (tmp_path / "host.json").write_text(json.dumps(content | {"runtime": RUNTIME}))
    cluster = tmp_path / "cluster.yaml"
    cluster.write_text("devices:\n  - {name: cpu, kind: cpu, count: 2, memory: 1 GiB, profile: host.json}\n")
    return cluster


def test_prediction_of_known_costs(tmp_path: Path, layers: Path, measured: Path) -> None:
    operations = 2 * small_models.LAYERS
    step = hethub.predict(layers, cluster=measured, stages=2, microbatches=3, trace=tmp_path / "trace.json")
    # Two stages of four operations each: three microbatches, each with its overhead and its sending, through the first
    # one, and the last of them on its way (a second less the quarter for sending) and through the second one.
    stage = operations / 2 + 0.5
    assert step["step_seconds"] == pytest.approx(3 * (stage + 0.25) + 1.0 + stage, rel=1e-3)
    assert step["steady_step_seconds"] == pytest.approx(3 * (stage + 0.25), rel=1e-3)
    assert step["bottleneck_stage"] == 0
    for k, figures in enumerate(step["stages"]):
        assert figures.keys() >= STAGE_FIGURES
        assert all(math.isfinite(figures[name]) and figures[name] >= 0 for name in STAGE_FIGURES)
        assert figures["busy_seconds"] == pytest.approx(3 * (stage + (0.25 if k == 0 else 0)))
        assert 0 < figures["peak_bytes"] < 1 << 20
        assert figures["fits"]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    forwards = [event for event in slices if event["cat"] == "forward"]
    assert len(forwards) == 6
    end = max(event["ts"] + event["dur"] for event in slices)
    assert end == pytest.approx(step["step_seconds"] * 1e6)


def test_a_folder_and_its_plan_predict_alike(tmp_path: Path, layers: Path, measured: Path) -> None:
    out = hethub.compile(layers, tmp_path / "out", cluster=measured, stages=2, emit=("program",))
    step = hethub.predict(out, microbatches=5)
    assert step == hethub.predict(out / "plan.json", microbatches=5)
    assert step["step_seconds"] == pytest.approx(
        hethub.predict(layers, cluster=measured, stages=2, microbatches=5)["step_seconds"]
    )


def test_simulated_rows_are_those_of_the_program(tmp_path: Path, layers: Path, measured: Path) -> None:
    """The trace has the rows that the runtime executes: schedule.json, for each microbatch."""
    out = hethub.compile(layers, tmp_path / "out", cluster=measured, stages=2, emit=("program",))
    trace = tmp_path / "trace.json"
    hethub.predict(out, microbatches=2, trace=trace)
    rows = json.loads((out / "schedule.json").read_text())["rows"]
    slices = [event for event in json.loads(trace.read_text())["traceEvents"] if event["ph"] == "X"]
    for stage in range(2):
        wanted = sorted(2 * [row["action"].lower() for row in rows if row["stage"] == stage])
        assert sorted(event["cat"] for event in slices if event["pid"] == stage) == wanted


def test_training_plans(tmp_path: Path) -> None:
    stage = {"device_type": "a", "forward_seconds": 1, "backward_seconds": 2, "in_flight": 2, "optimizer_seconds": 0.5}
    memory = {"parameter_bytes": 10, "activation_bytes": 100, "workspace_bytes": 1, "memory_bytes": 241}
    plan = {
        "training": True,
        "microbatches": 4,
        "stages": [stage | memory, stage | memory | {"in_flight": 1, "memory_bytes": 141}],
    }
    message = {"value": "x", "from_stage": 0, "to_stage": 1, "bytes": 4, "seconds": 0}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan | {"messages": [message]}))
    step = hethub.predict(file)
    assert step["step_seconds"] == pytest.approx((4 + 2 - 1) * 3 + 0.5)
    assert [figures["in_flight"] for figures in step["stages"]] == [2, 1]
    assert [figures["peak_bytes"] for figures in step["stages"]] == [241, 141]
    table = command("predict", file)
    assert table.returncode == 0, table.stderr
    assert "all-reduce ms" in table.stdout
    assert "step of 4 microbatches: 15500.0 ms" in table.stdout
    # Backwards in two parts: (S - 1) (f + b - w) beside the work, in as many microbatches as fit in memory.
    halves = [s | {"weight_seconds": 1, "memory_limit_bytes": 300} for s in plan["stages"]]
    file.write_text(json.dumps(plan | {"messages": [message], "schedule": "zero-bubble", "stages": halves}))
    step = hethub.predict(file)
    assert step["schedule"] == "zero-bubble"
    assert step["step_seconds"] == pytest.approx(4 * 3 + 1 + 0.5)
    assert all(figures["peak_bytes"] <= 300 for figures in step["stages"])
    step = hethub.predict(file, schedule="gpipe")
    assert step["step_seconds"] == pytest.approx((4 + 2 - 1) * 3 + 0.5)
    assert [figures["in_flight"] for figures in step["stages"]] == [4, 4]
    assert [figures["fits"] for figures in step["stages"]] == [False, False]


GOOD = {"device_type": "a", "forward_seconds": 1.0, "memory_bytes": 8}
BAD_PLANS = [
    ("{", "not JSON"),
    ({"stages": []}, "a plan must have a list of at least one stage"),
    ({"stages": [{"device_type": "a"}]}, "stage 0: forward_seconds is missing"),
    (
        {"stages": [GOOD, GOOD | {"forward_seconds": -1}]},
        "stage 1: forward_seconds must be a number of at least 0, got: -1",
    ),
    ({"stages": [GOOD | {"replicas": 0}]}, "stage 0: replicas must be a whole number from 1, got: 0"),
    ({"stages": [GOOD | {"replicas": 1e30}]}, "stage 0: replicas must be a whole number from 1, got: 1"),
    ({"stages": [GOOD | {"workspace_bytes": 9}]}, "memory_bytes must be at least those of workspace and activations"),
    ({"stages": [GOOD], "microbatches": 0}, "microbatches must be a whole number from 1, got: 0"),
    (
        {"stages": [GOOD], "messages": [{"from_stage": 0, "to_stage": 0, "seconds": 0}]},
        "message 0: must go from a stage to a later one",
    ),
    ({"stages": [GOOD], "messages": [{"from_stage": 0, "to_stage": 1, "seconds": 0}]}, "got: 0 to 1 of 1 stages"),
    (
        {"stages": [GOOD, GOOD], "messages": [{"from_stage": 0, "to_stage": 1, "seconds": "x"}]},
        'message 0: seconds must be a number of at least 0, got: "x"',
    ),
    ({"stages": [GOOD], "training": True}, "stage 0: backward_seconds is missing"),
    (
        {"stages": [GOOD, GOOD | {"first_rank": 2}]},
        "stage 1: first_rank must be at most 1, so that no rank is left out",
    ),
    ({"stages": [GOOD, GOOD | {"first_rank": -1}]}, "stage 1: first_rank must be a whole number from 0, got: -1"),
    ({"stages": [GOOD, GOOD | {"first_rank": 0}]}, "first_rank must be left out in a plan for inference"),
    ({"stages": [GOOD], "schedule": "2f2b"}, "schedule must be gpipe, 1f1b or zero-bubble, got: 2f2b"),
]


@pytest.mark.parametrize(("content", "message"), BAD_PLANS)
def test_bad_plans_are_refused(tmp_path: Path, content: object, message: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    error = error_of(command("predict", file))
    assert str(file) in error
    assert message in error
    assert "\n" not in error


@pytest.mark.parametrize("value", ["NaN", "-0.001", '"fast"', "1e999"])
@pytest.mark.parametrize("field", ["forward_s", "latency_s"])
def test_bad_profiles_are_refused(tmp_path: Path, layers: Path, measured: Path, field: str, value: str) -> None:
    content = json.loads((tmp_path / "host.json").read_text())
    for part in (content["runtime"], *content["ops"].values()):
        if field in part:
            part[field] = "VALUE"
    (tmp_path / "host.json").write_text(json.dumps(content).replace('"VALUE"', value))
    error = error_of(command("predict", layers, "--cluster", measured, "--stages", 2))
    assert "host.json" in error
    assert "\n" not in error


def test_bad_command_lines(tmp_path: Path, layers: Path, three_stages: Path) -> None:
    error = error_of(command("predict", three_stages, "--schedule", "gpipe"))
    assert "schedule is one of a training step, got a plan for inference" in error
    assert "microbatches must be at least 1, got: 0" in error_of(command("predict", three_stages, "--microbatches", 0))
    assert "stages must go with a model" in error_of(command("predict", three_stages, "--stages", 2))
    assert "give a cluster, a number of stages, or both" in error_of(command("predict", layers))
    assert "the folder must hold a plan.json" in error_of(command("predict", tmp_path))
    assert "the output's folder must exist" in error_of(
        command("predict", three_stages, "--trace", tmp_path / "none" / "t.json")
    )
