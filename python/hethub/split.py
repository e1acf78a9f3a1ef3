"""hethub split: a model into one ONNX file a stage. Thin over hh-split, which does all the work."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from . import tools
from .compile import compile_arguments
from .errors import HetHubError
from .folders import MARKER, new_folder
from .table import amount, milliseconds, render

MANIFEST = "stages.json"
BYTES_OF = {
    **dict.fromkeys(("float64", "double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float", "int32", "uint32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool"), 1),
    "complex128": 16,
}


def split(
    model: Path | str,
    output: Path | str,
    *,
    cluster: Path | str | None = None,
    stages: int | None = None,
    at: Sequence[str] = (),
    annotated: bool = False,
    dims: Mapping[str, int] | None = None,
    microbatches: int | None = None,
    reference_weights: bool = False,
    annotate: bool = False,
) -> dict[str, Any]:
    """Cuts a model into `stage_K.onnx` files under the folder `output`, and returns what stages.json there says.

    cluster, stages    the fastest stages for the cluster, or for so many equal devices of this machine
    at                 borders: each behind a tensor, or behind several ("a,b")
    annotated          the stages that the model's nodes name themselves
    dims               typical sizes of symbolic dimensions, for the costs; they stay symbolic in the files
    reference_weights  the files point at the model's own ones: `output` must be the folder of the weights, or above it
    annotate           also write annotated.onnx, the model with its stages noted on the nodes

    The folder appears complete or not at all; a folder that hethub wrote before is replaced.
    """
    planned = cluster is not None or stages is not None
    if planned + bool(at) + annotated != 1:
        raise HetHubError("give one of: a cluster or a number of stages, borders, the model's own annotations")
    arguments = [str(model)]
    if planned:
        arguments = compile_arguments(model, cluster, stages, dims, None, microbatches)
    arguments += [f"--at={border}" for border in at]
    arguments += ["--annotated"] if annotated else []
    arguments += ["--reference-weights"] if reference_weights else []
    arguments += ["--annotate"] if annotate else []
    where = folder_of_weights(Path(output)) if reference_weights else new_folder(Path(output))
    with where as folder:
        result = tools.run("hh-split", [*arguments, "-o", str(folder)])
        for line in tools.notices_of(result.stderr, "hh-split"):
            print(f"hethub: {line}", file=sys.stderr)
    return json.loads((Path(output) / MANIFEST).read_text())


def folder_of_weights(path: Path) -> AbstractContextManager[Path]:
    """A folder that has other files, which must not be stages of somebody else."""
    if not path.is_dir():
        raise HetHubError(f"the output must be the folder of the weights or one above it, got: {path}")
    foreign = sorted(path.glob("stage_*.onnx"))
    if foreign and not (path / MARKER).exists():
        raise HetHubError(f"stages must not replace other files, got: {foreign[0]}")
    return nullcontext(path)


def size_of(port: Mapping[str, Any]) -> str:
    """Bytes of a tensor; with open dimensions its shape."""
    shape, width = port.get("shape"), BYTES_OF.get(port.get("type", ""))
    if shape is None:
        return port.get("type", "?")
    if width is not None and all(isinstance(size, int) for size in shape):
        count = 1
        for size in shape:
            count *= size
        return amount(count * width, "B", 1024)
    return port["type"] + "[" + ", ".join("?" if size is None else str(size) for size in shape) + "]"


def split_table(manifest: Mapping[str, Any], plan: Mapping[str, Any]) -> str:
    """What each stage has, and which tensors go from where to where."""
    stages = manifest["stages"]
    planned = "step_seconds" in plan
    rows = []
    for index, stage in enumerate(stages):
        row = [str(index), stage["file"], str(stage["nodes"]), amount(stage["weight_bytes"], "B", 1024)]
        if planned:
            figures = plan["stages"][index]
            row += [figures["device_type"], milliseconds(figures["forward_seconds"])]
        rows.append(row)
    header = ["stage", "file", "nodes", "weights", *(["device type", "predicted ms"] if planned else [])]

    tensors = []
    for name in manifest["inputs"]:
        ports = {k: port for k, stage in enumerate(stages) for port in stage["inputs"] if port["name"] == name}
        size = next(map(size_of, ports.values()), "")
        tensors.append([name, "input", ", ".join(map(str, ports)), size])
    for index, stage in enumerate(stages):
        for port in stage["outputs"]:
            readers = [str(reader) for reader in port["to"]] + (["output"] if port["is_output"] else [])
            tensors.append([port["name"], str(index), ", ".join(readers), size_of(port)])
    return render(header, rows) + "\n" + render(["tensor", "from", "to", "size"], tensors, left=4)
