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


def test_plan_table() -> None:
    stage = {
        "device_type": "old",
        "replicas": 2,
        "nodes": ["a", "b"],
        "parameter_bytes": 2048,
        "memory_bytes": 4096,
        "forward_seconds": 0.25,
    }
    plan = {"stages": [stage], "microbatches": 4, "step_seconds": 1.0, "lower_bound_seconds": 0.9}
    assert plan_table(plan).splitlines() == [
        "stage  device type  ops  parameters    memory  predicted ms",
        "0      old x2         2    2.00 KiB  4.00 KiB         250.0",
        "step for 4 microbatches: 1000.0 ms predicted",
        "lower bound: 900.0 ms, gap 10.0 %",
    ]
