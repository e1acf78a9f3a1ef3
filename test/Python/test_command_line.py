"""Help, version and wrong command lines."""

from __future__ import annotations

import re
from pathlib import Path

import hethub as package
import pytest
from command import error_of, hethub
from hethub.cli import COMMANDS
from hethub.table import amount, plan_table

TOP = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("name", [command[0] for command in COMMANDS])
def test_every_command_has_help_with_examples(name: str) -> None:
    result = hethub(name, "--help")
    assert result.returncode == 0
    assert f"usage: hethub {name}" in result.stdout
    assert f"examples:\n  hethub {name}" in result.stdout


def test_help_lists_all_commands() -> None:
    text = hethub("--help").stdout
    assert all(re.search(rf"^ +{command[0]} ", text, re.MULTILINE) for command in COMMANDS)


def test_one_version_everywhere() -> None:
    result = hethub("--version")
    assert result.stdout == f"hethub {package.__version__}\n"
    for file in ("CMakeLists.txt", "runtime/CMakeLists.txt"):
        declared = re.search(r"project\(\w+ VERSION ([\d.]+)", (TOP / file).read_text())
        assert declared
        assert declared[1] == package.__version__


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["compile", "m.onnx", "--stages", "2"],
        ["compile", "m.onnx", "--stages", "2", "--dim", "batch=0", "-o", "out"],
        ["compile", "m.onnx", "--stages", "2", "--dim", "batch", "-o", "out"],
        ["run", "out", "--programs", "--cpp"],
    ],
)
def test_wrong_command_lines(arguments: list[str]) -> None:
    result = hethub(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith("usage: hethub")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "m.onnx", "-o", "out"], "give a cluster, a number of stages, or both, got: neither"),
        (["compile", "m.onnx", "--stages", "0", "-o", "out"], "stages must be at least 1, got: 0"),
        (
            ["compile", "m.onnx", "--stages", "2", "--emit", "cpp,fortran", "-o", "out"],
            "emit must be among .*: fortran",
        ),
        (["run", "nowhere"], "the folder must be one that `hethub compile` wrote, got: nowhere"),
        (["run", "nowhere", "--microbatches", "0"], "microbatches must be at least 1, got: 0"),
        (["run", "nowhere", "--timeout", "-1"], "the timeout must be greater than 0 s, got: -1"),
        (["build", "nowhere"], "the folder must be one that `hethub compile` wrote, got: nowhere"),
    ],
)
def test_refusals_without_tools(arguments: list[str], message: str) -> None:
    assert re.match(message, error_of(hethub(*arguments)))


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (1536, "1.50 KiB"), (90868376, "86.7 MiB"), (2**37, "128 GiB")]
)
def test_amounts(value: int, text: str) -> None:
    assert amount(value, "B", 1024) == text


STAGE = {
    "device_type": "old",
    "first": "h.0",
    "last": "h.5",
    "replicas": 2,
    "nodes": ["a", "b"],
    "memory_bytes": 4096,
    "memory_limit_bytes": 8192,
    "forward_seconds": 0.25,
    "backward_seconds": 0.0,
    "receive_bytes": 0,
    "receive_seconds": 0.0,
}


def test_plan_table() -> None:
    plan = {
        "stages": [STAGE, {**STAGE, "device_type": "new", "replicas": 1, "last": "h.0", "receive_bytes": 512}],
        "microbatches": 4,
        "step_seconds": 1.0,
        "simulated_seconds": 1.05,
        "lower_bound_seconds": 0.9,
        "upper_bound_throughput": 5.0,
        "notes": ["a note"],
    }
    assert plan_table(plan).splitlines() == [
        "stage  device type  operations  ops  forward ms  load ms                memory  receives  receive ms",
        "0      old x2       h.0 .. h.5    2       250.0    125.0  4.00 KiB of 8.00 KiB         -           -",
        "1      new          h.0           2       250.0    250.0  4.00 KiB of 8.00 KiB     512 B       0.000",
        "step for 4 microbatches: 1000.0 ms predicted, 4 microbatches/s",
        "by its schedule table, links that are busy included: 1050.0 ms (+5.0 %)",
        "lower bound: 900.0 ms, gap 10.0 %",
        "upper bound of the mix: 5 microbatches/s, reached: 80.0 %",
        "note: a note",
    ]


def test_training_columns() -> None:
    stage = {**STAGE, "backward_seconds": 0.5, "recompute": True, "all_reduce_seconds": 0.1, "optimizer_seconds": 0.2}
    header, row = plan_table({"stages": [stage], "training": True}).splitlines()
    assert re.search(r"  backward ms  once ms  load ms  ", header)
    assert re.search(r"  250\.0  500\.0 \(recomputes\) +300\.0 +375\.0  ", row)
