"""Cases of ONNX's node suite side by side in one model, so that a C++ compiler starts for many of them at once."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from node_cases import Case, entries
from onnx import compose


def operators(graph: onnx.GraphProto) -> set[tuple[str, str]]:
    """Domains and names of all nodes, those of sub-graphs included."""
    found = set()
    for node in graph.node:
        found.add((node.domain, node.op_type))
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                found |= operators(attribute.g)
    return found


def sample(cases: list[Case], count: int) -> list[Case]:
    """One case of each operator at least, then others in equal steps up to `count`."""
    seen: set[tuple[str, str]] = set()
    chosen, others = [], []
    for case in cases:
        new = operators(case.model.graph) - seen
        (chosen if new else others).append(case)
        seen |= new
    missing = max(0, count - len(chosen))
    step = max(1, len(others) // max(1, missing))
    return chosen + others[::step][:missing]


def groups(cases: list[Case], size: int) -> Iterator[list[Case]]:
    """Cases of one model: of the same opsets, at most `size`."""
    alike = collections.defaultdict(list)
    for case in cases:
        opsets = tuple(sorted((opset.domain, opset.version) for opset in case.model.opset_import))
        alike[opsets].append(case)
    for members in alike.values():
        for start in range(0, len(members), size):
            yield members[start : start + size]


def prefix(index: int) -> str:
    return f"c{index}_"


def merged(cases: list[Case], path: Path) -> dict[str, np.ndarray]:
    """Writes a model that computes all cases; names of case i begin with c<i>_. Gives its inputs."""
    whole = onnx.ModelProto(ir_version=max(case.model.ir_version for case in cases), producer_name="node suite")
    whole.opset_import.extend(cases[0].model.opset_import)
    whole.graph.name = "cases"
    inputs: dict[str, np.ndarray] = {}
    for index, case in enumerate(cases):
        part = compose.add_prefix(case.model, prefix(index))
        for field in ("node", "input", "output", "initializer", "sparse_initializer", "value_info"):
            getattr(whole.graph, field).extend(getattr(part.graph, field))
        whole.functions.extend(part.functions)
        for port, value in zip(part.graph.input, case.inputs, strict=False):
            inputs |= entries(port.name, value)
    onnx.save(whole, path)
    return inputs


def outputs_of(index: int, outputs: dict[str, np.ndarray], path: Path) -> Path:
    """Writes those outputs of a merged model that are case `index`'s."""
    start = prefix(index)
    np.savez(path, **{name.removeprefix(start): value for name, value in outputs.items() if name.startswith(start)})
    return path
