"""Diagnostics of the tools become messages in the model's own names."""

from __future__ import annotations

import pytest
from hethub.tools import message_of

CASES = [
    ("hh-compile: error: cannot read m.onnx", "cannot read m.onnx"),
    ("error: weights.json is missing", "weights.json is missing"),
    ('loc("matmul_0"): error: rows must fit, got: 4', "matmul_0: rows must fit, got: 4"),
    ('loc(fused<133 : i64>["node_7"(fused<["v"]>["m.h.1"])]): error: no', "node_7: no"),
    ('loc("a (b)]\\"c"): error: no', 'a (b)]\\"c: no'),
    ('loc("m.onnx":0:0): error: no', "m.onnx: no"),
    ('loc("m.mlir":3:7): error: no', "m.mlir:3:7: no"),
    ("loc(unknown): error: no dim is called 'q'", "no dim is called 'q'"),
    ('loc("a"): error: twice\nloc("b"): note: here\nloc("c"): remark: x', "a: twice\n  note: b: here"),
    ("cluster.yaml:2: device 'a': count must be at least 1, got: 0", ""),
]


@pytest.mark.parametrize(("text", "message"), CASES)
def test_messages(text: str, message: str) -> None:
    assert message_of(text, "hh-compile") == message
