"""Operators of ai.onnx.ml and com.microsoft give what onnxruntime gives, as program files of one stage."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from domain_cases import microsoft_cases, ml_cases
from node_cases import Case

sys.path.insert(0, str(Path(__file__).resolve().parent))

import node_suite


@pytest.mark.parametrize("make", [ml_cases, microsoft_cases], ids=["ml", "microsoft"])
def test_answers_of_onnxruntime(make) -> None:
    cases: list[Case] = make()
    result = node_suite.run_suite(cases, jobs=2)
    assert result.failures == {}
    assert result.round_trips == {case.name for case in cases}
