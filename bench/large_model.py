"""Import, plan and emit of an 80-layer Llama-like graph whose 140 GB of weights are a sparse file: what the compiler
costs must not depend on the size of the weights."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import onnx
from hethub import tools
from onnx import TensorProto, helper

from .report import Row

LIMIT_SECONDS, LIMIT_BYTES = 30.0, 2**30
ALIGNMENT = 4096

CLUSTER = """\
devices:
  - {name: new, accelerator: A100-80GB, count: 4}
  - {name: old, accelerator: A100-40GB, count: 4}
links:
  - {between: [new, old], bandwidth: 25 Gbit/s, latency: 30 us, via: host}
"""


@dataclass(frozen=True)
class Llama:
    """Sizes of a decoder like Llama."""

    layers: int = 80
    width: int = 8192
    inner: int = 28672
    heads: int = 64
    kv_heads: int = 8
    vocabulary: int = 128256
    sequence: int = 128
    batch: int = 1
    blocks: int = 1  # of the inner dimension, each with operations of its own

    @property
    def parameters(self) -> int:
        head = self.width // self.heads
        attention = 2 * self.width * self.width + 2 * self.width * self.kv_heads * head
        return self.layers * (attention + 3 * self.width * self.inner) + 2 * self.vocabulary * self.width


class Weights:
    """Parameters one after the other in an external file of which no byte is written."""

    def __init__(self, file: str) -> None:
        self.file, self.size, self.tensors = file, 0, []

    def add(self, name: str, *shape: int) -> str:
        length = 2
        for size in shape:
            length *= size
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT16, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", self.file), ("offset", self.size), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        self.tensors.append(tensor)
        self.size += -(-length // ALIGNMENT) * ALIGNMENT
        return name


def write_model(folder: Path, model: Llama) -> Path:
    """folder/model.onnx and weights.bin."""
    width, head, batch, sequence = model.width, model.width // model.heads, model.batch, model.sequence
    weights, nodes = Weights("weights.bin"), []

    def node(kind: str, inputs: list[str], result: str, scope: str, **attributes) -> str:
        nodes.append(helper.make_node(kind, inputs, [result], name=f"{scope}/{kind}_{len(nodes)}", **attributes))
        return result

    def constant(name: str, values: list[int]) -> str:
        weights.tensors.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    query = constant("shape_query", [batch, sequence, model.heads, head])
    key = constant("shape_key", [batch, sequence, model.kv_heads, head])
    merged = constant("shape_merged", [batch, sequence, width])
    cosine, sine = (weights.add(f"rotary.{name}", 4096, head // 2) for name in ("cos", "sin"))
    x = node("Gather", [weights.add("embed_tokens", model.vocabulary, width), "input_ids"], "embedded", "embed")
    for layer in range(model.layers):
        at = f"layers.{layer}"

        def linear(value: str, name: str, rows: int, columns: int, at: str = at) -> str:
            return node("MatMul", [value, weights.add(f"{at}.{name}", rows, columns)], f"{at}.{name}.out", at)

        def heads(value: str, name: str, shape: str, rotate: bool, at: str = at) -> str:
            split = node("Reshape", [value, shape], f"{at}.{name}.split", at)
            turned = node("Transpose", [split], f"{at}.{name}.heads", at, perm=[0, 2, 1, 3])
            if not rotate:
                return turned
            return node("RotaryEmbedding", [turned, cosine, sine, "positions"], f"{at}.{name}.rotated", at)

        normed = node("RMSNormalization", [x, weights.add(f"{at}.norm_1", width)], f"{at}.normed_1", at)
        q = heads(linear(normed, "q_proj", width, width), "q", query, True)
        k = heads(linear(normed, "k_proj", width, model.kv_heads * head), "k", key, True)
        v = heads(linear(normed, "v_proj", width, model.kv_heads * head), "v", key, False)
        mixed = node("Attention", [q, k, v], f"{at}.attention", at, is_causal=1)
        mixed = node("Transpose", [mixed], f"{at}.mixed", at, perm=[0, 2, 1, 3])
        mixed = node("Reshape", [mixed, merged], f"{at}.merged", at)
        x = node("Add", [x, linear(mixed, "o_proj", width, width)], f"{at}.residual_1", at)
        normed = node("RMSNormalization", [x, weights.add(f"{at}.norm_2", width)], f"{at}.normed_2", at)
        inner = model.inner // model.blocks
        for block in range(model.blocks):
            to = f"{at}.mlp.{block}" if model.blocks > 1 else at
            gate = linear(normed, "gate_proj", width, inner, to)
            gate = node("Mul", [gate, node("Sigmoid", [gate], f"{to}.sigmoid", at)], f"{to}.silu", at)
            product = node("Mul", [gate, linear(normed, "up_proj", width, inner, to)], f"{to}.inner", at)
            x = node("Add", [x, linear(product, "down_proj", inner, width, to)], f"{to}.residual_2", at)
    x = node("RMSNormalization", [x, weights.add("norm", width)], "normed", "head")
    node("MatMul", [x, weights.add("lm_head", width, model.vocabulary)], "logits", "head")

    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, [batch, sequence])
    positions = helper.make_tensor_value_info("positions", TensorProto.INT64, [batch, sequence])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT16, [batch, sequence, model.vocabulary])
    graph = helper.make_graph(nodes, "llama", [ids, positions], [logits], weights.tensors)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), folder / "model.onnx"
    )
    with (folder / "weights.bin").open("wb") as file:
        file.truncate(weights.size)
    return folder / "model.onnx"


def measure(folder: Path) -> list[Row]:
    home = folder / "llama"
    home.mkdir()
    model = Llama()
    path = write_model(home, model)
    (home / "cluster.yaml").write_text(CLUSTER)
    size = (home / "weights.bin").stat().st_size
    command = [str(tools.find("hh-compile")), str(path), f"--cluster={home}/cluster.yaml", "-o", str(home / "out")]
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench: error: hh-compile failed on the {size / 1e9:.0f} GB model")
    memory = usage.ru_maxrss * 1024
    what = f"import, plan and emit, {model.layers} layers, {size / 1e9:.0f} GB"
    return [
        Row(f"{what}: time", f"{seconds:.1f} s", f"under {LIMIT_SECONDS:.0f} s", seconds < LIMIT_SECONDS),
        Row(f"{what}: memory", f"{memory / 2**20:.0f} MiB", "under 1 GiB", memory < LIMIT_BYTES),
    ]
