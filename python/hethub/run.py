"""hethub run: checks the inputs, starts one process per rank, joins what they give."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .errors import HetHubError
from .folders import new_file
from .inputs import check_inputs
from .launcher import command_of
from .npz import load_npz, save_npz
from .output import OutputFolder, rank_files
from .ranks import Ranks

ENGINES = ("program", "cpp")


@dataclass
class Result:
    """What a run gave: outputs by name (of a sequence NAME[], its length, and NAME[0], NAME[1], ...) and one record of
    figures per rank, as the runtime wrote it (docs/Runtime.md: times in seconds, sizes in bytes)."""

    outputs: dict[str, np.ndarray]
    ranks: list[dict[str, Any]] = field(default_factory=list)


def check_launch(timeout: float, engine: str | None) -> None:
    """What starting ranks needs, to run or to train."""
    if not timeout > 0:
        raise HetHubError(f"the timeout must be greater than 0 s, got: {timeout:g}")
    if engine is not None and engine not in ENGINES:
        raise HetHubError(f"the engine must be among {', '.join(ENGINES)}, got: {engine}")


def run(
    folder: Path | str,
    inputs: Mapping[str, np.ndarray] | Path | str | None = None,
    *,
    microbatches: int = 1,
    repeats: int = 1,
    positional: bool = False,
    engine: str | None = None,
    trace: Path | str | None = None,
    timeout: float = 300.0,
    threads: int = 1,
    port: int | None = None,
    quiet: bool = True,
) -> Result:
    """Runs a compiled model on this machine, one process per rank, and returns its outputs.

    inputs        arrays by ONNX name, or an .npz file of them; axis 0 of batched inputs is split into `microbatches`
    repeats       the same microbatches again and again without draining the pipeline, for measurements
    positional    outputs are called out0, out1, ... in graph order instead of by their ONNX names
    engine        "program" or "cpp"; None: the C++ programs where they were built
    trace         writes a Chrome trace of all ranks there
    timeout       longest wait for a message or a rank, in seconds
    threads       LibTorch threads of each rank
    port          of the store that the ranks meet at; None: any free one
    Raises HetHubError that names rank, stage and reason when a rank fails; nothing is left running.
    """
    for name, value in (("microbatches", microbatches), ("repeats", repeats), ("threads", threads)):
        if value < 1:
            raise HetHubError(f"{name} must be at least 1, got: {value}")
    check_launch(timeout, engine)
    output = OutputFolder.read(folder)
    if output.plan.get("training"):
        raise HetHubError(
            f"the folder must hold programs of inference, got training ones (hethub train): {output.path}"
        )
    arrays = load_npz(inputs) if isinstance(inputs, str | Path) else dict(inputs or {})
    if output.programs:
        check_inputs(output, arrays, microbatches)
    ranks = output.ranks()
    with tempfile.TemporaryDirectory(prefix="hethub-run-") as scratch:
        files = Path(scratch)
        options = [f"--microbatches={microbatches}", f"--timeout={timeout:g}", f"--threads={threads}"]
        if isinstance(inputs, str | Path):
            options.append(f"--inputs={inputs}")
        elif arrays:
            save_npz(files / "inputs.npz", arrays)
            options.append(f"--inputs={files / 'inputs.npz'}")
        if repeats > 1:
            options.append(f"--repeats={repeats}")
        if positional:
            options.append("--positional")
        options += [f"--outputs={files / 'outputs.npz'}", f"--stats={files / 'stats.json'}"]
        if trace is not None:
            options.append(f"--trace={files / 'trace.json'}")
        commands = [[*command_of(output, rank, engine), *options] for rank in ranks]
        with Ranks(ranks, commands, port, quiet) as processes:
            processes.wait(timeout)
        # The ranks join their outputs themselves; reports stay one a rank.
        outputs = load_npz(files / "outputs.npz", "the outputs")
        statistics = [json.loads(file.read_text()) for file in rank_files(files / "stats.json", ranks)]
        if trace is not None:
            join_traces(rank_files(files / "trace.json", ranks), Path(trace))
    return Result(outputs, statistics)


def join_traces(files: list[Path], target: Path) -> None:
    """One Chrome trace of those of all ranks."""
    events: list[Any] = []
    for file in files:
        content = json.loads(file.read_text())
        events += content["traceEvents"] if isinstance(content, dict) else content
    with new_file(target) as temporary:
        temporary.write_text(json.dumps({"traceEvents": events}))


def save_outputs(outputs: Mapping[str, np.ndarray], target: Path | str) -> None:
    """Writes an .npz file, complete or not at all."""
    with new_file(Path(target)) as temporary:
        save_npz(temporary, outputs)
