"""What the tools say on standard error becomes one message."""

from __future__ import annotations

import pytest
from hethub.tools import message_of

CASES = [
    ("hh-compile: error: cannot read m.onnx", "cannot read m.onnx"),
    ("error: weights.json is missing\n", "weights.json is missing"),
    ("error: node 'fc1' (m.h.0): no: x\nnote: node 'fc2': here", "node 'fc1' (m.h.0): no: x\n  note: node 'fc2': here"),
    ("\x1b[31merror: red\x1b[0m\nwarning: not this\nerror: twice", "red\ntwice"),
    ("nothing that a tool of ours says", ""),
]


@pytest.mark.parametrize(("text", "message"), CASES)
def test_messages(text: str, message: str) -> None:
    assert message_of(text, "hh-compile") == message
