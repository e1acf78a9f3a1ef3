"""A sample of ONNX's own node suite; `make conformance` runs all of it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
from node_cases import Case, collect

SCRIPT = Path(__file__).resolve().parent / "node_suite.py"
SAMPLE = 100


def load_script():
    spec = importlib.util.spec_from_file_location("node_suite", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["node_suite"] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


node_suite = load_script()


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return collect()


def test_sample_is_as_expected(cases: list[Case]) -> None:
    step = len(cases) // SAMPLE
    sample = cases[::step]
    result = node_suite.run_suite(sample, jobs=2)
    assert len(result.imported) == len(result.round_trips) == len(sample)
    assert node_suite.unexpected(sample, result, json.loads(node_suite.EXPECTED.read_text())) == []


def test_expected_failures_exist_and_have_reasons(cases: list[Case]) -> None:
    names = {case.name for case in cases}
    expected = json.loads(node_suite.EXPECTED.read_text())
    assert set(expected) <= names
    assert all(isinstance(reason, str) and reason for reason in expected.values())


def test_unexpected_passes_and_failures_are_told(cases: list[Case]) -> None:
    two = [case for case in cases if case.name in ("test_abs", "test_acos")]
    result = node_suite.Result(failures={"test_abs": "wrong: x"})
    lines = node_suite.unexpected(two, result, {"test_acos": "known"})
    assert lines == ["failed test_abs: wrong: x", "passed test_acos, which expected.json says fails: known"]
