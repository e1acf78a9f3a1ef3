"""Exports a model and says in which respects the file is another one."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from hethub import tools
from onnx_content import content, differences


def export(model: Path, output: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(tools.find("hh-translate")), f"--export-onnx={model}", "-o", str(output), *options]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)


def round_trip(model: Path, output: Path) -> list[str]:
    """What an export in the model's own opset, beside the model, does not say of it; and what a second export does not
    say of the first."""
    output.unlink(missing_ok=True)
    done = export(model, output, "--opset=own")
    if done.returncode:
        return [f"export: {done.stderr.strip()[:300]}"]
    onnx.checker.check_model(str(output))
    again = output.with_name("again_" + output.name)
    done = export(output, again, "--opset=own")
    if done.returncode:
        return [f"second export: {done.stderr.strip()[:300]}"]
    first = content(output)
    return differences(content(model), first) + [f"again: {d}" for d in differences(first, content(again))]


def lost(model: Path, output: Path) -> list[str]:
    """The same without what a conversion changed, of which only the answer can tell whether it is right."""
    found = round_trip(model, output)
    if not found or not output.exists():
        return found
    return [what for what in found if what.startswith("again") or not is_converted(model, output)]


def is_converted(model: Path, output: Path) -> bool:
    """Newer opset, functions inlined (also those that describe an operator of ONNX), sparse tensors computed."""
    before, after = content(model)["opsets"], content(output)["opsets"]
    proto = onnx.load(model, load_external_data=False)
    described = any(node.domain == "ai.onnx.preview" for node in proto.graph.node)
    sparse = any(attribute.HasField("sparse_tensor") for node in proto.graph.node for attribute in node.attribute)
    sparse |= bool(proto.graph.sparse_initializer)
    return bool(proto.functions) or described or sparse or before.get("") != after.get("")


def evaluate(path: Path, feeds: dict[str, Any]) -> dict[str, Any]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    run = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in run.get_outputs()]
    known = {port.name for port in run.get_inputs()}
    known |= {port.name for port in run.get_overridable_initializers()}
    return dict(zip(names, run.run(names, {k: v for k, v in feeds.items() if k in known}), strict=True))


def same(one: Any, other: Any) -> bool:
    """To the bit."""
    if isinstance(one, (list, tuple)):
        return isinstance(other, (list, tuple)) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if one is None or other is None:
        return one is other
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool((a == b).all()) if a.dtype.kind in "OUS" else a.tobytes() == b.tobytes()
