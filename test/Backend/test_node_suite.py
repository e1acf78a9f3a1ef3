"""A sample of ONNX's own node suite; `make conformance` runs all of it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import hethub
import pytest
from node_cases import Case, collect, difference
from node_programs import groups, merged, outputs_of, sample

SCRIPT = Path(__file__).resolve().parent / "node_suite.py"
SAMPLE = 100
CPP_SAMPLE = 200
CASES_A_PROGRAM = 25


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


def test_page_of_operators_is_up_to_date(cases: list[Case]) -> None:
    sys.path.insert(0, str(node_suite.TOP / "utils"))
    import supported_operators

    assert supported_operators.PAGE.read_text() == supported_operators.page(cases), "run `make docs`"


def test_unexpected_passes_and_failures_are_told(cases: list[Case]) -> None:
    two = [case for case in cases if case.name in ("test_abs", "test_acos")]
    result = node_suite.Result(failures={"test_abs": "wrong: x"})
    lines = node_suite.unexpected(two, result, {"test_acos": "known"})
    assert lines == ["failed test_abs: wrong: x", "passed test_acos, which expected.json says fails: known"]


@pytest.mark.wide
def test_cpp_sample_is_right(cases: list[Case], tmp_path: Path) -> None:
    """One case of each operator at least, in C++; cases that are right as program files."""
    expected = json.loads(node_suite.EXPECTED.read_text())
    chosen = sample([case for case in cases if case.name not in expected], CPP_SAMPLE)
    assert len(chosen) >= CPP_SAMPLE
    wrong = []
    for number, group in enumerate(groups(chosen, CASES_A_PROGRAM)):
        folder = tmp_path / str(number)
        folder.mkdir()
        inputs = merged(group, folder / "model.onnx")
        out = hethub.compile(folder / "model.onnx", folder / "out", stages=1, dims={"*": "?"}, emit=("program", "cpp"))
        hethub.build(out)
        outputs = hethub.run(out, inputs, engine="cpp").outputs
        for index, case in enumerate(group):
            if message := difference(case, outputs_of(index, outputs, folder / "outputs.npz")):
                wrong.append(f"{case.name}: {message}")
    assert wrong == []
