"""hethub profile: times each distinct operation of a model on this machine."""

from __future__ import annotations

import json
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import tools
from .compile import Search, TrainingStep, compile
from .errors import HetHubError
from .folders import new_file
from .probe import runtime_figures, sum_figures

REPEATS = 20
WITHOUT_END = 1_000_000_000


def processor() -> str:
    """What the machine calls its processor, and Python's word for it where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


@contextmanager
def neighbours(count: int, command: Sequence[str]) -> Iterator[None]:
    """`count` processes of a command that does not end by itself, for as long as the block lasts."""
    running: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(count):
            running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


# Backward passes of one part, and of two: what each operation takes in either depends on what is computed together.
WHOLE, SPLIT = "1f1b", "zero-bubble"


@dataclass(frozen=True)
class Timing:
    """How programs of one stage are timed."""

    inputs: Path | str | None
    repeats: int
    neighbours: int  # processes that compute the same beside it

    def measure(self, program: Path, scratch: Path) -> dict[str, Any]:
        times = scratch / "times.json"
        arguments = ["--profile", str(program)]
        if self.inputs is not None:
            arguments.append(f"--inputs={self.inputs}")
        beside = [*arguments, f"--profile-out={scratch / 'beside.json'}", f"--repeats={WITHOUT_END}"]
        with neighbours(self.neighbours, [str(tools.find("hh-run")), *beside]):
            tools.run("hh-run", [*arguments, f"--profile-out={times}", f"--repeats={self.repeats}"])
        return json.loads(times.read_text())


def counted_bytes(plan: Path, measured: Mapping[str, Any]) -> int:
    """Weights and values of a profile's process, as the plan of its one stage counts them."""
    [stage] = json.loads(plan.read_text())["stages"]
    if "gradient_bytes" not in measured:
        return stage["parameter_bytes"] + max(stage["live_bytes"], stage["workspace_bytes"])
    # Gradients of one microbatch stand beside the sums.
    gradients = 2 * measured["gradient_bytes"]
    return stage["parameter_bytes"] + gradients + stage["activation_bytes"] + stage["workspace_bytes"]


def profile(
    model: Path | str,
    output: Path | str,
    *,
    dims: Mapping[str, int] | None = None,
    inputs: Path | str | None = None,
    repeats: int = REPEATS,
    runtime: bool = False,
    ranks: int = 1,
    training: TrainingStep | None = None,
) -> dict[str, Any]:
    """Times every distinct operation (name, attributes, types) of a model on one thread of this machine, within runs
    of the whole model, and writes `output` for the `profile:` field of cluster.yaml. Returns its content: under "ops",
    by signature, seconds of one execution ("forward_s": median of `repeats` runs) and how many nodes there are.

    `inputs` is an .npz file to run on; without it inputs are made up. `runtime` adds what messages and microbatches
    take (`hethub.probe.runtime_figures`). `ranks` is how many will compute on this machine at once: they share its
    caches and memory, so the others run the same model while one is timed. With `training` each operation's backward
    pass is timed as well, adding its gradients up included: as one program ("backward_s") and as two
    ("input_gradient_s", "weight_gradient_s"); so is a step of the optimizer (Adam), and the loss is one of the
    operations.
    """
    if repeats < 1:
        raise HetHubError(f"repeats must be at least 1, got: {repeats}")
    if ranks < 1:
        raise HetHubError(f"ranks must be at least 1, got: {ranks}")
    with tempfile.TemporaryDirectory(prefix="hethub-profile-") as scratch, new_file(Path(output)) as file:
        timing = Timing(inputs, repeats, ranks - 1)

        def measure(step: TrainingStep | None, name: str) -> tuple[Path, dict[str, Any]]:
            search = Search(recompute=False)
            folder = compile(
                model, Path(scratch) / name, stages=1, dims=dims, emit=("program",), search=search, training=step
            )
            return folder, timing.measure(folder, Path(scratch))

        folder, measured = measure(training and replace(training, schedule=WHOLE), "whole")
        if training is not None:
            _, split = measure(replace(training, schedule=SPLIT), "split")
            for signature, times in split["ops"].items():
                # Where one program has all gradients nothing can be put off.
                whole = times.get("backward_s", 0.0)
                parts = {"input_gradient_s": times.get("input_gradient_s", whole)}
                parts["weight_gradient_s"] = times.get("weight_gradient_s", 0.0)
                measured["ops"][signature] |= parts
        content = {
            "device": "cpu",
            "machine": processor(),
            "threads": 1,
            "repeats": repeats,
            "ranks": ranks,
            **({"runtime": runtime_figures() | (sum_figures() if training else {})} if runtime else {}),
            # What the process held beside that.
            "library_bytes": max(0, measured["process_bytes"] - counted_bytes(folder / "plan.json", measured)),
            **measured,
        }
        file.write_text(json.dumps(content, indent=1) + "\n")
    return content
