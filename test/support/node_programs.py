"""Cases of ONNX's node suite side by side in one model, so that a C++ compiler starts for many of them at once."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from node_cases import Case, entries


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


def rename(graph: onnx.GraphProto, start: str) -> None:
    """Puts `start` before every name of a graph. onnx.compose forgets what sub-graphs read of the graph around them."""
    for value in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        value.name = start + value.name
    for node in graph.node:
        node.name = node.name and start + node.name
        for names in (node.input, node.output):
            names[:] = [start + name if name else "" for name in names]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                rename(attribute.g, start)


def beside(models: list[onnx.ModelProto], starts: list[str]) -> onnx.ModelProto:
    """One model that computes all of them, of the same opsets; names of each begin with its start."""
    whole = onnx.ModelProto(ir_version=max(model.ir_version for model in models), producer_name="side by side")
    whole.opset_import.extend(models[0].opset_import)
    whole.graph.name = "all"
    for model, start in zip(models, starts, strict=True):
        part = onnx.GraphProto.FromString(model.graph.SerializeToString())
        rename(part, start)
        for field in ("node", "input", "output", "initializer", "value_info"):
            getattr(whole.graph, field).extend(getattr(part, field))
        whole.functions.extend(model.functions)
    return whole


def prefix(index: int) -> str:
    return f"c{index}_"


def merged(cases: list[Case], path: Path) -> dict[str, np.ndarray]:
    """Writes a model that computes all cases; names of case i begin with c<i>_. Gives its inputs."""
    starts = [prefix(index) for index in range(len(cases))]
    onnx.save(beside([case.model for case in cases], starts), path)
    inputs: dict[str, np.ndarray] = {}
    for start, case in zip(starts, cases, strict=True):
        for port, value in zip(case.model.graph.input, case.inputs, strict=False):
            inputs |= entries(start + port.name, value)
    return inputs


def outputs_of(index: int, outputs: dict[str, np.ndarray], path: Path) -> Path:
    """Writes those outputs of a merged model that are case `index`'s."""
    start = prefix(index)
    np.savez(path, **{name.removeprefix(start): value for name, value in outputs.items() if name.startswith(start)})
    return path
