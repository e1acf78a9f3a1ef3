"""After raising, a real model holds the operators that its network has, and none of what exporters make of them."""

from __future__ import annotations

import collections
import re
import subprocess
from pathlib import Path

import pytest
from hethub import tools
from model_table import BY_SPEC, ensure, example, fixed_dims

# Operators that decomposed forms leave behind.
TRACES = ("Erf", "IsNaN", "Softmax", "Sigmoid", "Clip", "InstanceNormalization", "ReduceMean", "Pow", "Tanh")

BERT = {"Attention": 2, "Gelu": 2, "LayerNormalization": 5, "Gemm": 14, "Tanh": 1}  # a pooler and a classifier
GPT2 = {"Attention": 2, "Gelu": 2, "LayerNormalization": 5, "Gemm": 8, "MatMul": 1}  # the head has no bias
LLAMA = {"Attention": 2, "RotaryEmbedding": 4, "RMSNormalization": 5, "Swish": 2, "MatMul": 15}
VIT = {"Attention": 4, "Gelu": 4, "LayerNormalization": 9, "Gemm": 17}
WHISPER = {"Attention": 2, "Gelu": 4, "LayerNormalization": 5, "Gemm": 10, "MatMul": 2}  # keys have no bias
UNET = {
    "Attention": 8,
    "Gelu": 4,
    "LayerNormalization": 12,
    "GroupNormalization": 21,
    "Swish": 19,
    "Gemm": 26,
    "MatMul": 24,
}
EFFICIENTNET = {"Swish": 49, "Sigmoid": 16, "ReduceMean": 17, "Gemm": 1}  # squeeze and excitation keeps its gates

EXPECTED = {
    "bert.static": BERT,
    "bert.dyn": BERT,
    "bert.legacy": BERT,
    "gpt2.static": GPT2,
    "gpt2.dyn": GPT2,
    "gpt2.legacy": GPT2,
    "llama.dyn": LLAMA,
    "llama.legacy": LLAMA,
    # Its rotary tables are weights, whose halves nobody can see to be equal.
    "llama.static": {**LLAMA, "RotaryEmbedding": 0},
    "vit.static": VIT,
    "vit.legacy": VIT,
    "whisper_encoder.static": WHISPER,
    "whisper_encoder.dyn": WHISPER,
    # The pooling and the norm of its sentences keep their bounds: see docs/RaisePatterns.md.
    "minilm.dyn": {"Attention": 6, "Gelu": 6, "LayerNormalization": 13, "Gemm": 36, "Clip": 2},
    "mobilenetv3.static": {"HardSwish": 19, "HardSigmoid": 9, "ReduceMean": 10, "Gemm": 1},
    "efficientnet.static": EFFICIENTNET,
    "magika.package": {"Gelu": 2, "Gemm": 2},
    "ocr_recognise.package": {
        "Attention": 2,
        "Gelu": 13,
        "HardSigmoid": 5,
        "LayerNormalization": 5,
        "Swish": 5,
        "Gemm": 9,
        "Softmax": 1,  # over the characters
        "ReduceMean": 5,  # squeeze and excitation
    },
    "unet.static": UNET,
    "unet.dyn": UNET,
}


def raised_operators(path: Path, dims: dict[str, int]) -> collections.Counter[str]:
    fixed = [argument for name, size in dims.items() for argument in ("--dim", f"{name}={size}")]
    imported = subprocess.run(
        [tools.find("hh-translate"), "--import-onnx", str(path), *fixed], check=True, capture_output=True
    )
    normalized = subprocess.run(
        [tools.find("hh-opt"), "--hh-normalize"], input=imported.stdout, check=True, capture_output=True
    )
    return collections.Counter(re.findall(r"\bonnx\.([A-Z]\w*)\(", normalized.stdout.decode()))


@pytest.mark.parametrize(
    "spec", [pytest.param(s, marks=[pytest.mark.wide] if BY_SPEC[s].wide else []) for s in EXPECTED]
)
def test_raised_operators(spec: str) -> None:
    model = BY_SPEC[spec]
    path = ensure(model)
    found = raised_operators(path, fixed_dims(model, example(model)))
    names = {*EXPECTED[spec], *TRACES, *LLAMA, *UNET, "Gelu"}
    assert {name: found[name] for name in names} == {name: EXPECTED[spec].get(name, 0) for name in names}
